"""All plans of a repository, with every problem of every workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.plan.decide import decide, decide_shape
from slicewright.core.plan.ways import on_cluster
from slicewright.core.problem import Problem, did_you_mean
from slicewright.core.render import max_concurrent
from slicewright.core.render.repository import causes
from slicewright.core.render.validate_queues import against_flavors, against_queueless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.plan import Plan
    from slicewright.core.render.repository import Repository


class Planned(Struct, frozen=True):
    """A plan and the workload that asked for it."""

    plan: Plan
    workload: Workload


def plan_all(repository: Repository) -> tuple[tuple[Planned, ...], tuple[Problem, ...]]:
    """Return the plan of every workload on each of its clusters, and all their problems."""
    planned: list[Planned] = []
    found: list[Problem] = []
    noted: set[tuple[str | int, ...]] = set()
    for workload in repository.workloads:
        decision = decide_shape(workload, repository.package.catalogue)
        found += _once(workload, "", decision.problems, noted)
        for index, name in enumerate(workload.clusters):
            site = repository.sites.get(name)
            if site is None and name in repository.refused_clusters:
                continue
            if site is None:
                message = f"TPUCluster '{name}' is not defined"
                hint = did_you_mean(name, repository.sites) or "declare it in clusters/"
                hint += f"{' Or' if hint.endswith('?') else ', or'} remove it from spec.clusters"
                unknown = workload.source.problem("REF001", ("spec", "clusters", index), message, hint)
                found += _once(workload, name, (unknown,), noted)
                continue
            given, decided = repository.on(workload, name), decision
            if given is not workload:
                decided = decide_shape(given, repository.package.catalogue)
                found += _once(workload, "", decided.problems, noted)
            here = on_cluster(given, site.cluster)
            plan, problems = decide(decided if here is given else replace(decided, workload=here), site)
            found += _once(workload, name, problems, noted)
            written = workload.source.written
            if plan is not None and not any(part.source is written for part in repository.parts):
                planned.append(Planned(plan, here))
                beside = (*against_queueless(here, site), *against_flavors(here, plan, site))
                found += _once(workload, name, beside, noted)
    found += _same_objects(planned)
    found += max_concurrent.problems(((one.workload, one.plan) for one in planned), repository.sites)
    left = (one for one in found if not any(part.follows(one) for part in repository.parts))
    return tuple(planned), causes((*repository.problems, *left))


def _once(
    workload: Workload, cluster: str, problems: Iterable[Problem], noted: set[tuple[str | int, ...]]
) -> Iterator[Problem]:
    """Yield what no other entry of a sweep has at the same place: one mistake is told once, not for each.

    What is wrong in defaults is told once for all workloads.
    """
    for problem in problems:
        where = (workload.declared, cluster) if problem.file == workload.source.file.path else (problem.file,)
        key = (*where, problem.id, problem.line, problem.column)
        if not (workload.sweep or workload.source.layers) or key not in noted:
            noted.add(key)
            yield problem


def _same_objects(planned: list[Planned]) -> list[Problem]:
    """Find runs of one name in one namespace that two workloads would make.

    Their kinds do not matter: what controllers make of them meets (Jobs, Services, a PathwaysJob's JobSet).
    """
    taken: dict[tuple[str, str, str], Planned] = {}
    problems: list[Problem] = []
    for entry in planned:
        plan = entry.plan
        first = taken.setdefault((plan.cluster, plan.namespace, plan.name), entry)
        if first.plan.workload != plan.workload:
            message = f"two workloads would make an object called '{plan.name}'"
            hint = f"the other one is {first.workload.key} in {first.workload.source.file.path}; rename one"
            problems.append(entry.workload.source.problem("NAME003", ("metadata", "name"), message, hint))
    return problems
