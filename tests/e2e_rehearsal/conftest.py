"""One cluster for the plays of all tests: each play removes what it made."""

from collections.abc import Iterator

import pytest
from tests.conftest import Repo

from slicewright.rehearse.existing_cluster import MARK
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Cluster

from . import kit
from .command import CLUSTER, TEAM

SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}


@pytest.fixture(scope="session")
def bed(shared_cluster: Cluster) -> Bed:
    """Return the cluster."""
    return shared_cluster


@pytest.fixture
def other_bed(bed: Bed) -> Iterator[Bed]:
    """Hold the cluster as somebody else's, which nobody has marked for tests."""
    yield bed
    bed.api.patch(SYSTEM, {"metadata": {"labels": {MARK: None}}})


@pytest.fixture
def repo(empty: Repo) -> Repo:
    """Return a repository with a queued workload in a namespace of its own, rendered."""
    empty.cluster(spec=CLUSTER)
    empty.workload("a", kit.spec(TEAM), metadata=", namespace: team")
    empty.run("render")
    return empty
