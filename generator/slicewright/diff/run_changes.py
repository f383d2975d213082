"""Runs that start, end or change between two trees, and why as far as the trees say."""

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.diff.object_changes import diff_of
from slicewright.diff.pruning import Pruning
from slicewright.diff.queue_changes import DRAIN, StopPolicies
from slicewright.diff.tree_version import Key, Objects, Place, Runs, TreeObject, runs_of
from slicewright.document.document import same
from slicewright.kubernetes.labels import RUN, SWEEP

Effect = Literal["starts", "ends", "changes", "stays", "stops", "resumes"]
"""`stays`: it goes on although its object leaves the tree. `stops`: its queue evicts it. `resumes`: it waits
in a queue that evicted it, and that admits again."""
_ORDER: tuple[Effect, ...] = ("ends", "stays", "stops", "starts", "resumes", "changes")
_GONE = "the workload is gone"
_NO_ENTRY = "the sweep no longer has this entry"


class RunChange(Struct, frozen=True):
    """What happens to one run. The run of a Fixed workload changes in place."""

    effect: Effect
    cluster: str
    namespace: str
    workload: str
    name: str
    kind: str
    naming: Literal["Hashed", "Fixed"]
    chips: int
    reason: str
    replaces: str = ""
    """The run whose place it takes."""
    diff: str = ""
    """Unified diff from the run whose place it takes."""
    sweep: str = ""
    """Of which it is an entry; empty for others."""


class Context(Struct, frozen=True):
    """What has to be known to say what happens to runs."""

    touched: Collection[str]
    """The folders in which some object differs."""
    pruning: Pruning
    staying: Mapping[Key, str]
    """What stays in its cluster although nothing syncs it there any more, and why."""
    stops: StopPolicies
    chips_of: Callable[[TreeObject], int]


def changes(before: Objects, after: Objects, context: Context) -> Iterator[RunChange]:
    """Yield the changes of runs by workload; those that end come before those that start."""
    old, new = runs_of(before), runs_of(after)
    sweeps = {
        (*place[:2], run.labels[SWEEP])
        for place, runs in new.items()
        for run in runs.values()
        if SWEEP in run.labels
    }
    for place in sorted(old.keys() | new.keys()):
        of_workload = _of_workload(place, old, new, context, sweeps)
        yield from sorted(of_workload, key=lambda change: _ORDER.index(change.effect))


def going_on(before: Objects, after: Objects, staying: Container[Key]) -> dict[Key, TreeObject]:
    """Return the runs that are in the same cluster before and afterwards."""
    pairs = (pair for runs in runs_of(before).values() for pair in runs.items())
    return {key: run for key, run in pairs if (key in after) != (key in staying)}


def _of_workload(
    place: Place, before: Runs, after: Runs, context: Context, sweeps: Container[tuple[str, ...]]
) -> Iterator[RunChange]:
    ours, theirs = before.get(place, {}), after.get(place, {})
    left = {key: run for key, run in ours.items() if key not in theirs}
    ended = {key: run for key, run in left.items() if key not in context.staying}
    started = {key: run for key, run in theirs.items() if key not in ours}
    for key in sorted(left):
        if key in ended:
            reason = _why_it_ends(place, started, theirs, after)
            if reason == _GONE and (*place[:2], left[key].labels.get(SWEEP)) in sweeps:
                reason = _NO_ENTRY
            yield _change("ends", place, left[key], reason, context)
        else:
            yield _change("stays", place, left[key], context.staying[key], context)
            yield from _stopped(place, left[key], context)
    for key in sorted(started):
        reason = _why_it_starts(place, started[key], ended, ours, before)
        stop = context.stops.stop(started[key])[1]
        waits = f"; it waits, for {stop.by} has stopPolicy {stop.policy}" if stop.rank else ""
        change = _change("starts", place, started[key], f"{reason}{waits}", context)
        yield _beside_the_old(change, started, ended)
    for key in sorted(ours.keys() & theirs.keys()):
        yield from _remaining(place, key, ours[key], theirs[key], context)


