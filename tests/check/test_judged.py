"""A render says what validate would say of the runs that it begins, at the line that a person wrote."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Done, Repo

from slicewright.check.io import ignore_files
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: p
  location: us-west4
  nodeLocations: [us-west4-a]
  pools: [{name: v5e, tpu: v5litepod-8, slices: 3}]
  clusterQueues:
  - name: tpu
    quota: [{pool: v5e, nominalSlices: 3}]
    localQueues: [{name: team, namespace: default}]
"""
FITS = """
clusters: [c1]
tpu: v5litepod-8
slices: 3
queueName: team
container: {image: 'x:1.0.0'}
"""
NEVER = FITS.replace("slices: 3", "slices: 5")
FIXED = FITS + "naming: Fixed\n"
WARNED = "workloads/a.yaml:7:11: warning: FIT101 spec.slices in cluster c1, JobSet default/a"


def shrunk(repo: Repo) -> None:
    """Take a slice from the quota of the cluster."""
    repo.write("clusters/c1.yaml", CLUSTER.replace("nominalSlices: 3", "nominalSlices: 2"))


def said(done: Done) -> list[tuple[Any, ...]]:
    """Return severity, id, file, line and folder of each problem in JSON."""
    return [
        (one["severity"], one["id"], one["file"], one["line"], one.get("folder"))
        for one in done.json["problems"]
    ]


def test_run_that_never_fits_is_refused_with_everything_else(empty: Repo) -> None:
    """Beside a misspelt priority class of another workload, in one round; nothing is written."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", NEVER)
    empty.workload("b", f"{FITS}workloadPriorityClassName: hihg")
    empty.workload("c", NEVER.replace("x:1", "x:2"))

    assert [
        ("error", "FIT101", "workloads/a.yaml", 7, "overlays/c1/default/a"),
        ("error", "REF003", "workloads/b.yaml", 10, None),
        ("error", "FIT101", "workloads/c.yaml", 7, "overlays/c1/default/c"),
    ] == said(empty.run("render", "-o", "json", code=1))
    assert not (empty.root / "overlays").exists()
    assert 1 == len(said(empty.run("render", "b", "-o", "json", code=1))), "the other one is not rendered"
    assert "FIT101 spec.slices in cluster c1, JobSet default/a-" in empty.run("render", "--check", code=1).err


def test_frozen_run_that_fits_no_more_keeps_nobody_from_rendering(empty: Repo) -> None:
    """It is a warning of the render that takes the quota, and an error of validate, at one line."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.write("clusters/c2.yaml", CLUSTER.replace("name: c1", "name: c2"))
    empty.workload("a", FITS.replace("[c1]", "[c1, c2]"))
    empty.run("render")
    shrunk(empty)
    empty.workload("b", FITS.replace("slices: 3", "slices: 2"))

    done = empty.run("render")

    assert WARNED in done.err
    assert ["b"] == [name[:1] for name in empty.runs("b")]
    assert "FIT101" not in empty.run("render").err, "nothing begins, and no platform changes"
    assert [("error", "FIT101", "workloads/a.yaml", 7, "overlays/c1/default/a")] == said(
        empty.run("validate", "-o", "json", code=1)
    )


def test_fixed_workload_is_refused_only_when_it_changes(empty: Repo) -> None:
    """What is there already is a warning like a frozen run; a change of it has to fit."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FIXED)
    empty.run("render")
    shrunk(empty)
    assert WARNED in empty.run("render").err

    empty.workload("a", FIXED.replace("x:1", "x:2"))

    assert [("error", "FIT101", "workloads/a.yaml", 7, "overlays/c1/default/a")] == said(
        empty.run("render", "-o", "json", code=1)
    )


@pytest.mark.parametrize(
    "policy",
    [
        "{maxRestarts: 2, restartStrategy: InPlaceRestart}",
        "{maxRestarts: 2, rules: [{name: r, action: RestartJob, onJobFailureReasons: [PodFailurePolicy]}]}",
    ],
)
def test_run_that_needs_a_gate_of_the_installed_jobset_is_refused(empty: Repo, policy: str) -> None:
    """The JobSet that the tree installs has its feature gates off; one of somebody else may have them on."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FITS)
    empty.workload("b", f"{FITS.replace('slices: 3', 'slices: 2')}failurePolicy: {policy}")

    assert [("error", "JS114", "workloads/b.yaml", 10, "overlays/c1/default/b")] == said(
        empty.run("render", "-o", "json", code=1)
    )

    empty.write("clusters/c1.yaml", CLUSTER + "  controllers: {managed: false}\n")
    empty.run("render")
    assert [("warning", "JS114", "workloads/b.yaml", 10, "overlays/c1/default/b")] == said(
        empty.run("validate", "--only", "JS114", "-o", "json")
    )

    gates = "featureGates: {InPlaceRestart: true, RestartJob: true}"
    empty.write("clusters/c1.yaml", f"{CLUSTER}  controllers: {{jobset: {{{gates}}}}}\n")
    empty.run("render")
    assert [] == said(empty.run("validate", "--only", "JS114", "-o", "json"))


