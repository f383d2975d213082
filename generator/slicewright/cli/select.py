"""Names on the command line: `name` or `namespace/name`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.intent.workload import Workload


def workloads(names: Iterable[str], known: Iterable[Workload]) -> frozenset[str] | None:
    """Return the keys of the workloads that are named, None for no name at all.

    An unknown name is a usage error.
    """
    pool = {workload.key for workload in known}
    chosen: set[str] = set()
    for name in names:
        found = {key for key in pool if name in (key, key.partition("/")[2])}
        if not found:
            hint = did_you_mean(name, [key.removeprefix("default/") for key in pool])
            raise click.UsageError(f"there is no workload '{name}'; {hint}".rstrip("; "))
        chosen |= found
    return frozenset(chosen) if chosen else None
