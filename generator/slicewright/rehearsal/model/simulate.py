"""A run object -> the same one with the annotations by which simulated pods know when they end.

The words are those of the test bed's Stages (slicewright/testbed/stages.yaml).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import ACCELERATOR
from slicewright.core.kubernetes.pods import pods_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from slicewright.core.kubernetes.types import Object

SECONDS = "slicewright.dev/simulated-seconds"
END = "slicewright.dev/simulated-end"
PENDING = "slicewright.dev/simulated-pending"
MARK = "slicewright.dev/rehearsal"
"""Label of everything that a rehearsal creates; its value is the rehearsal's own."""
HEAD = "pathways-head"
"""The replicated job that runs the program of a Pathways run."""


def simulated(item: Object, seconds: float) -> Object:
    """Return a run whose pods succeed some real seconds after they started.

    Where the success policy of a JobSet names replicated jobs, only those end by themselves, and the others
    are servers that go with them, such as a TensorBoard. A Pathways head ends when it is told to: its program
    begins when its workers are there.
    """
    made = copy.deepcopy(item)
    if item["kind"] == "PathwaysJob" or has_head(item):
        return made
    for template in _that_end(made):
        template.setdefault("metadata", {}).setdefault("annotations", {})[SECONDS] = f"{seconds:.3f}"
    return made


def has_head(item: Object) -> bool:
    """Tell whether a run is a Pathways run whose head has a program, on which all of it ends."""
    if item["kind"] == "PathwaysJob":
        return "template" in item["spec"].get("controller", {})
    return item["kind"] == "JobSet" and HEAD in _targets(item)


def marked(item: Object, mark: str) -> Object:
    """Return an object with the label of a rehearsal."""
    made = copy.deepcopy(item)
    made["metadata"].setdefault("labels", {})[MARK] = mark
    return made


def ends_by_itself(item: Object) -> bool:
    """Tell whether a run ends when its program does; a headless Pathways waits for clients forever."""
    return has_head(item) or (item["kind"] != "PathwaysJob" and any(True for _ in _that_end(item)))


def lacks_head(item: Object, ran: Collection[str]) -> bool:
    """Tell whether a Pathways run lacks its head, by the replicated jobs of which a pod `ran`."""
    jobs = item["spec"].get("replicatedJobs", ())
    is_pathways = item["kind"] == "PathwaysJob" or any(job["name"] == HEAD for job in jobs)
    return is_pathways and HEAD not in ran


def _that_end(item: Object) -> Iterator[Object]:
    """Yield the pod templates whose pods end: of a JobSet those that its success policy waits for."""
    every, targets = pods_of(item, item["kind"]), _targets(item)
    is_pathways = any(pods.name == HEAD for pods in every)
    for pods in every:
        if pods.name in targets or not (targets or is_pathways):
            yield pods.template


def _targets(item: Object) -> list[str]:
    found: list[str] = item["spec"].get("successPolicy", {}).get("targetReplicatedJobs") or []
    return found


_MOST_LABELS = 8
"""How many nodeLabels Kueue takes in a ResourceFlavor."""


def isolated(item: Object, mark: str) -> Object:
    """Return an object whose TPU pods ask for nodes with the label of a rehearsal.

    A flavor of TPU nodes has it too: topology-aware scheduling counts the nodes that a flavor names.
    """
    made = copy.deepcopy(item)
    if made["kind"] == "ResourceFlavor":
        labels = made.get("spec", {}).get("nodeLabels", {})
        if ACCELERATOR in labels and len(labels) < _MOST_LABELS:
            labels[MARK] = mark
    for asks in _selecting(made):
        asks.setdefault("nodeSelector", {})[MARK] = mark
    return made


def _selecting(item: Object) -> Iterator[Object]:
    """Yield where the TPU pods of a run have their node selector."""
    if item["kind"] == "PathwaysJob":
        yield from item["spec"]["workers"]
        return
    for pods in pods_of(item, item["kind"]):
        if pods.chips:
            yield pods.spec
