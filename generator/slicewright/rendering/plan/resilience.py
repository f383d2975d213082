"""The `resilience` of a run: how often pods fail before a lost host is found, and the problems of its fields.

docs/decisions/0090 has the experiments with the Job controller and JobSet.
"""

from collections.abc import Iterator
from itertools import accumulate, islice

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import Resilience, Workload
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.quantity import amount

_FIRST_DELAY = 10
_LONGEST_DELAY_OF_JOB = 600
_LONGEST_DELAY_OF_KUBELET = 300
"""Seconds before a failed pod (job_controller.go of Kubernetes) or container starts again; each doubles."""
UNCOUNTED = "uncounted"
"""Name of the failure rule of `resilience` in a JobSet."""
_FIELD: Path = ("spec", "resilience")


def retries(seconds: int, *, by_kubelet: bool = False) -> int:
    """Return the number of retries whose delays together last at least some seconds."""
    longest = _LONGEST_DELAY_OF_KUBELET if by_kubelet else _LONGEST_DELAY_OF_JOB
    lasts = enumerate(accumulate(_delays(longest), initial=0))
    return next(number for number, waited in lasts if waited >= seconds)


def lasting(number: int) -> int:
    """Return after how many seconds a Job has used its retries, if each pod fails at once."""
    return sum(islice(_delays(_LONGEST_DELAY_OF_JOB), number))


def _delays(longest: int) -> Iterator[int]:
    delay = _FIRST_DELAY
    while True:
        yield delay
        delay = min(2 * delay, longest)


def survives_host_loss(resilience: Resilience | None) -> bool:
    """Tell whether the loss of a host restarts a run without counting against maxRestarts."""
    return resilience is not None and resilience.host_loss == "Restart"


def retries_in_place(workload: Workload) -> int:
    """Return how often a pod of the program may fail in place.

    The hosts of one Job in a JobSet have failed when all have ended, so a lost host decides as long as it
    is among them. The programs of other slices, and the head of Pathways, end before their Jobs know of a
    lost host; a Job without a JobSet has no other retry.
    """
    resilience = workload.resilience
    if resilience is None or resilience.host_loss == "Count":
        return 0
    is_whole = workload.api == "JobSet" and workload.pathways is None and workload.slices == 1
    return 0 if is_whole else retries(resilience.repair_seconds)


def resilience_problems(workload: Workload) -> Iterator[Problem]:
    """Yield a problem for each field that `resilience` decides itself, and for empty ranges of exit codes."""
    resilience, source = workload.resilience, workload.source
    if resilience is None:
        return
    yield from empty_ranges(workload, "resilience", "retryExitCodes")
    if workload.pathways is not None and workload.pathways.headless and resilience.retry_exit_codes:
        message = "a headless Pathways run has no program that ends with an exit code"
        yield source.problem("FIELD001", (*_FIELD, "retryExitCodes"), message, "leave it out", key=True)
    yield from _decided(workload, resilience)


def _decided(workload: Workload, resilience: Resilience) -> Iterator[Problem]:
    """Yield the fields that decide when a Job fails, where `resilience` does."""
    policy, counts = workload.failure_policy, resilience.host_loss == "Count"
    way = "write resilience: {hostLoss: Count}"
    found: dict[tuple[str, ...], str] = {}
    if not counts and workload.backoff_limit is not None and workload.api == "JobSet":
        found["backoffLimit",] = way
    if not counts and policy.restart_strategy == "InPlaceRestart":
        found["failurePolicy", "restartStrategy"] = way
    # Rules for pods on both sides: a JobSet cannot tell whose rule failed a Job.
    if not counts or resilience.retry_exit_codes:
        way += " without retryExitCodes" if resilience.retry_exit_codes else ""
        if policy.on_host_maintenance:
            found["failurePolicy", "onHostMaintenance"] = way
        if policy.restart_on_exit_codes:
            found["failurePolicy", "restartOnExitCodes"] = way
    for names, instead in found.items():
        name, path = ".".join(names), ("spec", *names)
        message = f"{name} cannot be combined with resilience, which decides when a Job fails"
        yield workload.source.problem("FIELD001", path, message, f"leave {name} out, or {instead}", key=True)


def empty_ranges(workload: Workload, holder: str, field: str) -> Iterator[Problem]:
    """Yield the ranges of exit codes that begin after their end."""
    path: Path = ("spec", holder, field)
    for index, entry in enumerate(workload.resolved_spec.get(holder, {}).get(field, ())):
        first, _, last = str(entry).partition("-")
        if int(first) > int(last or first):
            hint = f"write the smaller number first: {last}-{first}"
            yield workload.source.problem("FIELD001", (*path, index), f"'{entry}' is an empty range", hint)


def shared_memory_problems(workload: Workload, shape: Shape) -> Iterator[Problem]:
    """Yield shared memory that the host of a slice does not have."""
    if not workload.shared_memory or workload.pathways is not None or not shape.machine.memory_gb:
        return
    requested = workload.container.get("resources", {}).get("requests", {}).get("memory", "0")
    asked = sum(float(amount(value) or 0) for value in (workload.shared_memory, requested)) / 10**9
    if asked > shape.machine.memory_gb:
        message = f"sharedMemory and the memory that the container requests are {asked:.0f} GB, but a host "
        message += f"of {shape.machine_type} has {shape.machine.memory_gb} GB"
        yield workload.source.problem("FIELD001", ("spec", "sharedMemory"), message, "write less", key=True)
