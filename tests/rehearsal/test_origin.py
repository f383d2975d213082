"""Where the file of a cluster asks for what a rehearsal makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.core.rehearsal.origin import refused
from slicewright.workspace.read import read_checkout

if TYPE_CHECKING:
    from tests.conftest import Repo

SPEC = """
pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]
priorityClasses:
- {name: low, value: 1, podPriorityClass: true}
- {name: high, value: 2}
clusterQueues:
- {name: cq, quota: [{pool: tpus, nominalSlices: 1}], localQueues: [{name: q, namespace: default}]}
"""


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("PriorityClass", "low", ("spec", "priorityClasses", 0)),
        ("WorkloadPriorityClass", "high", ("spec", "priorityClasses", 1)),
        ("ClusterQueue", "cq", ("spec", "clusterQueues", 0)),
        ("LocalQueue", "q", ("spec", "clusterQueues", 0, "localQueues", 0)),
        ("LocalQueue", "r", ("spec", "clusterQueues")),
        ("Node", "tpus-0-0", ("spec", "pools")),
        ("Cohort", "c", ("metadata", "name")),
        ("ServiceAccount", "robot", ("metadata", "name")),
    ],
)
def test_object_is_placed_where_it_is_asked_for(
    empty: Repo, kind: str, name: str, path: tuple[str | int, ...]
) -> None:
    """At its entry, else at the list that it comes from, else at the cluster's name."""
    empty.cluster(spec=SPEC)
    site = read_checkout(empty.root).repository.sites["c1"]
    problem = refused(site, {"kind": kind, "metadata": {"name": name}}, "is there already", "remove it")

    assert ("REH006", "clusters/c1.yaml", path) == (problem.id, problem.file, problem.path)
    assert ("is there already", "remove it") == (problem.message, problem.hint)
