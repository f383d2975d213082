"""One bed for all tests: a cluster of processes, or the one that SLICEWRIGHT_E2E_KUBECONFIG names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.attached import Attached
from slicewright.testbed.cluster import Cluster

from . import kit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.testbed.bed import Bed

VARIABLE = "SLICEWRIGHT_E2E_KUBECONFIG"


@pytest.fixture(scope="session")
def shared_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Hold the cluster that all tests share; its logs are kept when a test failed."""
    named = os.environ.get(VARIABLE)
    with Attached(Path(named)) if named else Cluster() as bed:
        yield bed
        if request.session.testsfailed:
            bed.keep_logs()
    if bed.logs:
        reporter = request.config.pluginmanager.get_plugin("terminalreporter")
        if reporter:
            reporter.write_line(f"logs of the cluster: {bed.logs}")


@pytest.fixture
def bed(shared_bed: Bed) -> Iterator[Bed]:
    """Hold the cluster for one test, without anything of another one."""
    yield shared_bed
    kit.clear(shared_bed)
