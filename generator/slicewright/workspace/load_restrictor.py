"""Whether a repository builds its kustomizations with files outside of their folders."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.core.check.passed_by import is_of_packages
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.examine import Unit
    from slicewright.core.problem import Problem

_FLAG = "--load-restrictor LoadRestrictionsNone"
_LIFTED = re.compile(
    r"LoadRestrictionsNone|load[-_]restrictor['\", =]+none\b|kustomize\.toolkit\.fluxcd\.io/", re.IGNORECASE
)
"""The option in a script, a workflow, a setting of Argo CD or Skaffold, or a program; and Flux, which never
has the restriction."""
_MOST = 20_000
"""Files that are read; without git nobody knows where a repository begins."""


def is_lifted(unit: Unit) -> bool:
    """Tell whether something in the repository of a unit builds without the restriction."""
    above = (unit.path, *map(str, Path(unit.path).parents))
    without_git = unit.path if Path(unit.name).is_absolute() else unit.path.removesuffix(unit.name)
    return _is_lifted_in(next((place for place in above if os.path.lexists(f"{place}/.git")), without_git))


@cache
def _is_lifted_in(repository: str) -> bool:
    texts = (read_file(path, path) for path in islice(_files(repository), _MOST))
    return any(isinstance(text, str) and _LIFTED.search(text) for text in texts)


def _files(repository: str) -> Iterator[str]:
    for base, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name != ".git" and not is_of_packages(name, names)]
        yield from (f"{base}/{name}" for name in names)


def of_restriction(problem: Problem) -> Problem:
    """Return a problem of a build in such a repository: a note if the restriction is what is wrong."""
    if problem.id != "KUS004" and not (problem.id == "KUS011" and " security; " in problem.message):
        return problem
    hint = f"build it with kustomize build {_FLAG}, and check what that writes"
    return replace(problem, severity="note", hint=hint)
