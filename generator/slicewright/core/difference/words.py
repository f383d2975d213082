"""A difference in words: what happens in each cluster, and below it the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.difference.runs import KINDS
from slicewright.core.plan.keys import TPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.difference.compare import Difference
    from slicewright.core.difference.queues import Asked, QuotaMove

_SIGNS = {"starts": "+", "ends": "-", "changes": "~", "added": "+", "removed": "-", "changed": "~"}
_LIMITS = {"nominalQuota": "quota", "borrowingLimit": "borrowing limit", "lendingLimit": "lending limit"}


def words(difference: Difference) -> str:
    """Return the whole difference as text, empty lines between its parts."""
    if not (difference.objects or difference.provision):
        return f"nothing differs for any cluster between {difference.before} and {difference.after}\n"
    parts = ["\n".join(_cluster(difference, cluster)) + "\n" for cluster in difference.clusters]
    parts.append(_summary(difference) + "\n")
    replacing = [run for run in difference.runs if run.replaces]
    shown = {(run.cluster, run.namespace, name) for run in replacing for name in (run.name, run.replaces)}
    parts += [run.diff for run in replacing]
    parts += [
        change.diff
        for change in difference.objects
        if change.kind not in KINDS or (change.cluster, change.namespace, change.name) not in shown
    ]
    parts += [file.diff for file in difference.provision]
    return "\n".join(parts)


def _cluster(difference: Difference, cluster: str) -> Iterator[str]:
    yield f"cluster {cluster}"
    for run in difference.runs:
        if run.cluster == cluster:
            what = f"{run.namespace}/{run.name} {run.effect}, {_count(run.chips, 'chip')}"
            yield f"  {_SIGNS[run.effect]} {what}: {run.reason}"
    for change in difference.platform:
        if change.cluster == cluster:
            name = "/".join(filter(None, (change.namespace, change.name)))
            what = "leaves the tree; it stays in the cluster" if change.stays else change.effect
            yield f"  {_SIGNS[change.effect]} {change.kind} {name} {what}"
    for move in difference.quotas:
        if move.cluster == cluster:
            yield f"  ~ {_quota(move)}"
    for file in difference.provision:
        if file.cluster == cluster:
            yield f"  {_SIGNS[file.effect]} {file.path} {file.effect}: it takes effect when somebody runs it"
    yield from _chips(difference, cluster)


def _quota(move: QuotaMove) -> str:
    unit = " chips" if move.resource == TPU else f" {move.resource}"
    before, after = (value if value is not None else "none" for value in (move.before, move.after))
    return f"{move.kind} {move.queue}, flavor {move.flavor}: {_LIMITS[move.limit]} {before} -> {after}{unit}"


def _chips(difference: Difference, cluster: str) -> Iterator[str]:
    before, after = difference.chips(cluster)
    moved = [entry for entry in difference.asked if entry.cluster == cluster and entry.before != entry.after]
    if moved:
        yield f"  chips asked for: {before:,} -> {after:,}"
    for entry in moved:
        yield f"    {_queue(entry)}: {entry.before:,} -> {entry.after:,}"


def _queue(entry: Asked) -> str:
    if not entry.queue:
        return f"{entry.namespace}, without a queue"
    behind = f" ({entry.cluster_queue})" if entry.cluster_queue else ""
    return f"{entry.namespace}/{entry.queue}{behind}"


def _summary(difference: Difference) -> str:
    effects = [run.effect for run in difference.runs]
    happens = ((effects.count(effect), effect) for effect in ("starts", "ends", "changes"))
    runs = ", ".join(f"{_count(number, 'run')} {_verb(effect, number)}" for number, effect in happens)
    number = len(difference.objects)
    objects = f"{_count(number, 'object')} of {_clusters(difference)} {_verb('differs', number)}"
    return f"{difference.before} -> {difference.after}: {runs}; {objects}"


def _clusters(difference: Difference) -> str:
    return _count(len({change.cluster for change in difference.objects}), "cluster")


def _verb(effect: str, number: int) -> str:
    return effect if number == 1 else effect[:-1]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
