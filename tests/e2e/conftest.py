"""One bed for all tests: a cluster of processes, one of kind, or the one that a kubeconfig file names."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.testbed.kit import keeping_logs, say

from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Attached

from . import kit

NAMED = "SLICEWRIGHT_E2E_KUBECONFIG"
ON_KIND = bool(os.environ.get("SLICEWRIGHT_E2E_KIND"))

collect_ignore = [] if ON_KIND else ["kind"]


@pytest.fixture(scope="session")
def kind_cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Hold a cluster of kind, a `pytest_kind.KindCluster`, in place of the one that pytest-kind makes."""
    from .kind.cluster import export_logs, running  # noqa: PLC0415 - for kind only
    from .kind.settings import settings  # noqa: PLC0415

    with running(settings()) as cluster:
        yield cluster
        if request.session.testsfailed:
            say(request, f"logs of kind: {export_logs(cluster)}")


@pytest.fixture(scope="session")
def shared_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Hold the cluster that all tests share."""
    named = os.environ.get(NAMED)
    if not ON_KIND and not named:
        yield request.getfixturevalue("shared_cluster")
        return
    file = request.getfixturevalue("kind_cluster").kubeconfig_path if ON_KIND else Path(str(named))
    with keeping_logs(Attached(file), request) as bed:
        yield bed


@pytest.fixture(scope="session")
def not_ours(shared_bed: Bed) -> frozenset[str]:
    """Return what was there before the first test, which no test removes."""
    return frozenset(kit.identities(shared_bed))


@pytest.fixture
def bed(shared_bed: Bed, not_ours: frozenset[str]) -> Iterator[Bed]:
    """Hold the cluster for one test, without anything of another one."""
    yield shared_bed
    kit.clear(shared_bed, not_ours)
