"""Controls the time of a rehearsal: skips idle time, lets timers of controllers expire, and finds the end."""

import datetime as dt
import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import yaml

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import CONFIGURATION_KEY, KUEUE_CONFIG_MAP
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.autoscaler import Autoscaler
from slicewright.rehearse.event_log import Clock, EventLog, Timers
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.controller_timers import DEADLINE, MAX_EXECUTION, Running, ages_usage
from slicewright.rehearse.model.event import LIMIT, run_key
from slicewright.rehearse.model.expectation import OWN_SECONDS
from slicewright.rehearse.model.run_pods import ends_by_itself, lacks_head
from slicewright.rehearse.model.scenario_part import ScenarioPart, without_chips
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import OVER, Timeline, Timelines
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, node_life
from slicewright.rendering.platform.controller_files import KUEUE
from slicewright.testbed.nodes import NodePool

_QUIET_SECONDS = 10.0
"""Real seconds without an event after which nothing more will happen, if nothing runs or is awaited."""
STUCK_SECONDS = 30.0
"""The same where pods are to be made: the controllers try that again after up to 16 seconds."""
_SLACK_SECONDS = 10.0
"""How long a Job's pods may take to come after its backoff."""
RELEASE_SECONDS = 5.0
"""Real seconds without an event for which Kueue may still release the quota of runs that are over."""
_SHRINK_SECONDS = 30.0
"""Most real seconds that a rehearsal continues only until idle nodes are removed."""
PENDING = ("reserved", "starting", "restarting")
_NOT_THERE = "notSubmitted"


class Termination:
    """Knows from what has happened, and from what is still to be done, whether the end has come."""

    def __init__(
        self, event_log: EventLog, clock: Clock, time: ClockSettings, parts: Iterable[ScenarioPart]
    ) -> None:
        self._event_log = event_log
        self._clock = clock
        self._time = time
        runs = {run_key(item): item for part in parts for item in part.runs}
        self._runs = frozenset(runs)
        self._endless = {run: item for run, item in runs.items() if not ends_by_itself(item)}

    def has_come(self, timers: Timers, autoscaler: Autoscaler) -> bool:
        """Tell whether nothing more will happen, or the deadline has passed.

        What never ends, such as a headless Pathways, has done its part when it runs, with its head and the
        jobs beside it.
        """
        if self._is_late():
            return True
        quiet = self._event_log.quiet_seconds()
        with self._event_log.reading() as timelines:
            states = self._states(timelines)
            if all(state in OVER for state in states.values()):
                if timelines.holds_quota and quiet < RELEASE_SECONDS:
                    return False
                return not autoscaler.has_nodes or quiet >= self._shrinks_within()
            if not timers.is_empty or autoscaler.is_busy:
                return False
            if all(self._is_done(run, state, timelines) for run, state in states.items()):
                return True
            if timelines.is_at_work or is_in_backoff(timelines, self._clock):
                return False
            over = [run for run, state in states.items() if state in OVER]
            if self._event_log.controller_timers.awaited(over, timelines.evicted_again):
                return False
        pending = any(state in PENDING for state in states.values())
        return quiet > (STUCK_SECONDS if pending else _QUIET_SECONDS)

    def _is_late(self) -> bool:
        """Tell whether the deadline has passed; that of the rehearsal's clock, or else that of real time."""
        if self._time.deadline < math.inf:
            return self._clock.now() >= self._time.deadline
        return self._clock.elapsed() >= self._time.real_deadline

    def _states(self, timelines: Timelines) -> dict[str, str]:
        """Return the states of the runs; runs of faults count only after their submission."""
        states = {run: timelines.state_of(run) for run in timelines.of}
        return {run: state for run, state in states.items() if run in self._runs or state != _NOT_THERE}

    def _is_done(self, run: str, state: str, timelines: Timelines) -> bool:
        if run in self._endless and state == "running":
            item, ran = self._endless[run], timelines.of[run].ran
            return not lacks_head(item, ran) and ran.issuperset(without_chips(item))
        return state in OVER

    def _shrinks_within(self) -> float:
        idle = self._clock.real(self._time.idle)
        return idle + _QUIET_SECONDS if idle <= _SHRINK_SECONDS else 0.0


def is_in_backoff(timelines: Timelines, clock: Clock) -> bool:
    """Tell whether a Job waits before it makes a pod again. While one does, the clock shows real time."""
    now = clock.now()
    return any(now - at < backoff + _SLACK_SECONDS for at, backoff in timelines.backoffs())


_LOOK_SECONDS = 0.2
_HELD_SECONDS = 60.0
"""For how long the clock stops at most."""
_PLACED_SECONDS = 5.0
"""The scheduler of the test bed tries a pod again within 2 seconds after something has changed."""


