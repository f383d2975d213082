"""The clusters of the tests of this folder."""

from collections.abc import Iterator

import pytest

from slicewright.cluster.api.client import Api
from slicewright.testbed.bed_cluster import Cluster


@pytest.fixture(scope="session")
def api(shared_cluster: Cluster) -> Api:
    """Return the client of a cluster on which dry runs and definitions leave nothing that others notice."""
    return shared_cluster.api


@pytest.fixture(scope="module")
def own_api() -> Iterator[Api]:
    """Hold a cluster for a module that leaves queues and nodes."""
    with Cluster() as cluster:
        yield cluster.api
