"""The patterns of runs: which base a workload has, what the base holds, and what counts in it."""

from typing import Literal

from msgspec import Struct

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.kinds import RUN_VERSIONS

Pattern = Literal["jobset", "cpu", "job", "indexed-job", "pathways", "pathways-headless", "pathwaysjob"]
"""The base of a workload: the name of its folder below bases/."""

_HOSTS = ("completions, parallelism", "one pod a host")


class Base(Struct, frozen=True):
    """Facts about the base of a pattern."""

    objects: tuple[tuple[str, str], ...]
    """apiVersion and kind of the run object, which the base must have under the marker's name."""
    variant: str
    """Which variant of a component fits: the folder below bases/components/<concern>/."""
    slices: tuple[str, str] | None = None
    """The field that counts slices, and why; None if there is one slice."""
    hosts: tuple[str, str] | None = _HOSTS
    """The fields that count the hosts of a slice, and why; None if a controller makes the pods."""
    is_exclusive: bool = False
    """Whether each slice can claim a node pool for itself."""
    job: str = "slice"
    """Name of the replicatedJob of the program in a JobSet."""


_JOBSET = RUN_VERSIONS["JobSet"]
_SLICES = ("replicas", "one replica a slice")
PATTERNS: dict[Pattern, Base] = {
    "jobset": Base((_JOBSET,), "jobset", _SLICES, is_exclusive=True),
    "cpu": Base((_JOBSET,), "cpu", hosts=("completions, parallelism", "one pod a node"), job="worker"),
    "job": Base((RUN_VERSIONS["Job"],), "job"),
    "indexed-job": Base((RUN_VERSIONS["Job"], ("v1", "Service")), "job"),
    "pathways": Base((_JOBSET,), "pathways", _SLICES, is_exclusive=True),
    "pathways-headless": Base((_JOBSET,), "pathways", _SLICES, is_exclusive=True),
    "pathwaysjob": Base(
        (RUN_VERSIONS["PathwaysJob"],), "pathwaysjob", ("workers[0].numSlices", "slices"), None
    ),
}
"""All patterns. Only the builders have another list of them."""


def pattern_of(workload: Workload, shape: Shape) -> Pattern:
    """Return the pattern of a workload on slices of a shape."""
    if workload.cpu is not None:
        return "cpu"
    if workload.api == "PathwaysJob":
        return "pathwaysjob"
    if workload.api == "Job":
        return "indexed-job" if shape.multi_host else "job"
    if workload.pathways is None:
        return "jobset"
    return "pathways-headless" if workload.pathways.headless else "pathways"
