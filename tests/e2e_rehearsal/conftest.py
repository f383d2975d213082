"""One cluster for the plays of all tests: each play removes what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.cluster import Cluster

from . import kit
from .command import CLUSTER, TEAM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Repo

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


@pytest.fixture
def repo(empty: Repo) -> Repo:
    """Return a repository with a queued workload in a namespace of its own, rendered."""
    empty.cluster(spec=CLUSTER)
    empty.workload("a", kit.spec(TEAM), metadata=", namespace: team")
    empty.run("render")
    return empty
