"""The clusters of the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.bed_cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.cluster.api.client import Api


@pytest.fixture(scope="session")
def api(shared_cluster: Cluster) -> Api:
    """Return the client of a cluster on which dry runs and definitions leave nothing that others notice."""
    return shared_cluster.api


@pytest.fixture(scope="module")
def own_api() -> Iterator[Api]:
    """Hold a cluster for a module that leaves queues and nodes."""
    with Cluster() as cluster:
        yield cluster.api
