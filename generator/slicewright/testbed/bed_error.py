"""What goes wrong with a test bed, as exceptions; they need no package of the extra `testbed`."""

import sys

from slicewright.cluster.api.api_error import AccessError
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import in_checkout


class BedError(AccessError):
    """The test bed broke, or is not what was asked for; `problem` says how."""


def missing_package(package: str | None, feature: str) -> Problem:
    """Return the problem that a package is not installed, without which something does not work."""
    hint = (
        "run 'make tools', which also builds the programs of the test bed: about 6 minutes, once"
        if in_checkout()
        else f"run {sys.executable} -m pip install {package}"
    )
    return Problem("BED008", f"{feature} needs the Python package {package}", hint)
