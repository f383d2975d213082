"""What goes wrong with a test bed, as exceptions; they need no package of the extra `testbed`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.binaries.find import in_checkout, install_testbed
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object


class BedError(Exception):
    """The test bed broke, or is not what was asked for; `problem` says how."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text())
        self.problem = problem


class ApiError(Exception):
    """The API server said no; `reason` is its word for it, `code` the HTTP status."""

    def __init__(self, code: int, status: Object) -> None:
        self.code = code
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "") or f"HTTP status {code}"
        super().__init__(f"{code} {self.reason}: {self.message}")


def missing_package(package: str | None, what: str) -> Problem:
    """Return the problem that a package is not installed, without which something does not work."""
    hint = (
        "run 'make tools', which also builds the programs of the test bed: about 16 minutes, once"
        if in_checkout()
        else f"run {install_testbed()}"
    )
    return Problem("BED008", f"{what} needs the Python package {package}", hint)
