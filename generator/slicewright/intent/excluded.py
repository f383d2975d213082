"""Fields of a TPUWorkload that a kind of run does not have: dotted paths, each with what to do instead."""

from collections.abc import Iterator, Mapping

from slicewright.kubernetes.kinds import Api
from slicewright.kubernetes.types import Object

AS_JOBSET = "write api: JobSet"
DIRECT_JOBSET = f"{AS_JOBSET} with the same pathways block"
_BACKOFF = f"{AS_JOBSET}, or use spec.backoffLimit"
_LACKS: dict[Api, dict[str, str]] = {
    "Job": {
        "pathways": AS_JOBSET,
        "auxiliaryJobs": AS_JOBSET,
        "failurePolicy.maxRestarts": _BACKOFF,
        "failurePolicy.restartStrategy": _BACKOFF,
        "failurePolicy.rules": _BACKOFF,
    },
    "PathwaysJob": {
        "podTemplate": "use pathways.worker and pathways.head.podTemplate, or api: JobSet",
        "hostNetwork": "leave it out: the controller always sets it",
        "privileged": AS_JOBSET,
        "failurePolicy.restartStrategy": AS_JOBSET,
        "failurePolicy.rules": AS_JOBSET,
        "failurePolicy.onHostMaintenance": AS_JOBSET,
        "failurePolicy.restartOnExitCodes": AS_JOBSET,
    },
}
"""By `api`."""
ONE_SLICE: frozenset[Api] = frozenset({"Job"})
"""Values of `api` that cannot run several slices."""
_ON_CPUS = {
    "tpu": "leave it out, or write it instead of cpu",
    "slices": "use cpu.nodes",
    "provisioning": "leave it out: the CPU pool decides",
    "alternativeProvisioning": "leave it out: the CPU pool decides",
    "maxRunDurationSeconds": "use maxExecutionTimeSeconds",
    "containersPerHost": "add containers to podTemplate",
    "hostNetwork": "leave it out",
    "privileged": "leave it out",
    "pathways": "write tpu in place of cpu",
}
_UNDER_PATHWAYS = {
    "auxiliaryJobs": "write a separate workload",
    "backoffLimit": "use pathways.maxSliceRestarts",
}


def lacks(spec: Object) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what the run of a spec is called, and the fields that it does not have."""
    if "cpu" in spec:
        yield "run on CPU nodes", _ON_CPUS
    else:
        api = spec.get("api", "JobSet")
        yield api, _LACKS.get(api, {})
    if isinstance(spec.get("pathways"), dict):
        yield "Pathways run", _UNDER_PATHWAYS
