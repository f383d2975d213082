"""The machine that tests of scripts share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .kit import RICH, Machine, machine, site

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rich(tmp_path: Path) -> Machine:
    """Return a machine with the scripts of a cluster that has every kind of pool."""
    return machine(tmp_path, site(RICH))
