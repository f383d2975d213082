"""The cost of chip-hours at the user's prices. slicewright has no prices of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.kubernetes.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.intent.source import Source
    from slicewright.intent.validate import Schemas
    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

SCHEMA = "slicewright/prices.json"
PARTS = ("used", "lost", "startup", "idle")
"""The parts of a pool's chip-hours that cost something."""


class Prices(Struct, frozen=True):
    """Prices of a chip for an hour."""

    currency: str
    of: Mapping[tuple[str, str], float]
    """Prices by accelerator (`v5e`) and provisioning (`Spot`)."""


class PoolPrice(Struct, frozen=True):
    """What a chip of a pool costs for an hour; None if that is not known."""

    accelerator: str
    provisioning: str
    per_chip_hour: float | None


class PoolPrices(Struct, frozen=True):
    """The prices of the TPU pools of a cluster."""

    currency: str
    of: Mapping[str, PoolPrice]


def read_prices(source: Source, schemas: Schemas, catalogue: Catalogue) -> Prices | tuple[Problem, ...]:
    """Return the prices of a document, or its problems."""
    problems = tuple(source.placed(problem) for problem in schemas.problems(SCHEMA, source.data))
    if problems := problems or tuple(_unclear(source, catalogue)):
        return problems
    entries = source.data["prices"]
    return Prices(source.data["currency"], {_key(entry): float(entry["perChipHour"]) for entry in entries})


def _key(entry: Object) -> tuple[str, str]:
    return entry["accelerator"], entry.get("provisioning", "OnDemand")


def _unclear(source: Source, catalogue: Catalogue) -> Iterator[Problem]:
    known: set[tuple[str, str]] = set()
    for index, entry in enumerate(source.data["prices"]):
        key, path = _key(entry), ("prices", index, "accelerator")
        if key[0] not in catalogue.generations:
            hint = did_you_mean(key[0], catalogue.generations)
            yield source.problem("IN004", path, f"'accelerator' cannot be '{key[0]}'", hint)
        elif key in known:
            message = f"{key[0]}, {key[1]} has another price above"
            yield source.problem("IN006", path, message, "remove one of them")
        known.add(key)


def of_pools(prices: Prices, site: ResolvedCluster) -> PoolPrices:
    """Return the prices of the TPU pools of a cluster."""
    by_pool = {}
    for pool, shape in site.pools:
        way = "FlexStart" if pool.provisioning.is_flex_start else pool.provisioning.type
        by_pool[pool.name] = PoolPrice(shape.generation, way, prices.of.get((shape.generation, way)))
    return PoolPrices(prices.currency, by_pool)


def cost(chip_hours: Iterable[Object], prices: PoolPrices) -> Object:
    """Return what the chip-hours of pools cost, by pool and in all; None for those that have no price.

    `lost` and `startup` are parts of `used`. The total is that of the pools that have a price.
    """
    pools = []
    for row in chip_hours:
        price = prices.of[row["pool"]]
        each = price.per_chip_hour
        pools.append(
            {
                "pool": row["pool"],
                "accelerator": price.accelerator,
                "provisioning": price.provisioning,
                "perChipHour": each,
                **{part: None if each is None else round(row[part] * each, 2) for part in PARTS},
            }
        )
    priced = [row for row in pools if row["perChipHour"] is not None]
    total = {part: round(sum(row[part] for row in priced), 2) if priced else None for part in PARTS}
    return {"currency": prices.currency, "pools": pools, "total": total}


def unpriced(priced: Object) -> list[str]:
    """Return the pools without a price, each with its accelerator and provisioning."""
    return [
        f"{row['pool']} ({row['accelerator']}, {row['provisioning']})"
        for row in priced["pools"]
        if row["perChipHour"] is None
    ]
