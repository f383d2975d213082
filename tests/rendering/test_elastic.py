"""Elastic runs of a cluster decide for how long Kueue lets its runs be without some of their pods."""

import pytest
from tests.conftest import Repo

pytestmark = pytest.mark.slow  # whole repositories are rendered

CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-east5-b
  KUEUE
  pools:
  - {name: tpus, tpu: v6e-16, slices: 2}
  - {name: cpu, machineType: n2-standard-64}
  clusterQueues:
  - name: q
    quota: [{pool: tpus}, {pool: cpu}]
    localQueues: [{name: q, namespace: default}]
"""
RUN = """
clusters: [c1]
tpu: v6e-16
slices: 2
queueName: q
pathways: {pathwaysDir: 'gs://b/tmp', pathwaysVersion: '1', elasticSlices: SLICES}
podTemplate: {spec: {serviceAccountName: default}}
container: {image: 'x:1.0.0'}
"""
PATCH = "overlays/c1/_controllers/kueue-manager-config.patch.yaml"


def written(repo: Repo, kueue: str, slices: int) -> None:
    """Write a cluster with some settings of Kueue, and a Pathways run that can do without some slices."""
    repo.write("clusters/c1.yaml", CLUSTER.replace("KUEUE", kueue))
    repo.workload("a", RUN.replace("SLICES", str(slices)))


def reasons(repo: Repo) -> dict[str, str]:
    """Render, and return why the configuration of Kueue changed."""
    changes = repo.run("render", "-o", "json").json["platform"]
    return {change["effect"]: change["reason"] for change in changes if change["path"] == PATCH}


def limit(repo: Repo) -> str:
    """Return the recoveryTimeout that is rendered."""
    (line,) = [line for line in repo.read(PATCH).splitlines() if "recoveryTimeout" in line]
    return line.split()[1]


def test_limit_goes_when_an_elastic_run_comes_and_returns_when_it_leaves(empty: Repo) -> None:
    """A render says that this holds for all runs of the cluster."""
    limits, told = [], []
    for slices in (0, 1, 0):
        written(empty, "kueue: {}", slices)
        told.append(reasons(empty))
        limits.append(limit(empty))

    for_all = "a workload has elastic slices, so recoveryTimeout is 0s for all runs of the cluster"
    assert ["30m", "0s", "30m"] == limits
    assert [
        {"added": "it is new"},
        {"changed": for_all},
        {"changed": "platform files follow the TPUCluster at each render"},
    ] == told


def test_limit_that_the_file_writes_stays(empty: Repo) -> None:
    """A person may want a lost slice back within a time."""
    written(empty, "kueue: {waitForPodsReady: {recoveryTimeout: 6h}}", 1)

    assert ({"added": "it is new"}, "6h") == (reasons(empty), limit(empty))


@pytest.mark.parametrize(
    ("kueue", "expected"),
    [
        ("versions: {}", ["workloads/a.yaml"]),
        ("kueue: {waitForPodsReady: {recoveryTimeout: 20m}}", ["workloads/a.yaml"]),
        ("kueue: {waitForPodsReady: {recoveryTimeout: '0'}}", []),
        ("kueue: {}", []),
    ],
)
def test_render_warns_where_kueue_evicts_an_elastic_run(empty: Repo, kueue: str, expected: list[str]) -> None:
    """So does `validate`, also of the run that is frozen."""
    written(empty, kueue, 1)

    for command in ("render", "validate"):
        found = empty.run(command, "-o", "json").json["problems"]
        assert expected == [problem["file"] for problem in found if problem["id"] == "KQ165"]
