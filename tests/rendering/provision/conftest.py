"""The machine that tests of scripts share."""

from pathlib import Path

import pytest

from .kit import RICH, Machine, machine, site


@pytest.fixture
def rich(tmp_path: Path) -> Machine:
    """Return a machine with the scripts of a cluster that has every kind of pool."""
    return machine(tmp_path, site(RICH))