class IdleTime:
    """Knows when nothing is under way, and when something happens next."""

    def __init__(
        self,
        event_log: EventLog,
        clock: Clock,
        time: ClockSettings,
        runs: Collection[Object],
        settings: Mapping[str, Any],
    ) -> None:
        self._event_log = event_log
        self._clock = clock
        self._deadline = time.deadline
        self._endless = frozenset(run_key(item) for item in runs if not ends_by_itself(item))
        self._skips = time.skips and not ages_usage(settings)
        self._skipped_at = 0.0
        self._held_at = math.inf
        """When the clock was stopped, in real time; infinity if it runs."""
        self.is_settled = False
        """Whether the controllers have done all that they had to do."""

    def wait(self, timers: Timers, autoscaler: Autoscaler) -> None:
        """Wait until something happens or is due, not for long. If nothing is under way, skip that time.

        While a Job waits before it makes a pod again, the clock runs as fast as real time, which the Job
        controller counts. When a timer of a controller is due, the clock stops until the controllers have
        done what they had to do before: the timer must not expire because they are slow.
        """
        with self._event_log.reading() as timelines:
            due = self._event_log.controller_timers.next
            moment = min(timers.next, timelines.next_end, due)
            upcoming = min(moment, autoscaler.next)
            is_idle = self._is_idle(timelines, autoscaler)
            is_due = due <= self._clock.now()
            if is_in_backoff(timelines, self._clock):
                self._clock.set_pace(min(1.0, self._clock.speed))
            else:
                self._clock.set_pace(0.0 if is_due else self._clock.speed)
            self._held_at = min(self._held_at, time.monotonic()) if is_due else math.inf
            self.is_settled = is_idle or time.monotonic() - self._held_at >= _HELD_SECONDS
            if self._skips and is_idle and self._clock.now() < upcoming < math.inf:
                self._clock.skip_to(min(upcoming, self._deadline))
                self._skipped_at = time.monotonic()
                self.is_settled = False
        self._event_log.wait(self._clock.pause(moment, _LOOK_SECONDS))

    def _is_idle(self, timelines: Timelines, autoscaler: Autoscaler) -> bool:
        """Tell whether the controllers are idle, so that only the rehearsal itself will change something."""
        changed_at = max(self._event_log.changed_at, self._skipped_at)
        return (
            time.monotonic() - changed_at >= self._settles_within(timelines)
            and changed_at < autoscaler.looked_at
            and not timelines.is_ending
            and not self._event_log.controller_timers.told
            and not is_in_backoff(timelines, self._clock)
        )

    def _settles_within(self, timelines: Timelines) -> float:
        """Return how long the controllers may take for what they have to do now, in real seconds."""
        released = RELEASE_SECONDS if timelines.holds_quota else 0.0
        takes = (self._takes(run, timelines) for run in timelines.of)
        return max(self._event_log.settles_within, released, *takes)

    def _takes(self, run: str, timelines: Timelines) -> float:
        """Return the real seconds that pods of a run may take to start, or its end to be reported.

        Pods for which the scheduler finds no node start only when something else changes.
        """
        state = timelines.state_of(run)
        if state in PENDING:
            return _PLACED_SECONDS if timelines.of[run].lacks_nodes else STUCK_SECONDS
        is_ending = state == "running" and run not in self._endless and not timelines.runs_program(run)
        return STUCK_SECONDS if is_ending else 0.0


_ID = "REH026"
_MOST_SECONDS = 1e9
"""Most seconds by which a timestamp moves back: no rehearsal spans 30 years, and dates have a minimum."""
_OVER_SECONDS = 1.0
"""Seconds after which a timer has surely expired: Kubernetes rounds times down to seconds."""
_ACTS_SECONDS = 20.0
"""Seconds that a controller may take to act on an expired timer."""


