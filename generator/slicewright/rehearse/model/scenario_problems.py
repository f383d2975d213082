"""The problems of a scenario: those that are known before its rehearsal, and faults that did not happen."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.rules import fit, fit_flavors, provisioning_requests
from slicewright.check.run import RuleSet
from slicewright.kubernetes.fields import number
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.problem import Path, Problem, counted, did_you_mean, errors, first_of
from slicewright.kubernetes.types import Object
from slicewright.objects import ObjectSet, Resource, rules_of
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.run_pods import slices_of
from slicewright.rehearse.model.scenario_part import Fault, Known, ScenarioPart
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range

_NEVER = ("FIT101", "FIT102", "FIT103", "KQ164")
"""Rules that find workloads that can never be admitted."""
_NOWHERE = "FIT120"
"""The rule that finds workloads that are admitted with quota of nodes on which they cannot run."""
_RULES = tuple(
    rule for rule in rules_of(fit, fit_flavors, provisioning_requests) if rule.id in (*_NEVER, _NOWHERE)
)


def never_fits(
    runs: Iterable[Object],
    platform: Iterable[Object],
    catalogue: Catalogue,
    site: ResolvedCluster | None = None,
) -> dict[str, str]:
    """Return by run why a platform never admits it, or why it cannot run on the quota that it gets.

    `site` has the configuration of a Kueue that is not part of the platform.
    """
    resources = [Resource(item, "") for item in runs]
    object_set = ObjectSet([*(Resource(item, "") for item in platform), *resources], catalogue, site)
    rules, reasons = RuleSet(_RULES), dict[str, str]()
    for resource in resources:
        for problem in errors(rules.problems(object_set, (resource,))):
            reasons.setdefault(run_key(resource.data), f"{problem.id} {problem.message}")
    return reasons


def never_admitted(reason: str) -> bool:
    """Tell whether a reason of `never_fits` means that the run is never admitted."""
    return reason.startswith(_NEVER)


def advice(reason: str) -> str:
    """Return the hint for a reason of `never_fits`."""
    return {rule.id: rule.hint for rule in _RULES}.get(reason.partition(" ")[0], "")


def validate_blocks(parts: Collection[ScenarioPart], known: Known) -> tuple[Problem, ...]:
    """Return the problems that are known before a rehearsal: unknown workloads, classes, slices and hosts."""
    keys = [part.key for part in parts]
    problems: list[Problem] = []
    for part in parts:
        for index, fault in enumerate(part.faults):
            problems += fault.kind.check(part, index, known)
        for path, name in _references(part):
            key = name if "/" in name else f"{part.workload.namespace}/{name}"
            if key not in keys:
                message = f"workload '{name}' is not part of the rehearsal of {known.cluster}"
                own = f"{part.workload.namespace}/"
                near = keys if "/" in name else [other.removeprefix(own) for other in keys]
                problems.append(part.workload.source.problem(_FAULT, path, message, did_you_mean(name, near)))
    return tuple(problems)


def _references(part: ScenarioPart) -> Iterator[tuple[Path, str]]:
    """Yield the workloads that expectations name, with their places."""
    for index, expected in enumerate(part.expect):
        for kind, value in expected.items():
            place = ("spec", "rehearsal", "expect", index, kind)
            if kind == "notBefore":
                yield (*place, "workload"), value["workload"]
            elif kind in ("order", "together"):
                yield from (((*place, number), name) for number, name in enumerate(value))


_NEEDS_PODS, _HINT = "REH024", "leave out --no-pods"


def needs_pods(
    site: ResolvedCluster, platform: Iterable[Object], parts: Iterable[ScenarioPart]
) -> Iterator[Problem]:
    """Yield the reasons why a rehearsal needs pods."""
    for pool, _ in site.pools:
        size = size_range(site, pool)
        if size.least < size.most:
            message = f"nodes of pool {pool.name} are created only when pods wait for them"
            yield site.cluster.source.problem(_NEEDS_PODS, ("spec", "pools", pool.index), message, _HINT)
    if site.cluster.spec.get("rehearsal", {}).get("losses"):
        message = "random losses delete nodes and their pods"
        yield site.cluster.source.problem(_NEEDS_PODS, ("spec", "rehearsal", "losses"), message, _HINT)
    if any(item["kind"] == "Topology" for item in platform):
        message = "topology-aware scheduling chooses the nodes of pods"
        yield site.cluster.source.problem(_NEEDS_PODS, ("spec", "topologies"), message, _HINT)
    for part in parts:
        source = part.workload.source
        for index, fault in enumerate(part.faults):
            if fault.kind.needs_pods:
                place = ("spec", "rehearsal", "faults", index)
                yield source.problem(
                    _NEEDS_PODS, place, f"a {fault.kind.name} needs pods, but --no-pods creates none", _HINT
                )
        for pods in (pods for item in part.runs for pods in pods_of(item, item["kind"])):
            for reason in _reasons(pods):
                yield source.problem(_NEEDS_PODS, ("metadata", "name"), f"{part.current} {reason}", _HINT)


def _reasons(pods: Pods) -> Iterator[str]:
    if number(pods.job.get("completions"), pods.parallelism) != pods.parallelism:
        yield "starts pods one after another: it has more completions than parallelism"
    if "activeDeadlineSeconds" in {**pods.job, **pods.spec}:
        yield "has activeDeadlineSeconds, which ends pods"


_FAULT = "REH012"
_FEW = 3
_ENDED = ("finished", "failed")


def fault_problem(
    part: ScenarioPart, index: int, field: str, message: str, hint: str, *, warning: bool = False
) -> Problem:
    """Return a problem of a fault, at one of its fields or, without a field, at its entry."""
    place: Path = ("spec", "rehearsal", "faults", index)
    if field:
        place = (*place, field)
    return part.workload.source.problem(_FAULT, place, message, hint, warning=warning)


def whole_slice(fault: Fault) -> str:
    """Return the slice that a fault hits."""
    return f"slice {fault.slice}"


def one_host(fault: Fault) -> str:
    """Return the host that a fault hits."""
    return f"slice {fault.slice}, host {fault.host}"


def _indexes(noun: str, count: int) -> str:
    """Return the hint for a fault whose index its run does not have."""
    if not count:
        return "remove the fault: the run has no slices"
    return f"write {noun}: 0" if count == 1 else f"write a number from 0 to {count - 1}"


def check_target(part: ScenarioPart, index: int, _known: Known) -> Iterator[Problem]:
    """Yield the problems of a fault whose slice or host the current run does not have."""
    fault = part.faults[index]
    if part.run is None:
        return
    jobs = slices_of(part.run, (part.plan.slices, part.plan.hosts))
    slices = max((count for _, count, _ in jobs), default=0)
    hosts = max((count for _, _, count in jobs), default=0)
    if fault.slice >= slices:
        message = f"{part.current} has no slice {fault.slice}: the run has {counted(slices, 'slice')}"
        yield fault_problem(part, index, "slice", message, _indexes("slice", slices))
    if fault.host >= hosts:
        message = f"a slice of {part.current} has no host {fault.host}: it has {counted(hosts, 'host')}"
        yield fault_problem(part, index, "host", message, _indexes("host", hosts))


class Injected(Struct, frozen=True):
    """A fault of one run."""

    run: str
    fault: Fault
    at: float | None = None
    """When it happened or failed to, on the rehearsal's clock; None if the rehearsal ended before."""
    missed: str = ""
    """Why it did not happen; empty if it did."""

    def describe(self) -> str:
        """Return a sentence about the fault, without the name of its run."""
        after = f"{shown(self.fault.at)} after the start"
        when = after if self.at is None else f"at {shown(self.at)}"
        if self.missed:
            return f"{self.fault.kind.name} {when} ({self.fault}) did not happen: {self.missed}"
        return f"{self.fault.kind.name} {when}: {self.fault}"


