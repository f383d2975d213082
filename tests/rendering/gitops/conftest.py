"""Repositories that Argo CD syncs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .kit import synced, workload

if TYPE_CHECKING:
    from tests.conftest import Repo


@pytest.fixture
def two(empty: Repo) -> Repo:
    """A rendered repository that Argo CD syncs: the workload a of team a, and b in another namespace."""
    synced(empty)
    workload(empty)
    workload(empty, "b", namespace="default")
    empty.run("render")
    return empty
