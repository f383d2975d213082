"""Whether a repository builds its kustomizations with files outside of their folders."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.workspace.repository import files_of, repository_of
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from slicewright.core.check.examine import Unit
    from slicewright.core.problem import Problem

_FLAG = "--load-restrictor LoadRestrictionsNone"
_LIFTED = re.compile(
    r"LoadRestrictionsNone|load[-_]restrictor['\", =]+none\b|kustomize\.toolkit\.fluxcd\.io/", re.IGNORECASE
)
"""The option in a script, a workflow, a setting of Argo CD or Skaffold, or a program; and Flux, which never
has the restriction."""


def is_lifted(unit: Unit) -> bool:
    """Tell whether something in the repository of a unit builds without the restriction."""
    return _is_lifted_in(repository_of(unit))


@cache
def _is_lifted_in(repository: str) -> bool:
    texts = (read_file(path, path) for path in files_of(repository))
    return any(isinstance(text, str) and _LIFTED.search(text) for text in texts)


def of_restriction(problem: Problem) -> Problem:
    """Return a problem of a build in such a repository: a note if the restriction is what is wrong."""
    if problem.id != "KUS004" and not (problem.id == "KUS011" and " security; " in problem.message):
        return problem
    hint = f"build it with kustomize build {_FLAG}, and check what that writes"
    return replace(problem, severity="note", hint=hint)
