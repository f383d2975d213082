"""What chips did and what that cost, as tables: of one rehearsal, or of variants below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.rehearse.model.prices import PARTS, unpriced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slicewright.kubernetes.types import Object
    from slicewright.rehearse.report.report import Report

_HEAD = ("used", "lost by restarts", "in startup", "idle")


class Table(Struct, frozen=True):
    """A table, with its title above it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def spending(measured: Sequence[Object], *, named: bool = False) -> Iterator[Table]:
    """Yield chip-hours and, where the user gives prices, what they cost; by pool, then in order.

    With `named` the name of each record, which is a variant, is last in its rows. Chips of different pools
    are not added up; amounts are, but for those of pools that have no price, which are named.
    """
    more: tuple[str, ...] = ()
    behind: list[tuple[str, ...]] = [() for _ in measured]
    if named:
        more = ("variant",)
        behind = [(record["name"],) for record in measured]
    pools = dict.fromkeys(row["pool"] for record in measured for row in record["chipHours"])
    hours = tuple(
        (pool, f"{row['available']:,.1f}", *(f"{row[part]:,.1f}" for part in PARTS), *name)
        for pool in pools
        for record, name in zip(measured, behind, strict=True)
        for row in record["chipHours"]
        if row["pool"] == pool
    )
    if hours:
        yield Table("chip-hours", ("pool", "available", *_HEAD, *more), hours)
    priced = [(record["cost"], name) for record, name in zip(measured, behind, strict=True) if record["cost"]]
    rows = [
        (pool, _price(row, cost), *_amounts(row, cost), *name)
        for pool in pools
        for cost, name in priced
        for row in cost["pools"]
        if row["pool"] == pool
    ]
    if len(pools) > 1:
        rows += [(_in_all(cost), "-", *_amounts(cost["total"], cost), *name) for cost, name in priced]
    if rows:
        yield Table("cost", ("pool", "a chip-hour", *_HEAD, *more), tuple(rows))


def spending_of(report: Report) -> Iterator[Table]:
    """Yield the tables of one rehearsal, where something was lost or the user gives prices."""
    measures = report.measures()
    if measures["cost"] or any(row["lost"] or row["startup"] for row in measures["chipHours"]):
        yield from spending([measures])


def _in_all(cost: Object) -> str:
    missing = ", ".join(unpriced(cost))
    return f"all but {missing}" if missing else "all"


def _price(row: Object, cost: Object) -> str:
    if row["perChipHour"] is None:
        return f"no price for {row['accelerator']}, {row['provisioning']}"
    return f"{row['perChipHour']:,g} {cost['currency']}"


def _amounts(row: Object, cost: Object) -> Iterator[str]:
    yield from ("?" if row[part] is None else f"{row[part]:,.2f} {cost['currency']}" for part in PARTS)
