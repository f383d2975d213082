"""The quota of queues and cohorts, as Kueue counts it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slicewright.core.check.quota import most
from slicewright.core.kubernetes.quantity import is_limited, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.quota import Node, Quotas


_MEBI, _GIBI = Fraction(2**20), Fraction(2**30)


@dataclass(frozen=True, slots=True)
class Share:
    """What a queue (or a cohort) has of one resource of a flavor; None is no limit, or a number not known."""

    flavor: str
    resource: str
    nominal: Fraction
    borrowing_limit: Fraction | None
    lending_limit: Fraction | None
    borrowable: Fraction | None
    """With nothing else running; None for a cohort, which runs nothing."""
    lendable: Fraction
    total: Fraction | None
    """The most that a queue can ever get; None for a cohort."""

    def record(self) -> dict[str, Any]:
        """Return the JSON form: amounts as Kubernetes quantities."""
        return {
            "flavor": self.flavor,
            "resource": self.resource,
            "nominal": said(self.nominal),
            "borrowingLimit": said(self.borrowing_limit),
            "lendingLimit": said(self.lending_limit),
            "borrowable": said(self.borrowable),
            "lendable": said(self.lendable),
            "total": said(self.total),
        }


@dataclass(frozen=True, slots=True)
class Holder:
    """A ClusterQueue or a Cohort with its quota."""

    name: str
    cohort: str
    """The cohort of a queue, the parent of a cohort."""
    shares: tuple[Share, ...]
    local_queues: tuple[str, ...] = ()
    """`namespace/name` of the LocalQueues that feed a queue."""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "cohort": self.cohort,
            "localQueues": list(self.local_queues),
            "quota": [share.record() for share in self.shares],
        }


def said(value: Fraction | None) -> str | None:
    """Return an amount as a quantity; None where there is none, or where nobody knows it."""
    return None if value is None or not is_limited(value) else plain(value)


def shown(resource: str, value: Fraction | None) -> str:
    """Return an amount as people read it: memory in Gi or Mi, as messages have it; nothing if not known."""
    if value is None or not is_limited(value):
        return ""
    if resource != "memory" or not value:
        return plain(value)
    unit, suffix = (_GIBI, "Gi") if value >= _GIBI else (_MEBI, "Mi")
    return f"{plain(round(value / unit, 1))}{suffix}"


def queues(known: Quotas) -> tuple[Holder, ...]:
    """Return the ClusterQueues in the order in which they are declared."""
    return tuple(_queue(known, queue) for queue in known.queues.values())


def cohorts(known: Quotas) -> tuple[Holder, ...]:
    """Return the Cohorts in the order in which they are declared."""
    return tuple(
        Holder(cohort.name, cohort.parent, tuple(_shares(known, cohort, is_queue=False)))
        for cohort in known.cohorts.values()
    )


def _queue(known: Quotas, queue: Node) -> Holder:
    local = tuple(
        f"{namespace}/{name}" for (namespace, name), own in known.local.items() if own == queue.name
    )
    return Holder(queue.name, queue.parent, tuple(_shares(known, queue, is_queue=True)), local)


def _shares(known: Quotas, node: Node, *, is_queue: bool) -> Iterator[Share]:
    for (flavor, resource), cell in node.cells.items():
        lent = cell.nominal if cell.lending is None else min(cell.nominal, cell.lending)
        best = most(known, node, (flavor, resource)) if is_queue else None
        yield Share(
            flavor=flavor,
            resource=resource,
            nominal=cell.nominal,
            borrowing_limit=cell.borrowing,
            lending_limit=cell.lending,
            borrowable=best.total - best.nominal if best and is_limited(best.nominal) else None,
            lendable=lent if node.parent else Fraction(0),
            total=best.total if best else None,
        )
