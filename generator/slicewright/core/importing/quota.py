"""Resource groups to quotas of pools: slices where the numbers are whole, nodes where they fit a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.importing.flavors import quotas_of
from slicewright.core.importing.inventory import Note
from slicewright.core.kubernetes.labels import TPU
from slicewright.core.kubernetes.quantity import amount, canonical, whole
from slicewright.core.kubernetes.read import text
from slicewright.core.platform.quota import allocatable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.importing.pools import Pool, Pools
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path

_LIMITS = ("borrowingLimit", "lendingLimit")


def quota_of(holder: Object, pools: Pools, path: Path) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return the `quota` of a queue or a cohort at a path of the file, and what has no place in it."""
    found: list[dict[str, Any]] = []
    notes: list[Note] = []

    def note(message: str) -> None:
        notes.append(Note(message, path))

    for flavor, quotas in quotas_of(holder):
        chips = [quota for quota in quotas if quota.get("name") == TPU]
        others = {text(quota.get("name")): quota for quota in quotas if quota.get("name") != TPU}
        pool = pools.of_flavor(flavor, tpu=True)
        if chips and pool is None:
            note(f"quota of {chips[0].get('nominalQuota')} chips of flavor '{flavor}' has no pool: left out")
        elif chips and pool is not None:
            each = pool.chips
            found.append({"pool": pool.name, **_of_chips(chips[0], each)})
            if "nominalChips" in found[-1]:
                said = f"no whole number of slices, each of {each} chips; a managed platform would refuse it"
                notes.append(Note(said, (*path, "quota", len(found) - 1)))
        cpus = pools.of_flavor(flavor, tpu=False)
        if not others:
            continue
        if cpus is None:
            note(f"quota of {', '.join(sorted(others))} of flavor '{flavor}' has no CPU pool: left out")
            continue
        entry, is_whole = _of_resources(others, cpus)
        found.append(entry)
        if not is_whole:
            note(f"limits of {', '.join(sorted(others))} of flavor '{flavor}' are no whole nodes: left out")
    return found, notes


def _of_chips(quota: Mapping[str, Any], each: int) -> dict[str, int]:
    """Return a quota in slices, or in chips where a number of it is not a whole number of slices."""
    numbers = {key: whole(quota[key]) for key in ("nominalQuota", *_LIMITS) if quota.get(key) is not None}
    unit, name = each, "nominalSlices"
    if any(number % each for number in numbers.values()):
        unit, name = 1, "nominalChips"
    nominal = numbers.pop("nominalQuota", 0) // unit
    return {name: nominal, **{key: number // unit for key, number in numbers.items()}}


def _of_resources(quotas: Mapping[str, Mapping[str, Any]], pool: Pool) -> tuple[dict[str, Any], bool]:
    """Return a quota in nodes, or else by resource; and whether its limits could be said."""
    nominal = {name: canonical(quota.get("nominalQuota", 0)) for name, quota in sorted(quotas.items())}
    limits = {
        key: {name: canonical(quota[key]) for name, quota in quotas.items() if quota.get(key) is not None}
        for key in _LIMITS
    }
    counts = {key: _nodes(values, pool) for key, values in limits.items() if values}
    nodes = _nodes(nominal, pool)
    if nodes is None or None in counts.values():
        return {"pool": pool.name, "nominalQuota": nominal}, not counts
    return {"pool": pool.name, "nominalNodes": nodes, **counts}, True


def _nodes(amounts: Mapping[str, str], pool: Pool) -> int | None:
    """Return how many nodes have just these amounts, None where no whole number has."""
    cpu = amount(amounts.get("cpu"))
    if pool.machine is None or cpu is None:
        return None
    count = int(cpu * 1000) // pool.machine.allocatable_millicpus
    return count if allocatable(pool.machine, count) == amounts else None
