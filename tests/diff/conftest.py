"""A repository that `diff` looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .kit import JOB, cluster, commit

if TYPE_CHECKING:
    from tests.conftest import Repo


@pytest.fixture
def base(empty: Repo) -> Repo:
    """A repository with a cluster and the workloads a (Hashed) and f (Fixed), rendered and committed."""
    cluster(empty)
    empty.workload("a", JOB)
    empty.workload("f", f"{JOB.rstrip()}\n    naming: Fixed\n")
    empty.run("render")
    commit(empty)
    return empty
