"""Limits of TPUDefaults hold for finished objects, at every level, and end nothing."""

import pytest
from tests.conftest import Repo
from tests.words import places

from .test_defaults import given

SPEC = "clusters: [c1]\ntpu: v5litepod-8\n"
IMAGE = "container: {image: 'docker.io/a/b:1'}\n"
PATCH = """\
patches:
- target: {kind: JobSet}
  ops:
  - op: replace
    path: /spec/replicatedJobs/0/template/spec/template/spec/containers/0/image
    value: x.io/y
"""
SIDECAR = "podTemplate: {spec: {initContainers: [{name: i, image: x, securityContext: {privileged: true}}]}}"
CASES = {
    "image": (
        "imageRegistries: [docker.io/a, gcr.io/p]",
        "container: {image: 'docker.io/ab/c:1'}",
        "7:22: LIM001",
    ),
    "short image": ("imageRegistries: [docker.io/a]", "container: {image: python}", "7:22: LIM001"),
    "init container": (
        "imageRegistries: [docker.io/a]",
        f"{IMAGE}podTemplate: {{spec: {{initContainers: [{{name: i, image: 'x.io/y'}}]}}}}",
        "8:58: LIM001",
    ),
    "patched image": ("imageRegistries: [docker.io/a]", f"{IMAGE}{PATCH}", "13:14: LIM001"),
    "priority": (
        "workloadPriorityClassNames: [low]",
        f"{IMAGE}queueName: queue\nworkloadPriorityClassName: high",
        "9:30: LIM002",
    ),
    "priority of pods": (
        "workloadPriorityClassNames: [low]",
        f"{IMAGE}podTemplate: {{spec: {{priorityClassName: top}}}}",
        "8:43: LIM002",
    ),
    "no queue": (
        "maxExecutionTimeSeconds: 60",
        (
            f"{IMAGE}queueName: queue\nmaxExecutionTimeSeconds: 60\n"
            "patches:\n- target: {kind: JobSet}\n  ops:\n"
            "  - {op: remove, path: /metadata/labels/kueue.x-k8s.io~1queue-name}"
        ),
        "9:28: LIM004",
    ),
    "slices": ("maxSlices: 1", f"{IMAGE}slices: 2", "8:11: LIM003"),
    "run time": (
        "maxExecutionTimeSeconds: 60",
        f"{IMAGE}queueName: queue\nmaxExecutionTimeSeconds: 61",
        "9:28: LIM004",
    ),
    "no run time": ("maxExecutionTimeSeconds: 60", IMAGE, "4:1: LIM004"),
    "label": ("requiredLabels: [cost]", IMAGE, "4:1: LIM005"),
    "privileged": ("forbidden: [privileged]", f"{IMAGE}privileged: true", "8:15: LIM006"),
    "sidecar": ("forbidden: [privileged]", f"{IMAGE}{SIDECAR}", "8:91: LIM006"),
    "host path": (
        "forbidden: [hostPath]",
        f"{IMAGE}podTemplate: {{spec: {{volumes: [{{name: v, hostPath: {{path: /}}}}]}}}}",
        "8:54: LIM006",
    ),
}


@pytest.fixture(autouse=True)
def _with_priorities(repo: Repo) -> None:
    """Let the cluster have the PriorityClasses that pods name."""
    cluster = repo.read("clusters/c1.yaml")
    repo.write("clusters/c1.yaml", f"{cluster}  existing: [{{kind: PriorityClass, name: '*'}}]\n")


@pytest.mark.parametrize("case", CASES)
def test_limit_is_held_against_objects(repo: Repo, case: str) -> None:
    """What a workload, a pod template or a patch makes of a run stays within the limits, or is refused."""
    limits, spec, where = CASES[case]
    given(repo, f"limits: {{{limits}}}")
    repo.workload("a", f"{SPEC}{spec}")

    said = places(repo.run("render", code=1).err).splitlines()
    assert [f"workloads/a.yaml:{where}", "1 error, 0 warnings"] == said
    assert not (repo.root / "overlays").exists()


