"""One round shows everything: what is misspelt hides nothing else, in its own file or in others."""

import pytest

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plans import plan_all
from slicewright.rendering.repository import Settings, read_repository

HEAD = "apiVersion: slicewright.dev/v1alpha1\nkind: "
CLUSTER = """\
TPUCluster
metadata: {name: c1}
spec:
  project: p
  location: us-west4
  nodeLocations: [us-west4-a]
  pools: [{name: v5e, tpu: v5litepod-8, slices: 3}]
  priorityClasses: [{name: mine, value: 7}]
  clusterQueues: [{name: tpu, quota: [{pool: v5e}], localQueues: [{name: team, namespace: default}]}]
"""
WORKLOAD = """\
TPUWorkload
metadata: {name: a}
spec:
  clusters: [c1]
  tpu: v5litepod-8
  slices: 2
  queueName: team
  workloadPriorityClassName: mine
  container: {image: x, env: [{name: A, value: b}]}
"""


def found(workload: str = WORKLOAD, cluster: str = CLUSTER) -> list[Problem]:
    """Return the errors of a cluster and a workload."""
    files = [SourceFile("clusters/c1.yaml", HEAD + cluster), SourceFile("workloads/a.yaml", HEAD + workload)]
    repository = read_repository(files, Settings(), package(), lambda _: None)
    return [problem for problem in plan_all(repository)[1] if problem.severity == "error"]


def said(problems: list[Problem]) -> list[str]:
    """Return ids with the lines (without the two of the head) and columns of problems."""
    return sorted(f"{one.id} {one.file[0]}:{one.line}:{one.column}" for one in problems)


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return a text with parts of it replaced, each of which is there."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


WRONG = ("PriorityClassName: mine", "PriorityClassName: mien")


def test_what_is_right_has_no_errors() -> None:
    """The input that the others change."""
    assert [] == found()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("  clusters:", "  cluster:")], ["IN002 w:5:3", "REF003 w:9:30"]),
        ([("  tpu:", "  tpuType:")], ["IN002 w:6:3"]),
        ([("  slices:", "  slcies:")], ["IN002 w:7:3", "REF003 w:9:30"]),
        ([("slices: 2", "slices: two")], ["IN001 w:7:11", "REF003 w:9:30"]),
        ([("slices: 2", "slices: 2.0")], ["IN001 w:7:11", "REF003 w:9:30"]),
        ([("slices: 2", "slices: 2\n  slcies: 3")], ["IN002 w:8:3", "REF003 w:10:30"]),
        ([("  queueName: team", "  queueNaem: taem")], ["IN002 w:8:3", "REF002 w:8:14", "REF003 w:9:30"]),
        ([("queueName: team", "queueName: 5")], ["IN001 w:8:14", "REF003 w:9:30"]),
        ([("  queueName: team", "  queue: team")], ["IN002 w:8:3", "REF003 w:9:30"]),
        ([("{image: x,", "{imgae: x,")], ["IN002 w:10:15", "REF003 w:9:30"]),
        ([("container: {", "container: {colour: red, ")], ["IN002 w:10:15", "REF003 w:9:30"]),
        (
            [("v5litepod-8", "v5litepod-7"), ("slices: 2", "slices: two")],
            ["IN001 w:7:11", "REF003 w:9:30", "TPU005 w:6:8"],
        ),
        ([("{name: A, value", "{nmae: A, value")], ["IN002 w:10:32", "REF003 w:9:30"]),
        ([("  tpu: v5litepod-8\n", "  tpu: 5\n")], ["IN001 w:6:8"]),
        ([("[c1]", "[5]"), ("v5litepod-8", "v5litepod-7")], ["IN001 w:5:14", "TPU005 w:6:8"]),
    ],
)
def test_misspelt_key_hides_no_misspelt_priority_class(
    changes: list[tuple[str, str]], expected: list[str]
) -> None:
    """A key is read as the one that it is nearest to; another wrong value is left out, and what follows."""
    assert expected == said(found(changed(WORKLOAD, *changes, WRONG)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("  priorityClasses:", "  priorityClases:")], ["IN002 c:9:3", "REF003 w:9:30"]),
        (
            [("  location: us-west4\n", "  location: us-west4\n  gke: {version: []}\n")],
            ["IN001 c:7:18", "REF003 w:9:30"],
        ),
        ([("value: 7", "value: seven")], ["IN001 c:9:41"]),
        ([("  priorityClasses: [{name: mine, value: 7}]\n", "  classes: [mine]\n")], ["IN002 c:9:3"]),
        ([("pools: [", "pools: [7, ")], ["IN001 c:8:11"]),
    ],
)
def test_cluster_that_is_partly_wrong_still_judges_workloads(
    changes: list[tuple[str, str]], expected: list[str]
) -> None:
    """As long as what is left out is nothing that a workload names; else they are not to blame."""
    assert expected == said(found(changed(WORKLOAD, WRONG), changed(CLUSTER, *changes)))


@pytest.mark.parametrize(
    "changes",
    [
        [("  priorityClasses:", "  priorityClases:")],
        [("  clusterQueues:", "  clusterQueus:")],
        [("value: 7", "value: seven")],
        [("  location: us-west4\n", "  location: us-west4\n  gke: {version: []}\n")],
    ],
)
def test_mistake_has_no_echo_in_other_files(changes: list[tuple[str, str]]) -> None:
    """A workload that names what stands under a misspelt key is right."""
    assert 1 == len(found(cluster=changed(CLUSTER, *changes)))
