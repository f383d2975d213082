"""Hold a rendering against the rules of `validate`, with the reasons of the repository for silence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slicewright.core.problem import errors

if TYPE_CHECKING:
    from slicewright.core.problem import Problem
    from slicewright.core.render.changes import Rendering
    from slicewright.workspace.read import Checkout


def judged(checkout: Checkout, rendering: Rendering) -> Rendering:
    """Return a rendering with what the rules say of its runs, and with nothing to write if that is an error.

    Warnings for which the repository gives a reason are left out. Where nothing begins and no cluster
    changes, nothing is asked, and no rule is imported.
    """
    if not rendering.begun and not rendering.platform:
        return replace(rendering, problems=acknowledged(checkout, rendering.problems))
    from slicewright.core.check import judge  # noqa: PLC0415 - only where there is something to judge
    from slicewright.workspace.ignores import read_ignore_file  # noqa: PLC0415
    from slicewright.workspace.rules import added  # noqa: PLC0415

    ignored = read_ignore_file(checkout.root, tuple).entries
    rendering = replace(rendering, problems=(*rendering.problems, *added().problems))
    return judge.judged(rendering, checkout.repository, checkout.existing, ignored, added().rules)


def acknowledged(checkout: Checkout, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems of an input but the warnings that the repository gives a reason for."""
    if len(errors(problems)) == len(problems):
        return problems
    from slicewright.core.check import silence  # noqa: PLC0415 - only where there is a warning
    from slicewright.workspace.ignores import read_ignore_file  # noqa: PLC0415

    ignored = read_ignore_file(checkout.root, tuple).entries
    return silence.acknowledged(problems, checkout.repository.sources, ignored)
