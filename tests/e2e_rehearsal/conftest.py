"""One cluster for the plays of all tests: each play removes what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.testbed.bed import Bed


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """Hold the cluster."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def other_bed() -> Iterator[Bed]:
    """Hold a cluster that is somebody else's."""
    with Cluster() as cluster:
        yield cluster
