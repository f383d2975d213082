"""Defaults of a repository, a cluster, a namespace or a team reach runs, and start or end none."""

import re

import pytest
import yaml
from tests.conftest import Repo
from tests.words import places

PLAIN = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {script: python train.py}"
FIXED = f"naming: Fixed\n{PLAIN}"
IMAGE = "container: {image: registry.example/all:1}"


def given(repo: Repo, spec: str, *, name: str = "all") -> None:
    """Write TPUDefaults; their own words begin on line 5."""
    head = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUDefaults\n"
    lines = "".join(f"  {line}\n" for line in spec.splitlines())
    repo.write(f"defaults/{name}.yaml", f"{head}metadata: {{name: {name}}}\nspec:\n{lines}")


def run_of(repo: Repo, *, cluster: str = "c1", namespace: str = "default") -> str:
    """Return the text of the only run of workload `a`."""
    (name,) = repo.runs(cluster=cluster, namespace=namespace)
    return repo.read(f"overlays/{cluster}/{namespace}/a/{name}")


def image_of(repo: Repo, *, cluster: str = "c1", namespace: str = "default") -> str:
    """Return the image of the only run of workload `a`."""
    (image,) = re.findall("image: (.+)", run_of(repo, cluster=cluster, namespace=namespace))
    return str(image)


def test_narrower_defaults_win(repo: Repo) -> None:
    """Repository, cluster, namespace, team: a value of a later level wins, and the workload's own wins."""
    repo.cluster(spec="pools: [{name: tpus, tpu: v5litepod-8}]\nteams: [{name: research, namespace: lab}]")
    repo.cluster("c2")
    seen = []
    repo.workload("a", PLAIN.replace("[c1]", "[c1, c2]"), metadata=", namespace: lab")
    for scope in ("", "cluster: c1", "namespace: lab", "team: research"):
        image = f"container: {{image: 'i:{scope.partition(':')[0] or 'all'}'}}"
        name = scope.partition(":")[0] or "all"
        given(repo, f"appliesTo: {{{scope}}}\n{image}" if scope else image, name=name)
        repo.run("render")
        seen.append([image_of(repo, cluster=cluster, namespace="lab") for cluster in ("c1", "c2")])
        for cluster in ("c1", "c2"):
            (run,) = repo.runs(cluster=cluster, namespace="lab")
            (repo.root / f"overlays/{cluster}/lab/a/{run}").unlink()
            (repo.root / f"overlays/{cluster}/lab/a/kustomization.yaml").unlink()

    expected = [["i:all", "i:all"], ["i:cluster", "i:all"], ["i:namespace", "i:namespace"]]
    assert [*expected, ["i:team", "i:namespace"]] == seen


def test_changed_default_starts_and_ends_no_run(repo: Repo) -> None:
    """A hashed run stays frozen when its defaults change; rerun --outdated adopts it."""
    given(repo, IMAGE)
    repo.workload("a", PLAIN)
    repo.run("render")
    before = repo.tree()
    given(repo, IMAGE.replace(":1", ":2"))

    effects = repo.effects()

    assert ([], before) == (effects, repo.tree())
    assert "registry.example/all:2" in repo.run("outdated").out
    repo.run("rerun", "--outdated")
    repo.run("render")
    assert image_of(repo) == "registry.example/all:2"
    assert repo.run("rerun", "--outdated").out == "no run is outdated\n"
    repo.run("rerun", code=2)


def test_fixed_workload_follows_its_defaults(repo: Repo) -> None:
    """An overlay of a Fixed workload changes with its defaults, and its header names their file."""
    given(repo, IMAGE)
    repo.workload("a", FIXED)
    repo.run("render")
    given(repo, IMAGE.replace(":1", ":2"))

    assert repo.effects() == ["changes c1/default/a: its overlay is live"]
    header = repo.read("overlays/c1/default/a/kustomization.yaml").splitlines()[1]
    assert header.startswith("# inputs: workloads/a.yaml, cluster c1, defaults/all.yaml, bases/")


def test_identity_is_the_spec_as_written(repo: Repo) -> None:
    """The run of a workload has the same id with and without defaults; to remove one makes another run."""
    spec = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: 'i:1'}"
    repo.workload("a", spec)
    repo.run("render")
    before = repo.runs()
    given(repo, "queueName: queue\nlabels: {team: x}")

    assert repo.effects() == []
    assert before == repo.runs()
    repo.workload("a", f"{spec}\nqueueName: null")
    repo.run("render")
    assert before != repo.runs()
    assert "kueue.x-k8s.io/queue-name" not in run_of(repo)


def test_lists_merge_by_key(repo: Repo) -> None:
    """Variables merge by name and buckets by mountPath; an empty list replaces all of them."""
    given(
        repo,
        "container: {image: 'i:1', env: [{name: A, value: a}, {name: B, value: b}]}\n"
        "gcsFuse: [{bucket: data, mountPath: /data}]",
    )
    spec = "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\n"
    repo.workload("a", f"{spec}container: {{env: [{{name: B, value: c}}]}}\ngcsFuse: []")
    repo.workload(
        "b", f"{spec}gcsFuse: [{{bucket: mine, mountPath: /data}}, {{bucket: out, mountPath: /out}}]"
    )
    repo.run("render")

    first, second = (yaml.safe_load(repo.run("render", name, "--stdout").out) for name in "ab")
    pods = [
        each["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"] for each in (first, second)
    ]
    assert [{"name": "A", "value": "a"}, {"name": "B", "value": "c"}] == pods[0]["containers"][0]["env"][-2:]
    assert "volumes" not in pods[0]
    mounted = [one["csi"]["volumeAttributes"]["bucketName"] for one in pods[1]["volumes"] if "csi" in one]
    assert ["mine", "out"] == mounted


