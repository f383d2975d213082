"""The Python packages of the test bed, which rendering and validation do not need."""

from __future__ import annotations

import sys

from slicewright.binaries.find import tools_folder
from slicewright.core.problem import Problem


def missing_package(package: str | None, what: str) -> Problem:
    """Return the problem that a package is not installed, without which something does not work."""
    hint = (
        "run 'make tools', which also builds the programs of the test bed: about 16 minutes, once"
        if tools_folder()
        else f"{sys.executable} -m pip install 'slicewright[testbed]'"
    )
    return Problem("BED008", f"{what} needs the Python package {package}", hint)
