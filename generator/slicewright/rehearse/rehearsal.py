"""A rehearsal from beginning to end: a scenario and a bed -> its report."""

import math
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from functools import partial

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import AccessError, ApiError
from slicewright.kubernetes.problem import Problem, counted
from slicewright.rehearse.autoscaler import Autoscaler
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import Clock, EventLog, Timers, Watch
from slicewright.rehearse.existing_cluster import Lease
from slicewright.rehearse.fault_injection import Arrivals, Injector
from slicewright.rehearse.fault_kinds import arriving_runs
from slicewright.rehearse.model import metrics, waits
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.event import NOT_IN_TREE, run_key
from slicewright.rehearse.model.expectation import answers
from slicewright.rehearse.model.losses import losses_of
from slicewright.rehearse.model.prices import of_pools
from slicewright.rehearse.model.queue_setting import read_setting
from slicewright.rehearse.model.run_pods import Gangs, Work, gangs
from slicewright.rehearse.model.scenario_part import ScenarioPart, gangs_of, is_queued, queues_asked, ties
from slicewright.rehearse.model.scenario_problems import never_fits
from slicewright.rehearse.model.surroundings import (
    OWNER_LABEL,
    Need,
    held_back,
    need_of,
    not_in_tree,
    surroundings,
)
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.verdict import judge, too_fast
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.report.sentences import causes
from slicewright.rehearse.scenario import Scenario
from slicewright.rehearse.simulated_pods import JobController, play_programs, succeed
from slicewright.rehearse.slice_losses import SliceLosses
from slicewright.rehearse.time_control import Expiry, IdleTime, Termination, installed_settings, outlived
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.testbed import control_plane
from slicewright.testbed.bed import Bed
from slicewright.testbed.nodes import capacity


