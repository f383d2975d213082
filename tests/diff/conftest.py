"""A repository that `diff` looks at."""

import pytest
from tests.conftest import Repo

from .kit import JOB, cluster, commit


@pytest.fixture
def base(empty: Repo) -> Repo:
    """A repository with a cluster and the workloads a (Hashed) and f (Fixed), rendered and committed."""
    cluster(empty)
    empty.workload("a", JOB)
    empty.workload("f", f"{JOB.rstrip()}\n    naming: Fixed\n")
    empty.run("render")
    commit(empty)
    return empty