def test_earlier_run_that_is_kept_leads_to_the_name(empty: Repo) -> None:
    """What it asks for stands nowhere in the file any more."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", f"{FITS}onChange: Keep")
    empty.run("render")
    shrunk(empty)
    empty.workload("a", f"{FITS.replace('slices: 3', 'slices: 1')}onChange: Keep")
    empty.run("render")

    (found,) = empty.run("validate", "-o", "json", code=1).json["problems"]

    assert ("FIT101", "workloads/a.yaml", 3, 18) == tuple(
        found[key] for key in ("id", "file", "line", "column")
    )


def test_run_that_begins_once_more_is_judged(empty: Repo) -> None:
    """A frozen file that no list names starts when the list does."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FITS)
    empty.run("render")
    listing = "overlays/c1/default/a/kustomization.yaml"
    empty.write(listing, empty.read(listing).replace(empty.runs()[0], "other.yaml"))
    shrunk(empty)

    assert [("error", "FIT101", "workloads/a.yaml", 7, "overlays/c1/default/a")] == said(
        empty.run("render", "-o", "json", code=1)
    )


def test_own_parts_of_pods_are_judged_by_all_rules(empty: Repo) -> None:
    """A mount without a volume is refused; it stands where the person wrote it."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FITS.replace("}", ", volumeMounts: [{name: gone, mountPath: /x}]}"))

    (found,) = empty.run("render", "-o", "json", code=1).json["problems"]

    assert ("JS125", "workloads/a.yaml", 9) == (found["id"], found["file"], found["line"])


@pytest.mark.parametrize("api", ["JobSet", "PathwaysJob"])
def test_bare_version_of_pathways_is_refused_at_its_field(empty: Repo, api: str) -> None:
    """The hint shows the value to write, and what it says is right."""
    empty.write("clusters/c1.yaml", CLUSTER)
    text = FITS.replace("queueName: team\n", "") + f"api: {api}\n"
    text += "pathways: {pathwaysDir: 'gs://b/p', pathwaysVersion: 0.9.2}\n"
    empty.workload("a", text)

    found = empty.run("render", "-o", "json", code=1).json["problems"]
    own = [one for one in found if one["id"] == "PW135"]
    assert [("workloads/a.yaml", 10, "write jax-0.9.2")] == [
        (one["file"], one["line"], one["hint"]) for one in own
    ]

    empty.workload("a", text.replace("0.9.2", "jax-0.9.2"))
    assert "PW135" not in empty.run("render", "-o", "json", code=1).out


def test_variables_of_another_run_are_refused_at_their_lines(empty: Repo) -> None:
    """A number of slices and an address from an older run would hang this one, so nothing is written."""
    empty.write("clusters/c1.yaml", CLUSTER)
    env = "{name: MEGASCALE_NUM_SLICES, value: '4'}, {name: JAX_COORDINATOR_ADDRESS, value: old-a-0-0.old:1}"
    empty.workload("a", FITS.replace("}", f", env: [{env}]}}"))

    found = empty.run("render", "-o", "json", code=1).json["problems"]

    assert [("TPU168", "workloads/a.yaml", 9), ("TPU170", "workloads/a.yaml", 9)] == [
        (one["id"], one["file"], one["line"]) for one in found
    ]


def test_cluster_with_a_mistake_of_its_own_is_not_held_against_runs(empty: Repo) -> None:
    """What a run lacks there may follow from it."""
    empty.write("clusters/c1.yaml", CLUSTER.replace("pool: v5e,", "pool: v5,"))
    empty.workload("a", NEVER)

    assert {"clusters/c1.yaml"} == {one[2] for one in said(empty.run("render", "-o", "json", code=1))}


def test_reason_silences_an_error_of_a_rule(empty: Repo) -> None:
    """By the file that a person wrote, or by the folder; as in validate."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", NEVER)
    for file in ("workloads/a.yaml", "overlays/c1/*/a"):
        entry = f"{{rule: FIT101, file: {file}, reason: more comes}}"
        other = "{rule: REF008, reason: not met}"
        empty.write(".slicewright-ignore.yaml", f"ignore: [{entry}, {other}]\n")
        assert "FIT101" not in empty.run("render").err
        assert ["IGN102"] == [one[1] for one in said(empty.run("validate", "-o", "json"))]
        (empty.root / ".slicewright-ignore.yaml").unlink()
        empty.workload("a", NEVER.replace("x:1", f"x:{len(file)}"))