class Rehearsal:
    """One rehearsal on a bed that is up; call `report` once, at the end.

    Without pods (`has_pods`) the bed has no Job controller and no scheduler, and no nodes are made.
    With `clean` all that was made is removed from the cluster, what earlier rehearsals left under the same
    `lease` included. On our own bed, `is_ours`, objects that cannot be removed are not reported.
    """

    def __init__(
        self,
        bed: Bed,
        scenario: Scenario,
        time: ClockSettings,
        *,
        clean: bool = False,
        is_ours: bool = False,
        has_pods: bool = True,
        lease: Lease | None = None,
        progress: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._bed = bed
        self._scenario = scenario
        self._time = time
        self._clean = clean
        self._is_ours = is_ours
        self._lease = lease
        self._progress = progress
        self._owner = lease.owner if lease else secrets.token_hex(4)
        self._runs = [item for part in scenario.parts for item in part.runs]
        self._room = capacity(scenario.site, annotated=bed.simulates)
        self._clock = Clock(time.speed)
        arriving = arriving_runs(scenario.parts)
        self._programs = _programs(scenario.parts, arriving)
        queued = {run_key(item) for item in (*self._runs, *arriving.values()) if is_queued(item)}
        pods = {run: gangs.all_tpu_pods for run, (gangs, _) in self._programs.items()}
        chipless = [run for run, (gangs, _) in self._programs.items() if not gangs.has_chips]
        settings, unknown = scenario.installation.settings, tuple[Problem, ...]()
        if lease and not is_ours:
            found, unknown = installed_settings(bed.api)
            settings = settings if found is None else found
        self._event_log = EventLog(self._clock, pods, queued, chipless, settings)
        self._jobs = None if has_pods else JobController(self._event_log, self._room, self._owner)
        self._timers = Timers(self._clock)
        self._idle_time = IdleTime(
            self._event_log,
            self._clock,
            time,
            (*self._runs, *arriving.values()),
            settings,
        )
        self._expiry = Expiry(bed.api, self._event_log, self._clock, self._idle_time)
        self._setup = ClusterSetup(bed, self._owner, progress=progress)
        self._faults = Injector(self._setup, self._event_log, self._timers, scenario.parts, arriving)
        self._losses = SliceLosses(
            self._setup,
            self._event_log,
            self._timers,
            self._room,
            losses_of(scenario.site.cluster.spec, scenario.repetition),
        )
        self._around = surroundings(
            scenario.parts, (*scenario.platform, *scenario.beside), scenario.site.cluster.existing
        )
        self._missing: dict[str, tuple[Need, ...]] = {}
        """Objects that runs need and that the cluster lacks too."""
        self._end = 0.0
        self._is_at_deadline = False
        self._interrupted = False
        self._problems: list[Problem] = []
        self._unknown = unknown
        """Problems of reading the timers of this cluster's Kueue."""
        self._left = ""
        """Why objects of the rehearsal are still there; empty if none is."""

    def run(self, show: Callable[[EventLog, Clock], object] = lambda *_: None) -> None:
        """Run it. An interruption by the user, or the end of a program, ends it, and is in the report."""
        try:
            self._play(show)
        except KeyboardInterrupt:
            self._interrupted = True
        except (ApiError, OSError, AccessError) as error:
            self._problems.append(self._cause(error))
        if not (self._clean and self._left):
            return
        try:
            self._progress("removing what was made")
            self._clear()
        except KeyboardInterrupt:
            self._interrupted = True
        except (ApiError, OSError, AccessError) as error:
            self._left = str(error).partition("\n")[0]

    def report(self) -> Report:
        """Return what has happened until the end."""
        scenario = self._scenario
        event_log = self._event_log
        by_key = {part.key: part for part in scenario.parts}
        is_cut_short = self._interrupted or bool(self._problems)
        timelines = event_log.timelines.close(self._end)
        fits = never_fits(self._runs, scenario.platform, scenario.catalogue, scenario.site)
        faults = (*self._faults.injected(timelines), *self._losses.hits)
        queue_of = queues_asked(self._runs, scenario.platform)
        setting = read_setting(
            self._runs,
            scenario.platform,
            scenario.catalogue,
            queue_of,
            event_log.priorities,
            scenario.installation.settings,
            scenario.site,
        )
        why = waits.waits(event_log.events, timelines.values(), setting, self._time.speed)
        problems = [
            *self._problems,
            *scenario.notes,
            *not_in_tree(scenario.parts, self._missing, scenario.site.cluster.source.file.path),
            *judge(
                scenario.parts,
                timelines,
                fits,
                cut_short=is_cut_short,
                speed=self._time.speed,
                injected=faults,
                missing=self._missing,
                causes=causes(why, timelines),
                is_at_deadline=self._is_at_deadline,
            ),
        ]
        if not is_cut_short:
            problems += self._faults.problems()
            problems += too_fast(scenario.parts, self._time)
        problems += [*self._unknown, *self._expiry.problems(scenario.parts)]
        problems += outlived(scenario.site, self._room.fixed, timelines.values())
        if self._clean and self._left and not self._is_ours:
            problems.append(self._not_removed())
        has_pathways = any(item["kind"] == "PathwaysJob" for item in self._runs)
        arriving: tuple[metrics.Arriving, ...] = ()
        if scenario.load:
            arriving = scenario.load.arriving(scenario.repetition, scenario.platform)
        room = self._room
        return Report(
            cluster=scenario.site.cluster.name,
            speed=self._time.speed,
            seconds=self._end,
            skipped=min(self._end, self._clock.skipped),
            interrupted=self._interrupted,
            has_pods=self._jobs is None,
            operator=control_plane.operator_name(os.environ) if has_pathways else "",
            timelines=tuple(_in_order(scenario.parts, timelines)),
            sweeps=_sweeps(scenario.parts),
            ties=ties(scenario.parts, queue_of, self._time.speed),
            arriving=arriving,
            profile_of=_profiles(scenario.parts),
            team_of=_teams(scenario.site),
            queues=metrics.by_queue(event_log.events, metrics.quotas(scenario.platform)),
            pools=metrics.by_pool(event_log.events, room.chips(), room.pools(), room.chips_at_start()),
            events=tuple(event_log.events),
            problems=tuple(problems),
            never_fits=fits,
            is_cut_short=is_cut_short,
            faults=faults,
            losses=self._losses.record(self._end),
            takes={run: work.startup + work.duration for run, (_, work) in self._programs.items()},
            advised=self._time.advised,
            stand_ins=tuple(need for need, _ in self._around.stand_ins),
            answers={
                part.current: answers(part, by_key, timelines, cut_short=is_cut_short, speed=self._time.speed)
                for part in by_key.values()
            },
            nominal=metrics.nominal_quotas(scenario.platform),
            queue_of=queue_of,
            waits=why,
            waiting=metrics.waiting_chips(timelines.values(), setting, self._time.speed),
            pool_of=room.pools(),
            prices=of_pools(scenario.prices, scenario.site) if scenario.prices else None,
            spent=event_log.timelines.spent(self._end),
        )

    def _play(self, show: Callable[[EventLog, Clock], object]) -> None:
        scenario, clock = self._scenario, self._clock
        if self._lease and self._lease.left:
            self._progress("removing what an earlier rehearsal has left")
            self._clear()
        with ExitStack() as stack:
            self._left = "it was interrupted"
            if self._lease:
                self._lease.is_clear = False
            namespaces = sorted({part.workload.namespace for part in scenario.parts})
            nodes = [node for pool in self._room.fixed for node in pool.nodes]
            if self._jobs:
                self._progress(f"{counted(len(nodes), 'node')} in memory, without pods")
                nodes = []
            self._setup.set_up(nodes, scenario.platform, namespaces, scenario.site)
            self._surround(set(namespaces))
            follower = self._jobs or self._event_log
            watch = stack.enter_context(Watch(kubeconfig.read(self._bed.kubeconfig), follower.see))
            autoscaler = stack.enter_context(
                Autoscaler(
                    self._setup,
                    self._event_log,
                    clock,
                    self._room.growing,
                    self._time,
                    namespaces=namespaces,
                    away=self._losses.away,
                )
            )
            termination = Termination(self._event_log, clock, self._time, scenario.parts)
            for part in scenario.parts:
                self._timers.at(part.submit_at, partial(self._submit, part))
            api = self._setup.api
            end = self._jobs.end if self._jobs else partial(succeed, api)
            checks = [self._bed.check, *([self._lease.check] if self._lease else [])]
            checks += [watch.check, autoscaler.check]
            clock.start()
            try:
                while not termination.has_come(self._timers, autoscaler):
                    self._losses.hold(is_busy=autoscaler.is_busy)
                    self._idle_time.wait(self._timers, autoscaler)
                    play_programs(self._event_log, clock.now(), self._programs, end)
                    if self._jobs:
                        self._jobs.play(api)
                    self._faults.schedule()
                    self._timers.do_what_is_due()
                    self._expiry.play(autoscaler)
                    show(self._event_log, clock)
                    for check in checks:
                        check()
            finally:
                self._end = clock.now()
                is_late = clock.elapsed() >= self._time.real_deadline
                self._is_at_deadline = is_late or self._end >= self._time.deadline

    def _submit(self, part: ScenarioPart) -> None:
        """Submit the runs of a part; a refusal is an event with the API server's message."""
        try:
            for item in sorted(part.others, key=lambda item: item["kind"] != "PersistentVolume"):
                self._setup.create(item)
        except ApiError as error:
            for run in map(run_key, part.runs):
                self._event_log.note("submitted", run)
                self._event_log.note("refused", run, reason=error.reason, text=error.message)
            return
        for item in part.runs:
            # Said before it is done: the controllers are faster than the answer to us.
            run = run_key(item)
            self._event_log.note("submitted", run)
            missing = self._missing.get(run, ())
            if missing:
                text = "; ".join(need.describe() for need in missing)
                self._event_log.note("warned", run, reason=NOT_IN_TREE, text=text)
            try:
                self._setup.create(held_back(item, missing))
            except ApiError as error:
                self._event_log.note("refused", run, reason=error.reason, text=error.message)

    def _surround(self, namespaces: set[str]) -> None:
        """Create the other objects of the tree, and stand-ins for those that the TPUCluster lists."""
        used = {"", *namespaces}
        beside = [item for item in self._scenario.beside if need_of(item).namespace in used]
        self._setup.surround((*beside, *(item for _, item in self._around.stand_ins)))
        for run, needs in self._around.missing.items():
            lacks = tuple(need for need in needs if need.key or not self._setup.has(need))
            if lacks:
                self._missing[run] = lacks

    def _clear(self) -> None:
        if self._lease is None:
            self._setup.clear()
        else:
            self._setup.clear(*self._lease.left)
            self._lease.is_clear = True
        self._left = ""

    def _cause(self, error: ApiError | OSError | AccessError) -> Problem:
        """Return why it cannot continue: if a program of the bed has ended, that program."""
        if isinstance(error, AccessError):
            return error.problem
        if ended := self._bed.ended():
            return ended
        if isinstance(error, ApiError):
            message = f"the cluster refused a step of the rehearsal: {error}"
            return Problem("REH009", message, "check that its controllers run")
        return Problem("REH009", f"the cluster does not answer: {error}", "check that the cluster runs")

    def _not_removed(self) -> Problem:
        message = f"not all objects of the rehearsal are removed: {self._left}"
        hint = f"the objects have the label {OWNER_LABEL}={self._owner}"
        if self._lease:
            hint += "; the next rehearsal on this cluster removes them"
        return Problem("REH009", message, hint)


def not_run(scenario: Scenario, time: ClockSettings, problem: Problem | None) -> Report:
    """Return the report of a rehearsal that has not begun, because of a problem or of a Ctrl-C."""
    timelines = {run_key(item): Timeline(run_key(item)) for part in scenario.parts for item in part.runs}
    problems = [problem] if problem else []
    return Report(
        cluster=scenario.site.cluster.name,
        speed=time.speed,
        seconds=0.0,
        interrupted=problem is None,
        timelines=tuple(_in_order(scenario.parts, timelines)),
        sweeps=_sweeps(scenario.parts),
        profile_of=_profiles(scenario.parts),
        problems=tuple(problems),
        is_cut_short=True,
    )


def _programs(parts: Iterable[ScenarioPart], arriving: Arrivals) -> dict[str, tuple[Gangs, Work]]:
    """Return the gangs of all runs, and what their programs have to do, on the rehearsal's clock."""
    programs: dict[str, tuple[Gangs, Work]] = {}
    for part in parts:
        programs |= {run: (of_run, part.work) for run, of_run in gangs_of(part).items()}
        for index, fault in enumerate(part.faults):
            if item := arriving.get((part.current, index)):
                programs[run_key(item)] = gangs(item), Work(fault.duration or 0.0)
    return programs


def _teams(site: ResolvedCluster) -> dict[str, str]:
    """Return the teams of namespaces; several may share one."""
    names: dict[str, list[str]] = {}
    for team in site.cluster.teams:
        names.setdefault(team.namespace, []).append(team.name)
    return {namespace: ", ".join(own) for namespace, own in names.items()}


def _sweeps(parts: Iterable[ScenarioPart]) -> dict[str, str]:
    return {part.key: part.workload.declared for part in parts if part.workload.sweep and not part.profile}


def _profiles(parts: Iterable[ScenarioPart]) -> dict[str, str]:
    return {part.key: part.profile for part in parts if part.profile}


def _in_order(
    parts: Collection[ScenarioPart], timelines: dict[str, Timeline]
) -> Iterator[tuple[str, Timeline]]:
    """Yield the runs in order of submission, those of a sweep together."""
    rows = [(part.key, timelines[run_key(item)]) for part in parts for item in part.runs]
    rows.sort(key=lambda row: math.inf if row[1].submitted is None else row[1].submitted)
    sweeps = _sweeps(parts)
    groups: dict[str, list[tuple[str, Timeline]]] = {}
    for key, timeline in rows:
        groups.setdefault(sweeps.get(key, timeline.run), []).append((key, timeline))
    return (row for group in groups.values() for row in group)
