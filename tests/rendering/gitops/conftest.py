"""Repositories that Argo CD syncs."""

import pytest
from tests.conftest import Repo

from .kit import synced, workload


@pytest.fixture
def two(empty: Repo) -> Repo:
    """A rendered repository that Argo CD syncs: the workload a of team a, and b in another namespace."""
    synced(empty)
    workload(empty)
    workload(empty, "b", namespace="default")
    empty.run("render")
    return empty
