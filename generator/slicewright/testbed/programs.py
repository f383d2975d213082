"""The programs that a cluster runs: where they are, or which are missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slicewright.binaries.find import find
from slicewright.core.problem import Problem
from slicewright.testbed.errors import BedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTROL_PLANE = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "jobset",
    "kueue",
    "kwok",
)


def locate_programs(names: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return the paths of pinned programs by name. Raises BedError, which names all that are missing."""
    found: dict[str, Path] = {}
    missing: list[Problem] = []
    for name in names:
        answer = find(name, environ)
        if isinstance(answer, Problem):
            missing.append(answer)
        else:
            found[name] = answer
    if missing:
        first = missing[0]
        message = "; ".join(problem.message for problem in missing)
        raise BedError(Problem(first.id, message, first.hint))
    return found
