"""A workload without a priority class has priority 0, below the classes of what may wait."""

import pytest
from tests.conftest import Repo

CLUSTER = """
pools: [{name: tpus, tpu: v5litepod-8, slices: 4}]
priorityClasses: [{name: idle, value: -5}, {name: batch, value: 10}]
clusterQueues:
- {name: one, quota: [{pool: tpus, nominalSlices: 2}], localQueues: [{name: one}]}
- {name: two, quota: [{pool: tpus, nominalSlices: 2}], localQueues: [{name: two}]}
"""
OF_PODS = "podTemplate: {spec: {priorityClassName: system-cluster-critical}}"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["workloadPriorityClassName: very-low", ""], ["b: 'very-low' (100)"]),
        (["workloadPriorityClassName: low", "", "workloadPriorityClassName: batch", ""], ["b: 'batch' (10)"]),
        (["workloadPriorityClassName: medium", ""], []),
        (["workloadPriorityClassName: high", ""], []),
        (["workloadPriorityClassName: idle", ""], []),
        (["workloadPriorityClassName: low", "workloadPriorityClassName: medium"], []),
        (["workloadPriorityClassName: low", OF_PODS], []),
        (["workloadPriorityClassName: low\nqueueName: two", ""], []),
        (["", ""], []),
    ],
)
def test_low_class_beside_workloads_without_a_class(
    empty: Repo, more: list[str], expected: list[str]
) -> None:
    """It is said once for a cluster, and only where it is a surprise: a low class in the same queue."""
    empty.cluster(spec=CLUSTER)
    for name, lines in zip("abcd", more, strict=False):
        queue = "" if "queueName" in lines else "queueName: one\n"
        empty.workload(name, f"clusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: x}}\n{queue}{lines}")

    problems = empty.run("render", "-o", "json", "--check", code=1).json["problems"]

    found = [
        f"{problem['object'][-1]}: {problem['message'].partition('below ')[2].partition(',')[0]}"
        for problem in problems
        if problem["id"] == "QUOTA019"
    ]
    assert expected == found
