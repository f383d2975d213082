"""One cluster of processes for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.testbed.api import Api


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """Hold a cluster of processes."""
    with Cluster() as cluster:
        yield cluster.api
