"""All plans of a repository, with every problem of every workload, and those of new files beside it."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from slicewright.intent.source import SourceFile
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Problem, did_you_mean, in_order
from slicewright.rendering.plan.decide import decide, decide_shape
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.ways import on_cluster
from slicewright.rendering.repository import Repository, causes, identities, read_repository
from slicewright.rendering.validate_run_queues import (
    against_flavors,
    against_queueless,
    below_low_classes,
    sweep_problems,
)


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
    problems += sweep_problems(pairs, repository.sites)
    problems += below_low_classes(pairs, repository.sites)
    certain = (problem for problem in problems if not any(part.follows(problem) for part in repository.parts))
    return tuple(planned), causes((*repository.problems, *certain))


def _once(
    workload: Workload, cluster: str, problems: Iterable[Problem], noted: set[tuple[str | int, ...]]
) -> Iterator[Problem]:
    """Yield each problem once for all entries of a sweep, and one of defaults once for all workloads."""
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


class Beside(Struct, frozen=True):
    """A repository with further files, which take the place of files of the same paths."""

    files: tuple[SourceFile, ...]
    repository: Repository
    """The repository with their workloads last, and the problems of the files."""
    workloads: tuple[Workload, ...]
    """The workloads of the files."""

    def plan(self) -> tuple[tuple[Planned, ...], tuple[Problem, ...]]:
        """Return the runs of the files without a look at others, and their problems."""
        planned, problems = plan_all(replace(self.repository, workloads=self.workloads))
        return planned, self.own(problems)

    def own(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the problems in the files, without lines: the files do not exist yet."""
        paths = {file.path for file in self.files}
        return in_order(problem.without_place() for problem in problems if problem.file in paths)


def beside(known: Repository, *files: SourceFile) -> Beside:
    """Read further files of TPUWorkloads with the clusters and the defaults of a repository."""
    paths = {file.path for file in files}
    sources = [defaults.source for defaults in known.levels.documents]
    sources += [site.cluster.source for site in known.sites.values()]
    context = {source.file.path: source.file for source in sources}
    read = read_repository([*context.values(), *files], known.settings, known.package, known.read_text)
    workloads = tuple(workload for workload in read.workloads if workload.source.file.path in paths)
    others = (workload for workload in known.workloads if workload.source.file.path not in paths)
    everyone = (*others, *workloads)
    problems = (*read.problems, *identities(everyone))
    return Beside(files, replace(known, workloads=everyone, problems=problems), workloads)