def test_intent_silences_no_error_of_what_is_rendered_from_it(empty: Repo) -> None:
    """A patch may annotate the run, and the annotation silences warnings of a rule only."""
    hush = "{slicewright.dev/ignore-FIT101: r, slicewright.dev/ignore-GIT120: r}"
    ops = f"{{op: add, path: /metadata/annotations, value: {hush}}}"
    patched = FITS.replace("x:1.0.0", "x:latest") + f"patches: [{{target: {{kind: JobSet}}, ops: [{ops}]}}]\n"
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", patched)
    empty.run("render")
    shrunk(empty)
    empty.run("render")

    assert ["FIT101"] == [one[1] for one in said(empty.run("validate", "-o", "json", code=1))]

    empty.workload("a", patched.replace("slices: 3", "slices: 5"))
    assert ["FIT101"] == [one[1] for one in said(empty.run("render", "-o", "json", code=1))]


def test_ignore_file_is_read_once(empty: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what stands against the input, and for what the rules say of runs."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", NEVER.replace("queueName: team\n", ""))
    empty.write(".slicewright-ignore.yaml", "ignore: [{rule: REF008, reason: r}]\n")
    opened: list[str] = []

    def counted(path: Path, name: str) -> str | Problem:
        opened.append(name)
        return read_file(path, name)

    monkeypatch.setattr(ignore_files, "read_file", counted)

    assert "REF008" not in empty.run("render").err
    assert [".slicewright-ignore.yaml"] == opened


def test_nothing_of_the_rules_is_imported_for_nothing(empty: Repo) -> None:
    """A render without warnings, in which nothing begins, knows the rules of platforms alone."""
    empty.write("clusters/c1.yaml", CLUSTER + "  kueue: {}\n")
    empty.workload("a", FITS)
    empty.run("render")
    heavy = "('slicewright.check.rules.every', 'slicewright.check.judge_render', 'slicewright.programs')"
    code = (
        "import sys\nfrom slicewright.cli.main import cli\n"
        "try:\n    cli(['render'], prog_name='slicewright')\nexcept SystemExit:\n    pass\n"
        f"print([name for name in sys.modules if name.startswith({heavy})])\n"
    )
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=empty.root, check=True, capture_output=True, text=True)

    assert ("", "[]") == (done.stderr, done.stdout.splitlines()[-1])


def test_validate_annotates_the_line_that_a_person_wrote(empty: Repo) -> None:
    """`-o github` names the input, with the object; SARIF has its line, JUnit fails the object's case."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FITS)
    empty.run("render")
    shrunk(empty)
    empty.run("render")
    name = empty.runs()[0].removesuffix(".yaml")

    annotation = empty.run("validate", "-o", "github", code=1).out.splitlines()[0]
    sarif = json.loads(empty.run("validate", "-o", "sarif", code=1).out)["runs"][0]["results"]
    cases = empty.run("validate", "-o", "junit", code=1).out

    assert annotation.startswith(
        f"::error file=workloads/a.yaml,line=7,col=11,title=FIT101 JobSet default/{name}::"
        "spec.slices in cluster c1: "
    )
    place = sarif[0]["locations"][0]["physicalLocation"]
    assert "workloads/a.yaml" == place["artifactLocation"]["uri"]
    assert {"startLine": 7, "startColumn": 11} == place["region"]
    assert f'classname="overlays/c1/default/a" name="JobSet default/{name}">\n      <failure' in cases


def test_queue_of_others_without_a_quota_refuses_no_run(repo: Repo) -> None:
    """What a queue that somebody else makes has is not known unless the file says it."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-8\nslices: 9\nqueueName: queue\ncontainer: {image: x}")

    assert ["starts"] == [effect.split()[0] for effect in repo.effects()]


def test_run_from_before_a_topology_is_to_start_again(empty: Repo) -> None:
    """It cannot be annotated any more, and a new one asks for whole slices: that is what the hint says."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", FITS)
    empty.run("render")
    levels = "levels: [{nodeLabel: cloud.google.com/gke-nodepool}, {nodeLabel: kubernetes.io/hostname}]"
    cpu = "{name: cpu, machineType: n2-standard-64}"
    text = CLUSTER.replace("slices: 3}]", f"slices: 3, topologyName: t}}, {cpu}]")
    text = text.replace("nominalSlices: 3}]", "nominalSlices: 3}, {pool: cpu}]")
    empty.write("clusters/c1.yaml", f"{text}  topologies: [{{name: t, {levels}}}]\n")

    (found,) = [one for one in empty.run("render", "-o", "json").json["problems"] if one["id"] == "FIT102"]
    assert found["hint"].endswith("with the labels that the flavors have now: slicewright rerun default/a")

    empty.run("rerun", "default/a")
    empty.run("render")
    assert [] == said(empty.run("validate", "-o", "json"))


PRIORITY = FITS + "podTemplate: {spec: {priorityClassName: high}}\n"
CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 9\n"
OWN_CLASS = "  priorityClasses: [{name: high, value: 9, podPriorityClass: true}]\n"
EXISTING = "  existing: [{kind: PriorityClass, name: 'hi*'}]\n"


def test_priority_class_that_no_cluster_has_is_refused(empty: Repo) -> None:
    """The API server refuses its pods: an error of render and of validate, and the hint mends it."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.workload("a", PRIORITY)

    (found,) = empty.run("render", "-o", "json", code=1).json["problems"]

    assert ("error", "REF125", 10) == (found["severity"], found["id"], found["line"])
    assert "did you mean workloadPriorityClassName: high?" in found["hint"]
    empty.workload("a", f"{FITS}workloadPriorityClassName: high\n")
    empty.run("render")
    assert [] == said(empty.run("validate", "-o", "json"))


