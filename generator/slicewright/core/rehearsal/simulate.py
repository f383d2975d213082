"""A run object -> the same one with the annotations by which simulated pods know when they end.

The words are those of the test bed's Stages (slicewright/testbed/stages.yaml).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Object = dict[str, Any]

SECONDS = "slicewright.dev/simulated-seconds"
END = "slicewright.dev/simulated-end"
MARK = "slicewright.dev/rehearsal"
"""Label of everything that a rehearsal creates; its value is the rehearsal's own."""
_HEAD = "pathways-head"


def simulated(item: Object, seconds: float) -> Object:
    """Return a run whose pods succeed some real seconds after they started.

    Of a Pathways run only the head ends by itself, as with a real one: its success ends the workers. Where
    a head runs no program (headless) nothing ends by itself.
    """
    made = copy.deepcopy(item)
    if item["kind"] == "PathwaysJob":
        # Its controller gives the annotations of a PathwaysJob to the pods of the head.
        if "template" in item["spec"].get("controller", {}):
            made["metadata"].setdefault("annotations", {})[SECONDS] = f"{seconds:.3f}"
        return made
    for template in _that_end(made):
        template.setdefault("metadata", {}).setdefault("annotations", {})[SECONDS] = f"{seconds:.3f}"
    return made


def marked(item: Object, mark: str) -> Object:
    """Return an object with the label of a rehearsal."""
    made = copy.deepcopy(item)
    made["metadata"].setdefault("labels", {})[MARK] = mark
    return made


def ends_by_itself(item: Object) -> bool:
    """Tell whether a run ends when its program does; a headless Pathways waits for clients for ever."""
    if item["kind"] == "PathwaysJob":
        return "template" in item["spec"].get("controller", {})
    return any(True for _ in _that_end(item))


def _that_end(item: Object) -> Iterator[Object]:
    if item["kind"] == "Job":
        yield item["spec"]["template"]
        return
    jobs = item["spec"]["replicatedJobs"]
    pathways = any(job["name"] == _HEAD for job in jobs)
    targets = item["spec"].get("successPolicy", {}).get("targetReplicatedJobs") or ()
    for job in jobs:
        if not pathways or (job["name"] == _HEAD and _HEAD in targets):
            yield job["template"]["spec"]["template"]
