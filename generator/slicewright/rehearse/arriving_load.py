"""The load of a cluster: runs that arrive by profiles, each rendered as a TPUWorkload with its own name."""

import itertools
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from slicewright.intent.matrix import room_for_name
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.rehearse.faults import FAULT_KINDS
from slicewright.rehearse.model.arrivals import Arrival, Profile, arrivals, profiles, validate
from slicewright.rehearse.model.metrics import Arriving, queues_behind
from slicewright.rehearse.model.scenario_part import ScenarioPart, part
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.repository import Repository


class Load(Struct, frozen=True):
    """The arrival profiles of a cluster, and the workloads that they name."""

    repository: Repository
    cluster: str
    profiles: tuple[Profile, ...]
    templates: Mapping[str, Workload]
    """By each name that a profile may write."""

    def parts(self, repetition: int = 0) -> tuple[tuple[ScenarioPart, ...], tuple[Problem, ...]]:
        """Return what arrives in a repetition, in order, and what speaks against it.

        Each repetition has a seed of its own.
        """
        coming = [arrival for profile in self.profiles for arrival in arrivals(profile, repetition)]
        taken = {workload.key for workload in self.repository.workloads}
        numbers = itertools.count(1)
        named: dict[str, tuple[Arrival, Workload]] = {}
        for arrival in sorted(coming, key=lambda arrival: arrival.at):
            template = self.templates[arrival.job.workload]
            candidates = (_numbered(template, number) for number in numbers)
            run = next(workload for workload in candidates if workload.key not in taken)
            named[run.key] = arrival, replace(run, clusters=(self.cluster,))
        several = replace(self.repository, workloads=tuple(run for _, run in named.values()))
        planned, problems = plan_all(several)
        bases = Bases(self.repository.read_text, self.repository.package.schemas)
        parts: list[ScenarioPart] = []
        refusals = list(errors(problems))
        for entry in planned:
            built, wrong = make(entry, bases)
            refusals += wrong
            if built is not None:
                parts.append(_arriving(entry, built.objects, named[entry.workload.key][0]))
        return tuple(parts), tuple(refusals)

    def arriving(self, repetition: int, platform: Iterable[Object]) -> tuple[Arriving, ...]:
        """Return each profile with the queues of a platform that its mix asks for, in a repetition."""
        queues = queues_behind(platform)
        arriving: dict[Arriving, None] = {}
        for profile in self.profiles:
            for job in profile.mix:
                template = self.templates[job.workload]
                queue = queues.get((template.namespace, template.queue_name), "")
                arriving[Arriving(profile.name, profile.seeded(repetition), queue)] = None
        return tuple(arriving)


def _numbered(template: Workload, number: int) -> Workload:
    """Return a workload under its name with a number; a long name is cut so that controllers can take it."""
    suffix = f"-{number}"
    room = room_for_name(template.resolved_spec) - len(suffix)
    return replace(template, name=template.name[:room].rstrip("-") + suffix)


def _arriving(entry: Planned, objects: Collection[Object], arrival: Arrival) -> ScenarioPart:
    """Return the part of an arrival. Faults and expectations are those of the template's own run."""
    usual = part(entry, objects, FAULT_KINDS)
    duration = usual.duration if arrival.duration is None else arrival.duration
    return replace(
        usual, submit_at=arrival.at, duration=duration, faults=(), expect=(), profile=arrival.profile
    )


def load_of(
    repository: Repository, cluster: str, planned: Iterable[Planned]
) -> tuple[Load, tuple[Problem, ...]]:
    """Return the load of a cluster of which the workloads are planned, and what is wrong in its profiles."""
    meant: dict[str, list[Workload]] = {}
    for entry in planned:
        workload = entry.workload
        if entry.plan.cluster == cluster:
            for name in (*workload.names, workload.key):
                meant.setdefault(name, []).append(workload)
    site = repository.sites[cluster]
    keys = {name: [workload.key for workload in workloads] for name, workloads in meant.items()}
    problems = tuple(validate(site.cluster.source, keys))
    usable = () if errors(problems) else profiles(site.cluster.spec)
    templates = {name: workloads[0] for name, workloads in meant.items()}
    return Load(repository, cluster, usable, templates), problems
