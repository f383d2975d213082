"""The platform of a TPUCluster is checked by the rules that check anybody's objects."""

import pytest
from tests.conftest import Repo

CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-west4-a
  pools:
  - {name: tpus, tpu: v5litepod-8, slices: 3}
  - {name: cpus, machineType: n2-standard-8}
"""
LAST_LEVEL = """\
topologies:
- name: t
  levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: x}]
"""
SELECTOR = """\
clusterQueues:
- name: q
  quota: [{pool: tpus}]
  namespaceSelector: {matchExpressions: [{key: a, operator: In}]}
"""
REFUSED = [
    # lines of the spec, and the ids with the line that a person changes
    ("cohorts: [{name: a, parentName: b}, {name: b, parentName: a}]", ["FIT107:10", "FIT107:10"]),
    ("clusterQueues: [{name: q, quota: [{pool: cpus, borrowingLimit: 1}]}]", ["KQ103:10"]),
    (LAST_LEVEL, ["KQ116:12"]),
    (SELECTOR, ["KQ112:13"]),
]


@pytest.mark.parametrize(("lines", "expected"), REFUSED)
def test_render_refuses_what_a_rule_refuses(repo: Repo, lines: str, expected: list[str]) -> None:
    """The finding of a rule is at the line of the TPUCluster, once for cpu and memory."""
    indented = "".join(f"  {line}\n" for line in lines.splitlines())
    repo.write("clusters/c1.yaml", CLUSTER + indented)

    found = repo.run("render", "-o", "json", code=1).json["problems"]

    errors = [problem for problem in found if problem["severity"] == "error"]
    assert expected == [f"{problem['id']}:{problem['line']}" for problem in errors]
    assert {("clusters/c1.yaml", "TPUCluster c1")} == {(one["file"], one["object"]) for one in errors}


def test_too_much_quota_is_reported_once(repo: Repo) -> None:
    """Of a platform that we render, QUOTA008 adds up all queues: FIT104 would repeat it for one of them."""
    repo.write(
        "clusters/c1.yaml",
        CLUSTER + "  clusterQueues: [{name: q, quota: [{pool: tpus, nominalSlices: 5}]}]\n",
    )
    repo.run("render")

    found = repo.run("validate", "-o", "json").json["problems"]

    about_quota = [one["id"] for one in found if one["id"].startswith(("QUOTA", "FIT"))]
    assert ["QUOTA008"] == about_quota


FLEX = "pools: [{name: flex, tpu: v6e-16, provisioning: FlexStart}]"
QUEUE = "clusterQueues: [{name: q, quota: [{pool: flex}], localQueues: [{name: team}]}]"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((FLEX, QUEUE), ["KQ153:6"]),
        ((FLEX, QUEUE, "kueue: {waitForPodsReady: {timeout: 45m}}"), ["KQ153:6"]),
        ((FLEX, QUEUE, "kueue: {waitForPodsReady: {timeout: 2h}}"), []),
        ((FLEX, QUEUE, "kueue: {}"), []),
        ((FLEX, QUEUE, "versions: {kueue: v0.18.0}\n  controllers: {managed: false}"), []),
        ((FLEX.replace("FlexStart", "FlexStartQueued"), QUEUE), []),
        ((FLEX,), []),
    ],
)
def test_flex_start_that_kueue_does_not_wait_for(
    empty: Repo, lines: tuple[str, ...], expected: list[str]
) -> None:
    """A render and `validate` warn once, at the pool, however many runs use it."""
    spec = "".join(f"  {line}\n" for line in ("location: us-east5-a", *lines))
    empty.write("clusters/c1.yaml", CLUSTER.partition("  project")[0] + spec)
    way = "FlexStartQueued" if "FlexStartQueued" in lines[0] else "FlexStart"
    queue = "\nqueueName: team" if QUEUE in lines else ""
    for name in ("a", "b"):
        run = f"tpu: v6e-16\nprovisioning: {way}{queue}\ncontainer: {{image: 'x:1.0.0'}}"
        empty.workload(name, f"clusters: [c1]\n{run}")

    rendered = empty.run("render", "-o", "json").json["problems"]
    found = empty.run("validate", "-o", "json").json["problems"]

    for problems in (rendered, found):
        warned = [problem for problem in problems if problem["id"] == "KQ153"]
        assert expected == [f"{problem['id']}:{problem['line']}" for problem in warned]
        assert {problem["file"] for problem in warned} <= {"clusters/c1.yaml"}


@pytest.mark.parametrize(("kueue", "expected"), [("versions: {}", ["KQ166:10"]), ("kueue: {}", [])])
def test_weight_without_fair_sharing(repo: Repo, kueue: str, expected: list[str]) -> None:
    """A render says at the weight that it has no effect; `kueue: {}` turns fair sharing on."""
    queue = "cohorts: [{name: a, fairSharing: {weight: 2}}]"
    repo.write("clusters/c1.yaml", f"{CLUSTER}  {queue}\n  {kueue}\n")

    found = repo.run("render", "-o", "json").json["problems"]

    assert expected == [f"{one['id']}:{one['line']}" for one in found if one["id"] == "KQ166"]
