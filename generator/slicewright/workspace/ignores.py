"""The file in which a repository says which problems are none there, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.silence import FILE_NAME, Ignores, read_ignores
from slicewright.core.problem import Problem
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def read_ignore_file(root: Path, known: Callable[[], Iterable[str]]) -> Ignores:
    """Return the entries of a folder's ignore file; none where there is no file.

    `known` returns the ids of all rules, for hints about misspelt ones.
    """
    path = root / FILE_NAME
    if not path.exists():
        return Ignores()
    text = load(path, FILE_NAME)
    if isinstance(text, Problem):
        return Ignores(problems=(text,))
    return read_ignores(text, FILE_NAME, known())
