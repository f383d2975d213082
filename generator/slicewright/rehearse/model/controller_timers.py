"""The timers of controllers: what each one counts, from which field, and how it expires in a rehearsal.

Controllers count real time, and a rehearsal has its own clock. So a rehearsal computes the moment of each
timer on its own clock. At this moment it sets the field back from which the controller counts: the controller
finds that the time is over, and does what it does in a cluster. No timer expires too early by itself, because
the clock of a rehearsal is never slower than real time.

The page docs/reference/rehearse-timers.md lists these timers, and those that a rehearsal does not have.
"""

import calendar
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.fields import COMPLETED, NOTHING, Conditions, conditions, is_true, number
from slicewright.kubernetes.quantity import seconds
from slicewright.kubernetes.types import Object

WAIT_FOR_PODS = "waitForPodsReady.timeout"
RECOVERY = "waitForPodsReady.recoveryTimeout"
REQUEUE = "the wait before Kueue requeues it"
MAX_EXECUTION = "maxExecutionTimeSeconds"
DEADLINE = "activeDeadlineSeconds"
TTL = "ttlSecondsAfterFinished"
RETENTION = "objectRetentionPolicies"
_AFTER_THE_END = frozenset({TTL, RETENTION})
"""Timers that only delete what is over: a rehearsal does not wait for them."""

_TIMEOUT = 1800.0
"""Kueue 0.19's default of waitForPodsReady.timeout, which is on by default (config/v1beta2/defaults.go)."""
_DIGITS = re.compile(r"[0-9]+")


class Timer(Struct, frozen=True):
    """A timer of a controller that runs."""

    name: str
    mark: str
    """Identifies this start of the timer, such as the time from which it counts."""
    seconds: float
    condition: str = ""
    """The condition from whose lastTransitionTime it counts."""
    change: Object = {}
    """Else the merge patch that lets it expire."""
    subresource: str = "status"


class Spans(Struct, frozen=True):
    """Timers in Kueue's Configuration, in seconds; None is off."""

    start: float = _TIMEOUT
    """0 is unlimited: Kueue never evicts a run whose pods are not ready."""
    recovery: float = _TIMEOUT
    """0 is unlimited: Kueue never evicts a run that loses pods."""
    limits_requeues: bool = False
    """Whether Kueue deactivates a workload after some evictions."""
    after_finished: float | None = None
    after_deactivated: float | None = None


def read_spans(settings: Mapping[str, Any]) -> Spans:
    """Read Kueue's Configuration, with Kueue's defaults."""
    waits = settings.get("waitForPodsReady") or {}
    start = 0.0 if waits.get("enable") is False else _span(waits, "timeout") or _TIMEOUT
    recovery = _span(waits, "recoveryTimeout")
    kept = (settings.get("objectRetentionPolicies") or {}).get("workloads") or {}
    return Spans(
        start=start,
        recovery=start if recovery is None or not start else recovery,
        limits_requeues=(waits.get("requeuingStrategy") or {}).get("backoffLimitCount") is not None,
        after_finished=_span(kept, "afterFinished"),
        after_deactivated=_span(kept, "afterDeactivatedByKueue"),
    )


def _span(section: Mapping[str, Any], field: str) -> float | None:
    span = seconds(section.get(field))
    return None if span is None else float(span)


_USAGE = "admissionFairSharing"
_SAMPLED = {"usageHalfLifeTime": 0.0, "usageSamplingInterval": 1.0}
"""The spans of admission fair sharing, and the least of each in real seconds."""
_SAMPLING = {"usageSamplingInterval": "5m"}
"""Kueue's default (config/v1beta2/defaults.go)."""


def ages_usage(settings: Mapping[str, Any]) -> bool:
    """Tell whether Kueue lets past usage decay. It counts that in memory, so no time can be skipped."""
    return isinstance(settings.get(_USAGE), dict)


