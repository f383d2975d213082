"""Names on the command line: `name` or `namespace/name`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.core.problem import did_you_mean, errors, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.render.repository import Repository


def workloads(names: Iterable[str], repository: Repository) -> frozenset[str] | None:
    """Return the keys of the workloads that are named, None for no name at all.

    A name that is unknown, or that several namespaces have, is a usage error. Where files of the repository
    are wrong, the name may stand in one of them: then these problems are shown instead.
    """
    pool = sorted({workload.key for workload in repository.workloads})
    chosen: set[str] = set()
    for name in names:
        found = [key for key in pool if name in (key, key.partition("/")[2])]
        if not found and errors(repository.problems):
            show.problems(in_order(repository.problems))
            sys.exit(1)
        if not found:
            near = did_you_mean(name, [key.removeprefix("default/") for key in pool])
            hint = near or ("" if pool else "there is none yet; slicewright new writes one")
            raise show.unknown(f"there is no workload '{name}'", hint)
        if len(found) > 1:
            raise show.unknown(f"'{name}' is the name of several workloads", f"one of: {', '.join(found)}")
        chosen.add(found[0])
    return frozenset(chosen) if chosen else None
