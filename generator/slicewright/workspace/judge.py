"""Check a rendering by the rules of `validate`, and leave out the problems that the repository ignores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slicewright.core.problem import Problem, errors
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from slicewright.core.check.suppress import Ignores
    from slicewright.core.render.changes import Rendering
    from slicewright.workspace.repository_reader import Checkout


def judged(checkout: Checkout, rendering: Rendering) -> Rendering:
    """Return a rendering with the problems of its new runs; where one is an error, nothing is written.

    Warnings that the repository ignores are left out. Where no run begins and no cluster changes, no rule is
    imported.
    """
    if not rendering.begun and not rendering.platform:
        return replace(rendering, problems=acknowledged(checkout, rendering.problems))
    from slicewright.core.check import judge  # noqa: PLC0415 - only where there is something to judge
    from slicewright.workspace.rules import added  # noqa: PLC0415

    ignored = read_ignore_file(checkout.root, tuple).entries
    rendering = replace(rendering, problems=(*rendering.problems, *added().problems))
    return judge.judged(rendering, checkout.repository, checkout.existing, ignored, added().rules)


def acknowledged(checkout: Checkout, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems of an input without the warnings that the repository ignores."""
    if len(errors(problems)) == len(problems):
        return problems
    from slicewright.core.check import suppress  # noqa: PLC0415 - only where there is a warning

    ignored = read_ignore_file(checkout.root, tuple).entries
    return suppress.acknowledged(problems, checkout.repository.sources, ignored)


def read_ignore_file(root: Path, known: Callable[[], Iterable[str]]) -> Ignores:
    """Return the entries of a folder's ignore file; none where there is no file.

    `known` returns the ids of all rules, for hints about misspelt ones.
    """
    from slicewright.core.check.suppress import FILE_NAME, Ignores, read_ignores  # noqa: PLC0415 - as above

    path = root / FILE_NAME
    if not path.exists():
        return Ignores()
    text = read_file(path, FILE_NAME)
    if isinstance(text, Problem):
        return Ignores(problems=(text,))
    return read_ignores(text, FILE_NAME, known())