def scaled(settings: dict[str, Any], speed: float) -> dict[str, Any]:
    """Return Kueue's Configuration with the spans divided by the speed that no field of an object holds."""
    if not ages_usage(settings):
        return settings
    section = {**_SAMPLING, **settings[_USAGE]}
    for field, least in _SAMPLED.items():
        span = _span(section, field)
        if span:
            section[field] = f"{max(span / speed, least):.3f}s"
    return {**settings, _USAGE: section}


def timers_of(item: Object, spans: Spans, now: str) -> Iterator[Timer]:
    """Yield the timers that controllers have on an object as it is; `now` is the real time, as RFC 3339."""
    current = conditions(item.get("status", {}))
    match item["kind"]:
        case "Workload":
            yield from _of_workload(item, current, spans, now)
        case "Job":
            yield from _of_job(item, current)
        case "JobSet":
            span = number(item["spec"].get(TTL))
            if span is not None and (over := _over(current)):
                yield Timer(TTL, current[over].since, float(span), condition=over)
        case "Pod":
            yield from _of_pod(item)


def _of_workload(item: Object, current: Conditions, spans: Spans, now: str) -> Iterator[Timer]:
    """Yield Kueue's timers (pkg/controller/core/workload_controller.go)."""
    status, spec = item.get("status", {}), item.get("spec", {})
    if is_true(current, "Finished"):
        if spans.after_finished is not None:
            yield Timer(RETENTION, current["Finished"].since, spans.after_finished, condition="Finished")
        return
    is_evicted = is_true(current, "Evicted")
    if spec.get("active") is False:
        by_kueue = current.get("Evicted", NOTHING).reason.startswith("DeactivatedDueTo")
        if is_evicted and by_kueue and spans.after_deactivated is not None:
            yield Timer(RETENTION, current["Evicted"].since, spans.after_deactivated, condition="Evicted")
        return
    if at := (status.get("requeueState") or {}).get("requeueAt"):
        change: Object = {"status": {"requeueState": {"requeueAt": None}}}
        yield Timer(REQUEUE, at, max(0.0, _instant(at) - _instant(now)), change=change)
    if not is_true(current, "Admitted") or is_evicted:
        return
    if limit := number(spec.get("maximumExecutionTimeSeconds")):
        yield Timer(MAX_EXECUTION, "Admitted", float(limit), condition="Admitted")
    ready = current.get("PodsReady", NOTHING)
    if ready.status == "True":
        return
    if ready.reason == "WaitForRecovery":
        if spans.recovery:
            yield Timer(RECOVERY, ready.since, spans.recovery, condition="PodsReady")
    elif spans.start:
        yield Timer(WAIT_FOR_PODS, current["Admitted"].since, spans.start, condition="Admitted")


def _of_job(item: Object, current: Conditions) -> Iterator[Timer]:
    """Yield the timers of the Job controller, and of the controller that deletes what has finished."""
    spec, started = item["spec"], item.get("status", {}).get("startTime", "")
    if over := _over(current):
        span = number(spec.get(TTL))
        if span is not None:
            yield Timer(TTL, current[over].since, float(span), change={"spec": {TTL: 0}}, subresource="")
        return
    limit = number(spec.get(DEADLINE))
    if limit is not None and started and not spec.get("suspend"):
        yield Timer(DEADLINE, started, float(limit), change={"spec": {DEADLINE: 0}}, subresource="")


def _of_pod(item: Object) -> Iterator[Timer]:
    """Yield the timer of a kubelet. A simulated kubelet has no timers, so the rehearsal acts for it."""
    limit = number(item["spec"].get(DEADLINE))
    if limit is not None and item.get("status", {}).get("phase") == "Running":
        message = "Pod was active on the node longer than the specified deadline"
        change = {"status": {"phase": "Failed", "reason": "DeadlineExceeded", "message": message}}
        yield Timer(DEADLINE, item["metadata"]["uid"], float(limit), change=change)


def _instant(text: str) -> float:
    """Return the seconds of a time as Kubernetes writes it, in UTC and in whole seconds."""
    return float(calendar.timegm(tuple(map(int, _DIGITS.findall(text)[:6]))))


def _over(current: Conditions) -> str:
    return next((name for name in (*COMPLETED, "Failed") if is_true(current, name)), "")


