"""A difference in words: what happens in each cluster, and below it the objects."""

from collections import Counter
from collections.abc import Iterator

from slicewright.diff.compare import ControllerChange, Difference, Unrendered
from slicewright.diff.queue_changes import DRAIN, HOLD, Asked, QuotaMove, StopChange
from slicewright.diff.run_changes import Effect, RunChange
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.problem import counted
from slicewright.rendering.rendering import MOST_NAMED

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_HAPPENS: dict[Effect, tuple[str, str, str, str]] = {
    "starts": ("+", "starts", "run starts", "runs start"),
    "ends": ("-", "ends", "run ends", "runs end"),
    "changes": ("~", "changes", "run changes", "runs change"),
    "stays": ("!", "goes on", "run goes on outside of the tree", "runs go on outside of the tree"),
    "stops": ("-", "is evicted", "run is evicted", "runs are evicted"),
    "resumes": ("+", "may start again", "run may start again", "runs may start again"),
}
"""What happens to a run: its sign, its words, and how the last line counts one and many."""
_ALWAYS = frozenset({"starts", "ends", "changes"})
"""What the last line says also where it happens to no run."""
_LIMITS = {"nominalQuota": "quota", "borrowingLimit": "borrowing limit", "lendingLimit": "lending limit"}


def words(difference: Difference) -> str:
    """Return the whole difference as text, empty lines between its parts."""
    if not (difference.objects or difference.controllers or difference.provision):
        return f"nothing differs for any cluster between {difference.before} and {difference.after}\n"
    parts = ["\n".join(_cluster(difference, cluster)) + "\n" for cluster in difference.clusters]
    parts.append(_summary(difference) + "\n")
    replacing = [run for run in difference.runs if run.replaces]
    shown = {(run.cluster, run.namespace, name) for run in replacing for name in (run.name, run.replaces)}
    parts += [run.diff for run in replacing]
    parts += [
        change.diff
        for change in difference.objects
        if change.kind not in RUN_KINDS or (change.cluster, change.namespace, change.name) not in shown
    ]
    parts += [file.diff for file in difference.provision]
    return "\n".join(parts)


def waiting(unrendered: Unrendered) -> str:
    """Return the edits that are not rendered yet, and the effect of the next render, as text."""
    parts = ((unrendered.workloads, "workload"), (unrendered.clusters, "cluster"))
    counts = " and ".join(counted(len(names), noun) for names, noun in parts if names)
    state = "edited and not rendered yet" if unrendered.edited else "not as slicewright renders today"
    names = ", ".join((*unrendered.workloads, *unrendered.clusters))
    return f"{counts} {state}: {names}; slicewright render does this:\n\n{words(unrendered.difference)}"


def _cluster(difference: Difference, cluster: str) -> Iterator[str]:
    yield f"cluster {cluster}"
    yield from _runs([run for run in difference.runs if run.cluster == cluster])
    controllers = (change for change in difference.controllers if change.cluster == cluster)
    yield from (f"  {_controller(change)}" for change in controllers)
    left = (change for change in difference.objects if change.stays and not change.is_platform)
    beside = (change for change in left if change.kind not in RUN_KINDS)
    for change in (*difference.platform, *beside):
        if change.cluster == cluster:
            name = "/".join(filter(None, (change.namespace, change.name)))
            effect = "leaves the tree; it stays in the cluster" if change.stays else change.effect
            note = f": {change.note}" if change.note else ""
            yield f"  {_SIGNS[change.effect]} {change.kind} {name} {effect}{note}"
    yield from (f"  ~ {_quota(move)}" for move in difference.quotas if move.cluster == cluster)
    yield from (f"  ~ {_stop(stop)}" for stop in difference.stops if stop.cluster == cluster)
    for file in difference.provision:
        if file.cluster == cluster:
            is_gone = file.effect == "removed"
            means = "nothing in the cloud changes" if is_gone else "it takes effect when a person runs it"
            yield f"  {_SIGNS[file.effect]} {file.path} {file.effect}: {means}"
            if file.note:
                yield f"  ! {file.note}"
    yield from _chips(difference, cluster)


def _runs(runs: list[RunChange]) -> Iterator[str]:
    """Yield a line for each run, or one line for many runs of a sweep with the same change."""
    groups: dict[tuple[str, ...], list[RunChange]] = {}
    for run in runs:
        groups.setdefault((run.namespace, run.sweep or run.name, run.effect), []).append(run)
    for (namespace, sweep, _), alike in groups.items():
        sign, happens, _, many = _HAPPENS[alike[0].effect]
        if len(alike) > MOST_NAMED:
            reasons = {run.reason for run in alike}
            why = f": {reasons.pop()}" if len(reasons) == 1 else ""
            chips = counted(sum(run.chips for run in alike), "chip")
            yield f"  {sign} {namespace}/{sweep}: {len(alike)} {many}, {chips}{why}"
            continue
        for run in alike:
            yield f"  {sign} {namespace}/{run.name} {happens}, {counted(run.chips, 'chip')}: {run.reason}"


def _controller(change: ControllerChange) -> str:
    if change.before is None:
        return f"+ {change.controller} {change.after} is installed"
    if change.after is None:
        stays = "its definitions stay in the cluster, and with them the objects of its kinds"
        return f"- {change.controller} {change.before} leaves the tree; {stays}"
    means = (
        "its definitions, rights, webhooks and pod change; runs that are admitted go on, and none is "
        "created or admitted while it starts"
    )
    if change.before.split()[0] == change.after.split()[0] and change.before_digest == change.after_digest:
        means = "its pods restart; runs that are admitted go on, and none is created or admitted meanwhile"
    if change.before == change.after:
        first, second = (f"{digest}"[:12] for digest in (change.before_digest, change.after_digest))
        return f"~ {change.controller} {change.after} has other manifests, {first} -> {second}: {means}"
    return f"~ {change.controller} {change.before} -> {change.after}: {means}"


def _quota(move: QuotaMove) -> str:
    unit = " chips" if move.resource == TPU else f" {move.resource}"
    before, after = (value if value is not None else "none" for value in (move.before, move.after))
    return f"{move.kind} {move.queue}, flavor {move.flavor}: {_LIMITS[move.limit]} {before} -> {after}{unit}"


def _stop(stop: StopChange) -> str:
    name = "/".join(filter(None, (stop.namespace, stop.queue)))
    runs = f"{counted(stop.runs, 'run')} of {counted(stop.chips, 'chip')}"
    if stop.after == DRAIN:
        means = f"it admits nothing, and evicts what runs; {runs} behind it"
    elif stop.after == HOLD:
        means = f"it admits nothing more, and what is admitted goes on; {runs} behind it"
    else:
        means = f"what waits may start; {runs} behind it"
    return f"{stop.kind} {name}: stopPolicy {stop.before} -> {stop.after}: {means}"


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
    effects = Counter(run.effect for run in difference.runs)
    runs = ", ".join(
        f"{effects[effect]:,} {singular if effects[effect] == 1 else plural}"
        for effect, (_, _, singular, plural) in _HAPPENS.items()
        if effects[effect] or effect in _ALWAYS
    )
    objects = counted(len(difference.objects), "object")
    clusters = counted(len({change.cluster for change in difference.objects}), "cluster")
    verb = "differs" if len(difference.objects) == 1 else "differ"
    return f"{difference.before} -> {difference.after}: {runs}; {objects} of {clusters} {verb}"