def all_faults(
    parts: Iterable[ScenarioPart],
    injected: Mapping[tuple[str, int], Injected],
    timelines: Mapping[str, Timeline],
) -> tuple[Injected, ...]:
    """Return all faults in order of their time; faults that the rehearsal did not reach are last.

    `injected` are those whose time came, by run and number of the fault.
    """
    due = sorted(injected.values(), key=lambda fault: fault.at or 0.0)
    never_due = (
        Injected(part.current, fault, missed=_why_never_due(timelines[part.current]))
        for part in parts
        for index, fault in enumerate(part.faults)
        if part.current in timelines and (part.current, index) not in injected
    )
    return (*due, *never_due)


def _why_never_due(timeline: Timeline) -> str:
    """Return why the time of a fault did not come before the end of a rehearsal."""
    if timeline.outcome in _ENDED:
        return f"{timeline.run} had ended before"
    return f"{timeline.run} never ran" if timeline.started is None else "the rehearsal ended before"


def blame(run: str, injected: Iterable[Injected]) -> str:
    """Return the end of a hint that names the faults of a run; '' without faults."""
    faults = [fault.describe() for fault in injected if fault.run == run and not fault.missed]
    return f"the rehearsal injected {first_of(faults, _FEW, '; ')}" if faults else ""


_NOT_INJECTED = "see the timeline for what ran then; correct the fault, or set a longer --deadline"


def not_injected(part: ScenarioPart, index: int, why: str, *, is_late: bool) -> Problem:
    """Return the problem of a fault that did not happen: its effects have not been rehearsed.

    It is a warning if the run was over before its time, `is_late`.
    """
    message = f"the {_called(part, index)} did not happen: {why}"
    hint = "choose an earlier 'at', or a longer 'duration'" if is_late else _NOT_INJECTED
    return fault_problem(part, index, "", message, hint, warning=is_late)


def never_due(part: ScenarioPart, index: int, timeline: Timeline) -> Iterator[Problem]:
    """Yield the problem of a fault whose time did not come before the end of a rehearsal.

    If the run should have started and did not, the problem of the run is reported instead.
    """
    is_late = timeline.outcome in _ENDED
    if is_late or timeline.started is not None or part.finishes is False:
        yield not_injected(part, index, _why_never_due(timeline), is_late=is_late)


def not_undone(part: ScenarioPart, index: int, why: str) -> Problem:
    """Return the problem of a fault that did not end: nodes stayed away, or a host stayed closed."""
    message = f"the {_called(part, index)} could not be reverted: {why}"
    return fault_problem(part, index, "", message, "the rest of the rehearsal does not match the file")


def starved(part: ScenarioPart, index: int, timeline: Timeline) -> Problem:
    """Return the warning about an arriving run that never ran, and so preempted nothing."""
    at = part.workload.spec["rehearsal"]["faults"][index]["at"]
    message = f"{timeline.run} arrived at {at} and never ran" + (f": {timeline.why}" if timeline.why else "")
    hint = "check the preemption policy of its ClusterQueue"
    return fault_problem(part, index, "", message, hint, warning=True)


def _called(part: ScenarioPart, index: int) -> str:
    """Return the kind of a fault, and its time as in the file."""
    return f"{part.faults[index].kind.name} at {part.workload.spec['rehearsal']['faults'][index]['at']}"