@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
def test_runs_within_limits_are_rendered(repo: Repo, naming: str) -> None:
    """A run that keeps every limit is rendered as without limits."""
    given(
        repo,
        "limits: {imageRegistries: [docker.io/a], workloadPriorityClassNames: [low], maxSlices: 1, "
        "maxExecutionTimeSeconds: 60, requiredLabels: [cost], forbidden: [privileged, hostNetwork]}\n"
        "labels: {cost: a}\nqueueName: queue\nmaxExecutionTimeSeconds: 60",
    )
    repo.workload("a", f"{SPEC}naming: {naming}\n{IMAGE}podTemplate: {{spec: {{priorityClassName: low}}}}")

    assert len(repo.effects()) == 1


def test_narrower_limit_cannot_loosen_a_wider_one(repo: Repo) -> None:
    """The limits of all levels hold at once."""
    given(repo, "limits: {maxSlices: 1}")
    given(repo, "appliesTo: {namespace: default}\nlimits: {maxSlices: 5}", name="more")
    repo.workload("a", f"{SPEC}{IMAGE}slices: 2")

    assert ["workloads/a.yaml:8:11: LIM003", "1 error, 0 warnings"] == places(
        repo.run("render", code=1).err
    ).splitlines()


def test_frozen_run_beyond_a_new_limit_goes_on(repo: Repo) -> None:
    """A limit that comes later is a warning about what runs already; a new run is refused."""
    repo.workload("a", f"{SPEC}{IMAGE}slices: 2")
    repo.run("render")
    before = repo.tree()
    given(repo, "limits: {maxSlices: 1}")

    said = places(repo.run("render").err).splitlines()
    (run,) = repo.runs()
    assert f"overlays/c1/default/a/{run}: warning: LIM003" in said
    assert before == repo.tree()
    repo.run("rerun", "a")
    assert "workloads/a.yaml:9:11: LIM003" in places(repo.run("render", code=1).err).splitlines()


PATHWAYS = "api: PathwaysJob\npathways: {pathwaysDir: 'gs://b'}\n"
COMPONENT = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [map.yaml]
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {image: x.io/y}\n"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("imageRegistries: [docker.io/a]", ["LIM001"]),
        ("maxSlices: 1", ["LIM003"]),
        ("forbidden: [hostNetwork]", ["LIM006"]),
        ("forbidden: [privileged]", []),
    ],
)
def test_limits_hold_for_what_the_controller_of_a_pathwaysjob_makes(
    repo: Repo, limits: str, said: list[str]
) -> None:
    """Its pods come from images and have rights that the object does not name."""
    given(repo, f"limits: {{{limits}}}")
    repo.workload("a", f"{SPEC}{IMAGE}{PATHWAYS}slices: 2")
    found = places(repo.run("render", code=1 if said else 0).err).splitlines()

    assert [line.split(": ")[1] for line in found if ": LIM" in line] == said


def test_limit_is_told_once_and_not_of_text(repo: Repo) -> None:
    """Two containers with one image are one problem; what a ConfigMap holds is text."""
    given(repo, "limits: {imageRegistries: [docker.io/a]}")
    repo.write("components/map/kustomization.yaml", COMPONENT)
    repo.write("components/map/map.yaml", MAP)
    twice = "podTemplate: {spec: {initContainers: [{name: i, image: x.io/y}, {name: j, image: x.io/y}]}}"
    repo.workload("a", f"{SPEC}{IMAGE}{twice}\ncomponents: [components/map]")

    said = places(repo.run("render", code=1).err).splitlines()
    assert len([line for line in said if "LIM001" in line]) == 1


def test_right_that_is_refused_by_the_pod_itself_is_no_problem(repo: Repo) -> None:
    """`privileged: false` asks for nothing, and words of a command are no fields."""
    given(repo, "limits: {forbidden: [privileged]}")
    safe = (
        "podTemplate: {spec: {initContainers: [{name: i, image: x, securityContext: {privileged: false}}]}}"
    )
    repo.workload("a", f"{SPEC}container: {{image: i, command: [python, a.py]}}\n{safe}")

    assert len(repo.effects()) == 1
