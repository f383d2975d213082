"""What goes wrong with a test bed, as an exception that carries the problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.core.problem import Problem


class BedError(Exception):
    """The test bed broke, or is not what was asked for; `problem` says how."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text())
        self.problem = problem
