"""Random losses of slices: a rate and a seed of a TPUCluster become times, equal on every machine."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.rehearse.model.arrivals import Distribution, drawn, lasting, mean_gap, validate_duration
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


class Losses(Struct, frozen=True):
    """How the slices of a pool are lost."""

    pool: str
    rate: str
    """As written: `8/d`, for each slice."""
    duration: Distribution
    """How long a slice is away."""
    seed: int

    @property
    def gap(self) -> float:
        """Return the mean seconds for which a slice exists."""
        return mean_gap(self.rate)

    def of_slice(self, index: int) -> Iterator[tuple[float, float]]:
        """Yield when a slice of the pool is lost and when it returns, without end.

        Times are whole milliseconds: the last digits of a logarithm may differ between machines.
        """
        back = 0.0
        for number in itertools.count(1):
            lost = back - self.gap * math.log1p(-drawn(self.seed, self.pool, index, "loss", number))
            back = lost + lasting(self.duration, drawn(self.seed, self.pool, index, "return", number))
            yield round(lost, 3), round(back, 3)


def losses_of(spec: Mapping[str, Any], repetition: int = 0) -> tuple[Losses, ...]:
    """Return the random losses in the spec of a TPUCluster; each repetition has a seed of its own."""
    entries = spec.get("rehearsal", {}).get("losses", ())
    return tuple(Losses(**{**entry, "seed": entry.get("seed", 1) + repetition}) for entry in entries)


def validate_losses(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of the losses of a TPUCluster that its schema accepts."""
    source, pools = site.cluster.source, [pool.name for pool in site.cluster.tpu_pools]
    names: list[str] = []
    for index, entry in enumerate(losses_of(site.cluster.spec)):
        path: Path = ("spec", "rehearsal", "losses", index)
        if entry.pool not in pools or entry.pool in names:
            flaw = "has losses above" if entry.pool in names else "is not a TPU pool of this cluster"
            hint = "write one entry for each pool" if entry.pool in names else did_you_mean(entry.pool, pools)
            yield source.problem("REH027", (*path, "pool"), f"'{entry.pool}' {flaw}", hint)
        yield from validate_duration(source, (*path, "duration"), entry.duration, "REH027")
        names.append(entry.pool)
