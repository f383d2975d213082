"""What the offline quota check says of the runs that a rehearsal is about to play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.item import Item
from slicewright.core.check.rules import fit
from slicewright.core.check.world import World
from slicewright.core.rehearsal.script import run_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.catalogue.catalogue import Catalogue

Object = dict[str, Any]

_NEVER = ("FIT101", "FIT102", "FIT103")
"""The rules that say of a workload that it can never be admitted."""


def never_fits(runs: Iterable[Object], platform: Iterable[Object], catalogue: Catalogue) -> dict[str, str]:
    """Return why runs can never be admitted by the queues of a platform, for those that cannot."""
    waiting = [Item(item, "") for item in runs]
    world = World([*(Item(item, "") for item in platform), *waiting], catalogue)
    rules = [rule for rule in fit.RULES if rule.id in _NEVER]
    found: dict[str, str] = {}
    for item in waiting:
        for rule in rules:
            for finding in rule.check(item, world) if item.kind in rule.kinds else ():
                found.setdefault(run_key(item.data), f"{rule.id} {finding.message}")
    return found


def advice(said: str) -> str:
    """Return what to write instead, about what `never_fits` said of a run."""
    return {rule.id: rule.hint for rule in fit.RULES}.get(said.partition(" ")[0], "")
