"""Names of runs that are too long for what controllers derive from them."""

from collections.abc import Iterator

from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes import name_room
from slicewright.kubernetes.problem import Problem, counted
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.run_pattern import PATTERNS


def problems(workload: Workload, plan: Plan) -> Iterator[Problem]:
    """Yield a problem for a run whose name is longer than its controllers can take."""
    room = _room(plan)
    if len(plan.name) <= room.length:
        return
    left = room.length - (len(plan.name) - len(workload.name))
    has = counted(len(workload.name), "character")
    length = f"has {has}; the limit is {left}" if left > 0 else "leaves no room for the names of its pods"
    message = f"name '{workload.name}' {length}: {room.because}"
    hint = f"shorten it to {left} characters" if left > 0 else "shorten the name of the auxiliary job"
    if plan.run:
        hint += f" (the run's id '-{plan.run}' takes {len(plan.run) + 1})"
    yield workload.source.problem("NAME001", ("metadata", "name"), message, hint)


def _room(plan: Plan) -> name_room.Room:
    if plan.pattern == "pathwaysjob":
        return name_room.room_in_pathwaysjob()
    if plan.pattern in ("job", "indexed-job"):
        return name_room.room_in_job(plan.hosts)
    jobs = {auxiliary.name: (1, 1) for auxiliary in plan.auxiliaries}
    if plan.pathways is None:
        return name_room.room_in_jobset({PATTERNS[plan.pattern].job: (plan.slices, plan.hosts), **jobs})
    jobs |= {"worker": (plan.slices, plan.hosts), name_room.PATHWAYS_HEAD: (1, 1)}
    return name_room.room_in_jobset(jobs, coordinator_subdomain=plan.pathways.subdomain)
