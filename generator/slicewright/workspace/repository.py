"""The repository of what is checked, and its files: what a build means may be written anywhere in it."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from slicewright.core.check.examine import Unit
from slicewright.core.check.passed_by import reason_of_folder

_MOST = 20_000
"""Files that are listed; without git nobody knows where a repository begins."""


def repository_of(unit: Unit) -> str:
    """Return the folder above a unit that has a `.git`, else the one in which the check began."""
    above = (unit.path, *map(str, Path(unit.path).parents))
    without_git = unit.path if Path(unit.name).is_absolute() else unit.path.removesuffix(unit.name)
    return next((place for place in above if os.path.lexists(f"{place}/.git")), without_git)


def files_of(repository: str) -> Iterator[str]:
    """Return the files of a repository, without those of packages."""
    return islice(_walked(repository), _MOST)


def _walked(repository: str) -> Iterator[str]:
    for base, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name != ".git" and not reason_of_folder(name, names)]
        yield from (f"{base}/{name}" for name in names)