def _remaining(
    place: Place, key: Key, old: TreeObject, new: TreeObject, context: Context
) -> Iterator[RunChange]:
    """Yield what happens to a run that is in both trees."""
    taken, again = context.pruning.taken(old)
    if taken:
        yield _change("ends", place, old, taken, context)
        if again:
            yield _change("starts", place, new, again, context)
    elif key in context.staying:
        kind = context.pruning.elsewhere(new.folder.path)
        yield _change("stays", place, old, context.staying[key], context)
        yield _change("starts", place, new, f"its {kind} makes it in another cluster now", context)
    else:
        reason = _why_it_changes(old, new, context.touched)
        if reason:
            yield _change("changes", place, new, reason, context)
        yield from _stopped(place, new, context)


def _stopped(place: Place, run: TreeObject, context: Context) -> Iterator[RunChange]:
    """Yield the change of a run in both trees that its queue evicts, or no longer evicts."""
    before, after = context.stops.stop(run)
    if after.policy == DRAIN != before.policy:
        reason = f"{after.by} is set to {DRAIN}: the run starts again when the queue admits again"
        yield _change("stops", place, run, reason, context)
    elif before.policy == DRAIN and not after.rank:
        reason = f"{before.by} had evicted it, and admits again as quota allows"
        yield _change("resumes", place, run, reason, context)


def _change(effect: Effect, place: Place, run: TreeObject, reason: str, context: Context) -> RunChange:
    naming: Literal["Hashed", "Fixed"] = "Hashed" if RUN in run.labels else "Fixed"
    sweep, chips = str(run.labels.get(SWEEP, "")), context.chips_of(run)
    return RunChange(effect, *place, run.name, run.kind, naming, chips, reason, sweep=sweep)


def _beside_the_old(change: RunChange, started: Objects, ended: Objects) -> RunChange:
    """Return the change with its difference to the replaced run, if exactly one run replaces one."""
    if len(started) != 1 or len(ended) != 1:
        return change
    (old,), (new,) = ended.values(), started.values()
    label = f"{change.cluster}/{change.namespace}/{change.workload}"
    return replace(change, replaces=old.name, diff=diff_of(label, old, new))


def _why_it_ends(place: Place, started: Objects, staying: Objects, after: Runs) -> str:
    if started:
        return f"{_names(started)} takes its place"
    if staying:
        return f"its list no longer names it; {_names(staying)} continues"
    cluster, *workload = place
    if any(other[1:] == tuple(workload) for other in after):
        return "the workload left the cluster"
    if not any(other[0] == cluster for other in after):
        return "the last workload of the cluster is gone"
    return _GONE


def _why_it_starts(place: Place, run: TreeObject, ended: Objects, earlier: Objects, before: Runs) -> str:
    for other in ended.values():
        if _is_again(other, run):
            return f"{other.name} again, without a change"
    if ended:
        return f"takes the place of {_names(ended)}"
    if earlier:
        return f"beside {_names(earlier)}, which continues"
    if any(other[1:] == place[1:] for other in before):
        return "the workload is new on this cluster"
    return "the workload is new"


def _is_again(old: TreeObject, new: TreeObject) -> bool:
    """Tell whether two runs are the same but for their ids."""
    earlier, later = str(old.labels.get(RUN, "")), str(new.labels.get(RUN, ""))
    return bool(earlier and later) and same(_renamed(old.data, earlier, later), new.data)


def _renamed(value: Any, earlier: str, later: str) -> Any:
    """Return plain data with a text in its texts replaced by another."""
    if isinstance(value, dict):
        return {key: _renamed(item, earlier, later) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, earlier, later) for item in value]
    return value.replace(earlier, later) if isinstance(value, str) else value


def _why_it_changes(old: TreeObject, new: TreeObject, touched: Collection[str]) -> str:
    if RUN not in new.labels:
        return "it is Fixed: the running object changes" if new.folder.path in touched else ""
    is_same = old.data is new.data or same(old.data, new.data)
    return "" if is_same else "its frozen file was changed, which no render does"


def _names(objects: Objects) -> str:
    return ", ".join(sorted(f"{item.kind} {item.name}" for item in objects.values()))