class Running(Struct, frozen=True):
    """A timer with its place on the rehearsal's clock."""

    run: str
    item: Object
    """The last state of its object."""
    timer: Timer
    since: float
    due: float
    """When it expires; infinity once the rehearsal has let it expire."""
    is_told: bool = False
    """Whether its controller has to act now."""

    def expired(self, since: str) -> Object:
        """Return the merge patch with which the controller finds that the time is over.

        `since` is a moment of real time that is longer ago than the timer takes.
        """
        version = {"resourceVersion": self.item["metadata"].get("resourceVersion", "")}
        if not self.timer.condition:
            return {"metadata": version, **self.timer.change}
        entries = [
            {**entry, "lastTransitionTime": since} if entry["type"] == self.timer.condition else entry
            for entry in self.item["status"]["conditions"]
        ]
        return {"metadata": version, "status": {"conditions": entries}}


class ControllerTimers:
    """All timers of the controllers that run, on the rehearsal's clock."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.spans = read_spans(settings)
        self._running: dict[str, dict[str, Running]] = {}
        """By the uid of the object, and by name."""
        self._executed: dict[str, float] = {}
        """Seconds that Workloads were admitted before, which Kueue adds up, by UID."""

    def see(self, at: float, verb: str, item: Object, run: str, now: str) -> bool:
        """Take in the state of an object of a run, and tell whether a timer of it has begun or ended.

        `at` is on the rehearsal's clock, `now` the real time, as RFC 3339.
        """
        uid = item["metadata"].get("uid", "")
        before = self._running.pop(uid, {})
        running = {}
        timers = [] if verb == "DELETED" else timers_of(item, self.spans, now)
        for timer in timers:
            known = before.get(timer.name)
            if known and (known.timer.mark == timer.mark or known.due == math.inf):
                running[timer.name] = replace(known, item=item)
                continue
            past = self._executed.get(uid, 0.0) if timer.name == MAX_EXECUTION else 0.0
            running[timer.name] = Running(run, item, timer, at, at + timer.seconds - past)
        if MAX_EXECUTION in before and MAX_EXECUTION not in running:
            self._executed[uid] = self._executed.get(uid, 0.0) + at - before[MAX_EXECUTION].since
        if running:
            self._running[uid] = running
        return before.keys() != running.keys()

    @property
    def all(self) -> list[Running]:
        """The timers that run."""
        return [running for of_item in self._running.values() for running in of_item.values()]

    @property
    def next(self) -> float:
        """Return when the next timer expires; infinity if none runs."""
        return min((running.due for running in self.all), default=math.inf)

    def due(self, now: float) -> list[Running]:
        """Return the timers whose moment has come."""
        return [running for running in self.all if running.due <= now]

    @property
    def told(self) -> list[Running]:
        """Expired timers on which no controller has acted yet."""
        return [running for running in self.all if running.is_told]

    def tell(self, running: Running) -> None:
        """Note that the rehearsal let a timer expire: its controller has to act now."""
        self._mark(running, is_told=True)

    def give_up(self, running: Running) -> None:
        """Note that the rehearsal no longer waits for a controller to act."""
        self._mark(running, is_told=False)

    def _mark(self, running: Running, *, is_told: bool) -> None:
        of_item = self._running.get(running.item["metadata"]["uid"], {})
        if known := of_item.get(running.timer.name):
            of_item[running.timer.name] = replace(known, due=math.inf, is_told=is_told)

    def awaited(self, over: Collection[str], evicted: Collection[str]) -> bool:
        """Tell whether a timer may still change what happens to a run.

        `evicted` are the runs that Kueue evicted because their pods were not ready, and since then nothing
        has changed for any run: without a limit of requeues Kueue repeats that without end.
        """
        return any(
            running.timer.name not in _AFTER_THE_END
            and running.run not in over
            and not self._repeats(running, evicted)
            for running in self.all
        )

    def _repeats(self, running: Running, evicted: Collection[str]) -> bool:
        is_wait = running.timer.name in (WAIT_FOR_PODS, RECOVERY)
        return is_wait and running.run in evicted and not self.spans.limits_requeues
