"""All plans of a repository, with every problem of every workload."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Problem, did_you_mean
from slicewright.rendering import max_concurrent
from slicewright.rendering.plan.decide import decide, decide_shape
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.ways import on_cluster
from slicewright.rendering.repository import Repository, causes
from slicewright.rendering.validate_run_queues import against_flavors, against_queueless, below_low_classes


class Planned(Struct, frozen=True):
    """A plan and the workload that asked for it."""

    plan: Plan
    workload: Workload


def plan_all(repository: Repository) -> tuple[tuple[Planned, ...], tuple[Problem, ...]]:
    """Return the plan of every workload on each of its clusters, and all their problems."""
    planned: list[Planned] = []
    problems: list[Problem] = []
    noted: set[tuple[str | int, ...]] = set()
    for workload in repository.workloads:
        decision = decide_shape(workload, repository.package.catalogue)
        problems += _once(workload, "", decision.problems, noted)
        for index, name in enumerate(workload.clusters):
            site = repository.sites.get(name)
            if site is None and name in repository.refused_clusters:
                continue
            if site is None:
                message = f"TPUCluster '{name}' is not defined"
                hint = did_you_mean(name, repository.sites) or "declare it in clusters/"
                hint += f"{' Or' if hint.endswith('?') else ', or'} remove it from spec.clusters"
                unknown = workload.source.problem("REF001", ("spec", "clusters", index), message, hint)
                problems += _once(workload, name, (unknown,), noted)
                continue
            resolved, decided = repository.on(workload, name), decision
            if resolved is not workload:
                decided = decide_shape(resolved, repository.package.catalogue)
                problems += _once(workload, "", decided.problems, noted)
            local = on_cluster(resolved, site.cluster)
            plan, wrong = decide(decided if local is resolved else replace(decided, workload=local), site)
            problems += _once(workload, name, wrong, noted)
            original = workload.source.written
            if plan is not None and not any(part.source is original for part in repository.parts):
                planned.append(Planned(plan, local))
                beside = (*against_queueless(local, site), *against_flavors(local, plan, site))
                problems += _once(workload, name, beside, noted)
    problems += _same_objects(planned)
    pairs = [(entry.workload, entry.plan) for entry in planned]
    problems += max_concurrent.problems(pairs, repository.sites)
    problems += below_low_classes(pairs, repository.sites)
    certain = (problem for problem in problems if not any(part.follows(problem) for part in repository.parts))
    return tuple(planned), causes((*repository.problems, *certain))


def _once(
    workload: Workload, cluster: str, problems: Iterable[Problem], noted: set[tuple[str | int, ...]]
) -> Iterator[Problem]:
    """Yield problems once for a sweep, and not again for each entry with the same place.

    What is wrong in defaults is told once for all workloads.
    """
    for problem in problems:
        scope = (workload.declared, cluster) if problem.file == workload.source.file.path else (problem.file,)
        key = (*scope, problem.id, problem.line, problem.column)
        if not (workload.sweep or workload.source.layers) or key not in noted:
            noted.add(key)
            yield problem


def _same_objects(planned: list[Planned]) -> Iterator[Problem]:
    """Yield a problem for runs of one name in one namespace that two workloads would make.

    Their kinds do not matter: what controllers make of them meets (Jobs, Services, a PathwaysJob's JobSet).
    """
    taken: dict[tuple[str, str, str], Planned] = {}
    for entry in planned:
        plan = entry.plan
        first = taken.setdefault((plan.cluster, plan.namespace, plan.name), entry)
        if first.plan.workload != plan.workload:
            message = f"two workloads would create an object named '{plan.name}'"
            hint = f"the other one is {first.workload.key} in {first.workload.source.file.path}; rename one"
            yield entry.workload.source.problem("NAME003", ("metadata", "name"), message, hint)