class Expiry:
    """Lets timers of controllers expire, and keeps the problems of those whose effect is not certain."""

    def __init__(self, api: Api, event_log: EventLog, clock: Clock, idle_time: IdleTime) -> None:
        self._api = api
        self._event_log = event_log
        self._clock = clock
        self._idle_time = idle_time
        self._told_at = 0.0
        """When it last let a timer expire, on the monotonic clock."""
        self._unknown: list[tuple[str, str, str]] = []
        """Runs for which the effect of a timer is not certain, with message and hint."""

    def play(self, autoscaler: Autoscaler) -> None:
        """Let the timers expire that are due, once the controllers have done all they had to do before."""
        with self._event_log.reading() as timelines:
            due = self._event_log.controller_timers.due(self._clock.now())
            if due and not self._idle_time.is_settled:
                return
            for running in due:
                self._compare(running, timelines.ends_at(running.run), autoscaler)
        for running in due:
            self._expire(running)
        self._check()

    def problems(self, parts: Iterable[ScenarioPart]) -> Iterator[Problem]:
        """Yield a warning for each timer whose effect is not certain, at the workload of its run."""
        workloads = {run_key(item): part.workload for part in parts for item in part.runs}
        for run, message, hint in self._unknown:
            if workload := workloads.get(run):
                yield workload.source.problem(_ID, ("spec",), message, hint, warning=True)
            else:
                yield Problem(_ID, message, hint, severity="warning")

    def _expire(self, running: Running) -> None:
        ago = min(running.timer.seconds + _OVER_SECONDS, _MOST_SECONDS)
        since = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=ago)
        change = running.expired(since.strftime("%Y-%m-%dT%H:%M:%SZ"))
        with Ignored("NotFound", "Conflict"):  # it is gone, or has changed: then it is looked at again
            self._api.patch(running.item, change, subresource=running.timer.subresource)
            with self._event_log.reading():
                self._event_log.tell(running)
            self._told_at = time.monotonic()
            if running.timer.name == DEADLINE:  # of other timers the controllers tell
                text = f"{DEADLINE} of a {running.item['kind']} ends it after {shown(running.timer.seconds)}"
                self._event_log.note("warned", running.run, reason=LIMIT, text=text)

    def _compare(self, running: Running, ends_at: float | None, autoscaler: Autoscaler) -> None:
        """Note if the work would have ended, or nodes would have come, at about the same moment."""
        is_limit = running.timer.name in (MAX_EXECUTION, DEADLINE)
        other = ends_at if is_limit else autoscaler.next if autoscaler.is_busy else None
        own_time = OWN_SECONDS * self._clock.speed
        if other is None or self._clock.speed <= 1 or other - running.due >= own_time:
            return
        event = "its programs end" if is_limit else "its nodes come"
        message = (
            f"cannot tell whether {running.timer.name} of {running.run} expires at {shown(running.due)}: "
            f"{event} at about the same time"
        )
        hint = f"use a lower speed: --speed {max(1, int(self._clock.speed / 4))}"
        self._unknown.append((running.run, message, hint))

    def _check(self) -> None:
        """Note the timers on which no controller has acted."""
        if time.monotonic() - self._told_at < _ACTS_SECONDS:
            return
        with self._event_log.reading():
            late = self._event_log.controller_timers.told
            for running in late:
                self._event_log.controller_timers.give_up(running)
        for running in late:
            message = (
                f"cannot tell what {running.timer.name} of {running.run} does: it expires "
                f"{shown(running.timer.seconds)} after {shown(running.since)}, and no controller acted"
            )
            hint = "on an existing cluster, give Kueue the configuration of the TPUCluster file"
            self._unknown.append((running.run, message, hint))


def outlived(
    site: ResolvedCluster, fixed: Iterable[NodePool], timelines: Iterable[Timeline]
) -> Iterator[Problem]:
    """Yield the pools on whose nodes a slice ran for longer than GKE keeps them, once each.

    `fixed` are the node pools that exist from the beginning: the age of their nodes is not known.
    """
    lives = {node_pool.name: node_pool for node_pool in fixed if node_pool.life < math.inf}
    longest: dict[str, float] = {}
    for piece in (piece for timeline in timelines for piece in timeline.slices):
        for used in {lives[name].pool for name in piece.node_pools if name in lives}:
            longest[used] = max(longest.get(used, 0.0), piece.end - piece.start)
    for pool, _ in site.pools:
        life = node_life(site, pool)
        if longest.get(pool.name, 0.0) > life:
            message = (
                f"cannot tell what happens when GKE deletes the nodes of pool {pool.name}, which live for "
                f"{shown(life)}: a slice ran on them for {shown(longest[pool.name])}"
            )
            hint = "let each run on these nodes end earlier, or use nodes of another kind"
            yield site.cluster.source.problem(_ID, pool.path, message, hint, warning=True)


def installed_settings(api: Api) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """Return the Configuration with which Kueue runs in a cluster, and what cannot be told there."""
    found = None
    try:
        found = api.find("v1", "ConfigMap", KUEUE_CONFIG_MAP, KUEUE.namespace)
        settings = yaml.safe_load(found["data"][CONFIGURATION_KEY]) if found else None
    except (ApiError, KeyError, yaml.YAMLError):
        settings = None
    if not isinstance(settings, dict):
        message = (
            f"cannot tell when Kueue's timers expire: ConfigMap {KUEUE.namespace}/{KUEUE_CONFIG_MAP} cannot "
            "be read; the rehearsal assumes the settings of the TPUCluster file"
        )
        hint = "rehearse on the test bed, without --kubeconfig"
        return None, (Problem(_ID, message, hint, severity="warning"),)
    if not ages_usage(settings):
        return settings, ()
    message = "cannot tell how past usage decays: admissionFairSharing of this cluster counts real time"
    hint = "rehearse on the test bed, where its times are scaled, or with --speed 1"
    return settings, (Problem(_ID, message, hint, severity="warning"),)