def test_priority_class_of_an_existing_cluster_may_be_unlisted(empty: Repo) -> None:
    """The file of a cluster that others manage need not list its PriorityClasses: a warning of validate."""
    empty.write("clusters/c1.yaml", CLUSTER.replace("spec:\n", "spec:\n  managed: false\n"))
    empty.workload("a", PRIORITY)

    empty.run("render")

    found = said(empty.run("validate", "-o", "json"))
    assert [("warning", "REF125")] == [entry[:2] for entry in found if entry[1] == "REF125"]


CRITICAL = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: critical, namespace: default}
spec: {hard: {pods: "100"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}}
"""


@pytest.mark.parametrize(
    ("cluster", "custom", "name"),
    [
        (CLUSTER + OWN_CLASS, "", "high"),
        (CLUSTER + EXISTING, "", "high"),
        (CLUSTER, CLASS, "high"),
        (CLUSTER, CRITICAL, "system-node-critical"),
    ],
    ids=["rendered", "existing", "custom", "built in"],
)
def test_priority_class_of_the_cluster_is_known(empty: Repo, cluster: str, custom: str, name: str) -> None:
    """The platform renders it, the file says that it exists, custom/ holds it, or every cluster has it."""
    empty.write("clusters/c1.yaml", cluster)
    empty.workload("a", PRIORITY.replace("high", name))
    if custom:
        empty.write("custom/class.yaml", custom)

    empty.run("render")

    found = said(empty.run("validate", "-o", "json"))
    assert [] == [entry for entry in found if entry[0] == "error"]


QUEUED = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  mode: MODE
  project: p
  location: us-east5
  nodeLocations: [us-east5-a]
  pools:
  - {name: stands, tpu: v6e-32, slices: 2}
  - {name: several-hosts, tpu: v6e-32, slices: 2, provisioning: FlexStartQueued}
  - {name: one-host, tpu: v6e-4, slices: 2, provisioning: FlexStartQueued}
  clusterQueues:
  - name: tpu
    quota: [{pool: stands}, {pool: several-hosts}, {pool: one-host}]
    localQueues: [{name: team, namespace: default}]
"""
ONLY_QUEUED, ALSO_QUEUED = "provisioning: FlexStartQueued", "alternativeProvisioning: [FlexStartQueued]"


@pytest.mark.parametrize(
    ("mode", "spec", "severity", "fits"),
    [
        ("Standard", f"tpu: v6e-32\n{ONLY_QUEUED}", None, True),
        ("Standard", f"tpu: v6e-32\nslices: 2\n{ONLY_QUEUED}", "error", False),
        ("Standard", f"tpu: v6e-32\nslices: 2\n{ALSO_QUEUED}", "warning", True),
        ("Standard", f"tpu: v6e-4\nslices: 2\n{ONLY_QUEUED}", "error", False),
        ("Autopilot", f"tpu: v6e-32\nslices: 2\n{ONLY_QUEUED}", "error", False),
        ("Autopilot", f"tpu: v6e-4\nslices: 2\n{ONLY_QUEUED}", None, True),
    ],
)
def test_queued_run_that_needs_several_node_pools_is_refused(
    empty: Repo, mode: str, spec: str, severity: str | None, fits: bool
) -> None:
    """GKE provisions it in one node pool; a run that can also get other nodes is warned of."""
    empty.write("clusters/c1.yaml", QUEUED.replace("MODE", mode))
    empty.workload("a", f"clusters: [c1]\n{spec}\nqueueName: team\ncontainer: {{image: 'x:1.0.0'}}")

    found = said(empty.run("render", "-o", "json", code=int(severity == "error")))
    (run,) = empty.run("capacity", "-o", "json", code=int(not fits)).json["clusters"][0]["workloads"]

    expected = [(severity, "KQ164", "workloads/a.yaml", 7, "overlays/c1/default/a")] if severity else []
    assert expected == [one for one in found if one[1] == "KQ164"]
    assert run["fits"] is fits