@pytest.mark.parametrize(("spec", "has"), [("api: Job\nbackoffLimit: 2", False), ("slices: 2", True)])
def test_default_without_meaning_is_left_out(repo: Repo, spec: str, *, has: bool) -> None:
    """Defaults that a kind of run does not have, or that need a queue, do not refuse a workload."""
    given(
        repo,
        f"{IMAGE}\nfailurePolicy: {{maxRestarts: 3}}\nmaxExecutionTimeSeconds: 60\n"
        "pathways: {elasticSlices: 1}",
    )
    repo.workload("a", f"{PLAIN}\n{spec}")
    repo.run("render")

    assert has is ("maxRestarts" in run_of(repo))
    assert "max-exec-time" not in run_of(repo)


def test_problem_of_a_default_is_told_once_at_its_line(repo: Repo) -> None:
    """A queue that a cluster lacks is wrong in the defaults, whatever number of workloads takes it."""
    given(repo, f"{IMAGE}\nqueueName: nope")
    repo.workload("a", PLAIN)
    repo.workload("b", PLAIN)

    assert """\
defaults/all.yaml:6:14: REF002
1 error, 0 warnings
""" == places(repo.run("render", code=1).err)


def test_null_without_a_default_is_refused(repo: Repo) -> None:
    """An empty value is a mistake where no default gives one that it could remove."""
    given(repo, "workloadPriorityClassName: high")
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: 'i:1'}\nqueueName:")

    assert """\
workloads/a.yaml:8:13: IN001
1 error, 0 warnings
""" == places(repo.run("render", code=1).err)


def test_scopes_are_checked(repo: Repo) -> None:
    """Defaults for a cluster or team that does not exist, or twice for the same workloads, are refused."""
    repo.workload("a")
    given(repo, "appliesTo: {cluster: c3}\nqueueName: queue", name="a")
    given(repo, "appliesTo: {team: x}\nqueueName: queue", name="b")
    given(repo, "appliesTo: {namespace: x}\nqueueName: queue", name="c")
    given(repo, "queueName: queue", name="d")
    given(repo, "annotations: {slicewright.dev/ignore-POOL001: because}", name="e")

    assert """\
defaults/a.yaml:5:24: DEF002
defaults/b.yaml:5:21: DEF002
defaults/c.yaml:5:26: warning: DEF003
defaults/e.yaml:5:3: DEF001
defaults/e.yaml:5:17: POD001
4 errors, 1 warning
""" == places(repo.run("render", code=1).err)


def test_explain_says_which_default_gave_a_value(repo: Repo) -> None:
    """Each value that is not the workload's own comes with the file and the line of its default."""
    given(
        repo,
        "labels: {cost: a}\nqueueName: queue\n"
        "container: {image: 'i:1', env: [{name: A, value: a}, {name: B, value: b}]}",
    )
    given(repo, "appliesTo: {namespace: default}\ncontainer: {image: 'i:2'}", name="narrow")
    repo.workload("a", f"{PLAIN[:-1]}, env: [{{name: B, value: c}}]}}")

    facts = repo.run("explain", "a", "-o", "json").json[0]["facts"]
    told = {one["what"]: one["because"] for one in facts if "TPUDefaults" in one["because"]}
    assert {
        "metadata.labels.cost": "TPUDefaults all, defaults/all.yaml:5",
        "spec.container.image": "TPUDefaults narrow, defaults/narrow.yaml:6",
        "spec.container.env[0]": "TPUDefaults all, defaults/all.yaml:7",
        "spec.queueName": "TPUDefaults all, defaults/all.yaml:6",
    } == told


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("tpu: v5litepod-8\nbackoffLimit: null", "JobSet"),
        ("tpu: v5litepod-8\npathways: {pathwaysDir: 'gs://b'}", "JobSet"),
        ("tpu: v5litepod-8\napi: PathwaysJob\npathways: {pathwaysDir: 'gs://b'}", "PathwaysJob"),
        ("cpu: {pool: cpu-np}", "JobSet"),
    ],
    ids=["jobset", "pathways", "pathwaysjob", "cpu"],
)
def test_default_that_a_kind_of_run_lacks_is_left_out(repo: Repo, spec: str, kind: str) -> None:
    """One document of defaults serves all kinds of runs."""
    given(repo, "hostNetwork: true\nbackoffLimit: 3\nprovisioning: OnDemand")
    repo.workload("a", f"clusters: [c1]\ncontainer: {{image: i}}\n{spec}")
    repo.run("render")

    assert f"\nkind: {kind}\n" in run_of(repo)


def test_headless_workload_takes_no_container_from_a_default(repo: Repo) -> None:
    """It has none: its program runs elsewhere. A default for all workloads does not refuse it."""
    given(repo, "container: {image: of-the-default}")
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\npathways: {headless: true, pathwaysDir: 'gs://b'}")
    repo.run("render")

    assert "of-the-default" not in run_of(repo)


def test_defaults_of_one_name_or_of_an_odd_cluster(repo: Repo) -> None:
    """A name is given once; what a refused cluster means for its defaults is told at the cluster."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: i}")
    given(repo, "annotations: {mine: x}")
    text = repo.read("defaults/all.yaml").replace("spec:\n", "spec:\n  appliesTo: {cluster: c2}\n")
    repo.write("defaults/other.yaml", text)
    repo.cluster("c2", "pools: 3")

    said = places(repo.run("render", code=1).err).splitlines()
    assert [line for line in said if line.startswith("defaults")] == ["defaults/other.yaml:3:18: DEF001"]
