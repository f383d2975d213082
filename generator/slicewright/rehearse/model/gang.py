"""Gangs: pods of a run that work together, and the replicated jobs whose programs end by themselves.

As on GKE, where each host waits for the others, no program of a gang begins before all its TPU pods run.
A run without chips has no TPU pods: there, all pods count.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.slices import Pod

HEAD = "pathways-head"
"""The replicated job that runs the program of a Pathways run."""


class Gangs(Struct, frozen=True):
    """The gangs of one run: usually one, and one more for each step that begins when another is complete."""

    tpu_pods: Mapping[int, int]
    """The number of TPU pods in each gang, by the number of the gang."""
    numbers: Mapping[str, int]
    """The gang of each replicated job; a job that is not listed belongs to gang 0."""
    has_chips: bool
    """Whether only TPU pods are counted."""
    ends: frozenset[str]
    """The replicated jobs whose programs end by themselves; `""` is the program of a Job."""

    @property
    def all_tpu_pods(self) -> int:
        """Return how many TPU pods the complete run has."""
        return sum(self.tpu_pods.values())

    def ready(self, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Yield the pods of the present attempt whose programs may begin, because their gang is complete."""
        present = [pod for pod in pods if pod.is_there]
        running = Counter(self.number(pod) for pod in present if pod.start.chips or not self.has_chips)
        for pod in present:
            number = self.number(pod)
            if (
                pod.end is None
                and pod.replicated_job in self.ends
                and running[number] >= self.tpu_pods[number]
            ):
                yield pod

    def needs(self, pod: Pod) -> bool:
        """Tell whether the programs of a gang stop without this pod. Only the head has a Pathways program."""
        has_part = bool(pod.start.chips) or not self.has_chips
        return pod.replicated_job in self.ends or (has_part and HEAD not in self.ends)

    def number(self, pod: Pod) -> int:
        """Return the gang of a pod."""
        return self.numbers.get(pod.replicated_job, 0)


def slices_of(item: Object, plan: tuple[int, int]) -> list[tuple[str, int, int]]:
    """Return each replicated job with chips: its name, its slices, and the hosts of a slice.

    `plan` has the slices and hosts of a PathwaysJob, whose pods are made by its controller.
    """
    if item["kind"] == "PathwaysJob":
        return [("", *plan)]
    return [(pods.name, pods.slices, pods.hosts) for pods in pods_of(item, item["kind"]) if pods.chips]


def gangs(item: Object, plan: tuple[int, int] = (0, 0)) -> Gangs:
    """Return the gangs of a run object; `plan` as for `slices_of`."""
    numbers = _numbers(item)
    tpu_pods = dict.fromkeys((0, *numbers.values()), 0)
    on_tpus = slices_of(item, plan)
    everything = [(pods.name, pods.slices, pods.hosts) for pods in pods_of(item, item["kind"])]
    for name, slices, hosts in on_tpus or everything:
        tpu_pods[numbers.get(name, 0)] += slices * hosts
    return Gangs(tpu_pods, numbers, bool(on_tpus), _ending(item) | {*_steps(item)})


def ends_by_itself(item: Object) -> bool:
    """Tell whether a run ends with its program. A headless Pathways run waits for clients and never ends."""
    return bool(_ending(item))


def lacks_head(item: Object, ran: Collection[str]) -> bool:
    """Tell whether a Pathways run has no head. `ran` are the replicated jobs that had a running pod."""
    jobs = item["spec"].get("replicatedJobs", ())
    is_pathways = item["kind"] == "PathwaysJob" or any(job["name"] == HEAD for job in jobs)
    return is_pathways and HEAD not in ran


def _ending(item: Object) -> frozenset[str]:
    """Return the jobs whose pods end: those that the success policy of a JobSet names, else all.

    The others are servers that go with them, such as a TensorBoard or the workers of a Pathways head.
    """
    if item["kind"] == "PathwaysJob":
        return frozenset([HEAD] if "template" in item["spec"].get("controller", {}) else [])
    jobs = frozenset(pods.name for pods in pods_of(item, item["kind"]))
    targets = (item["spec"].get("successPolicy") or {}).get("targetReplicatedJobs") or ()
    return jobs & {*targets} if targets or HEAD in jobs else jobs


def _steps(item: Object) -> Iterator[str]:
    """Yield the replicated jobs that must complete before another starts: their programs end too."""
    for job in item["spec"].get("replicatedJobs", ()):
        yield from (other["name"] for other in job.get("dependsOn") or () if other["status"] == "Complete")


def _numbers(item: Object) -> dict[str, int]:
    """Return the gang of each replicated job; one that waits until another is complete is in a later gang."""
    numbers: dict[str, int] = {}
    for job in item["spec"].get("replicatedJobs", ()):
        earlier = job.get("dependsOn") or ()  # JobSet lets it name only jobs above
        numbers[job["name"]] = max(
            (numbers.get(other["name"], 0) + (other["status"] == "Complete") for other in earlier), default=0
        )
    return numbers
