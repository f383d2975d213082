"""Lets the timers of controllers expire when their moment has come on the rehearsal's clock."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING, Any

import yaml

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.kubernetes.kinds import CONFIGURATION_KEY, KUEUE_CONFIG_MAP
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.controller_timers import DEADLINE, MAX_EXECUTION, ages_usage
from slicewright.rehearse.model.expectation import OWN_SECONDS
from slicewright.rehearse.model.scenario_part import run_key
from slicewright.rehearse.model.time_span import shown
from slicewright.rendering.platform.controller_files import KUEUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.cluster.api.client import Api
    from slicewright.rehearse.autoscaler import Autoscaler
    from slicewright.rehearse.event_log import EventLog
    from slicewright.rehearse.idle_time import IdleTime
    from slicewright.rehearse.model.controller_timers import Running
    from slicewright.rehearse.model.event import Event
    from slicewright.rehearse.model.scenario_part import ScenarioPart
    from slicewright.rehearse.timers import Clock
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_ID = "REH026"
_MOST_SECONDS = 1e9
"""How far a timestamp moves back at most: no rehearsal spans 30 years, and dates have a first one."""
_OVER_SECONDS = 1.0
"""Seconds after which a timer has surely expired: Kubernetes rounds times down to seconds."""
_NODE_SECONDS = 7 * 86_400.0
"""After so long GKE deletes flex-start nodes, where their pool has no maxRunDurationSeconds."""
_ACTS_SECONDS = 20.0
"""So long a controller may take to act on a timer that has expired."""


class Expiry:
    """Tells controllers that their timers have expired, and keeps what cannot be told of them."""

    def __init__(self, api: Api, event_log: EventLog, clock: Clock, idle_time: IdleTime) -> None:
        self._api = api
        self._event_log = event_log
        self._clock = clock
        self._idle_time = idle_time
        self._told_at = 0.0
        """When a timer was told to expire last, on the monotonic clock."""
        self._unknown: list[tuple[str, str, str]] = []
        """The runs of whose timers something cannot be told, with message and hint."""

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
        """Yield what cannot be told, at the workloads of the runs; others arrived by a fault."""
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
                self._event_log.controller_timers.tell(running)
            self._told_at = time.monotonic()

    def _compare(self, running: Running, ends_at: float | None, autoscaler: Autoscaler) -> None:
        """Note where the work would have ended, or nodes would have come, at about the same moment."""
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
    site: ResolvedCluster, pool_of: Mapping[str, str], events: Iterable[Event], end: float
) -> Iterator[Problem]:
    """Yield the flex-start pools whose nodes stayed longer than GKE keeps them, once each."""
    grown: dict[str, float] = {}
    longest: dict[str, float] = {}
    ends = [(event.kind, event.node_pool, event.at) for event in events if event.node_pool in pool_of]
    for kind, node_pool, at in (*ends, *(("poolShrank", name, end) for name in pool_of)):
        if kind == "poolGrew":
            grown.setdefault(node_pool, at)
        elif kind == "poolShrank" and node_pool in grown:
            name = pool_of[node_pool]
            longest[name] = max(longest.get(name, 0.0), at - grown.pop(node_pool))
    for pool, _ in site.pools:
        limit = float(pool.max_run_duration_seconds or _NODE_SECONDS)
        if pool.provisioning.type in ("FlexStart", "FlexStartQueued") and longest.get(pool.name, 0.0) > limit:
            message = (
                f"cannot tell what happens after {shown(limit)} to nodes of pool {pool.name}: GKE deletes "
                f"them then, and the rehearsal kept them for {shown(longest[pool.name])}"
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
