"""Run objects, with what simulated pods need to know when they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.rehearsal.model.simulate import SECONDS, ends_by_itself, has_head, marked, simulated

from .kit import job, jobset, pathwaysjob, replicated_job

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object


def timed(item: Object) -> list[str]:
    """Return the replicated jobs (or the Job) whose pods end by themselves."""
    made = simulated(item, 1.5)
    jobs = [made] if made["kind"] == "Job" else made["spec"].get("replicatedJobs", [])
    found = []
    for entry in jobs:
        template = entry.get("template", {}).get("spec", entry.get("spec", {}))["template"]
        if template.get("metadata", {}).get("annotations") == {SECONDS: "1.500"}:
            found.append(entry.get("name", "job"))
    return found


TENSORBOARD = (replicated_job("slice"), replicated_job("tensorboard", pods=1, chips=0))
HEAD = (replicated_job("pathways-head", pods=1, chips=0), replicated_job("worker"))


def targets(*names: str) -> Object:
    """Return a success policy that waits for some replicated jobs."""
    return {"operator": "All", "targetReplicatedJobs": list(names)}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (job(), ["job"]),
        (jobset("a", *TENSORBOARD), ["slice", "tensorboard"]),
        (jobset("a", *TENSORBOARD, successPolicy=targets("slice")), ["slice"]),
        (jobset("a", *HEAD, successPolicy=targets("pathways-head")), []),
        (jobset("a", *HEAD, successPolicy={"operator": "All"}), []),
        (pathwaysjob(template={}), []),
    ],
    ids=["job", "jobset", "auxiliary", "pathways", "headless", "pathwaysjob"],
)
def test_pods_end_that_the_run_waits_for(item: Object, expected: list[str]) -> None:
    """Servers beside them stay; a Pathways head is told later, when its workers are there."""
    assert expected == timed(item)


@pytest.mark.parametrize(
    ("item", "head", "ends"),
    [
        (job(), False, True),
        (jobset(), False, True),
        (jobset("a", *HEAD, successPolicy=targets("pathways-head")), True, True),
        (jobset("a", *HEAD, successPolicy={"operator": "All"}), False, False),
        (pathwaysjob(template={}), True, True),
        (pathwaysjob(deploymentMode="default"), False, False),
        (pathwaysjob(), False, False),
    ],
    ids=["job", "jobset", "pathways", "headless", "pathwaysjob", "headless pathwaysjob", "bare pathwaysjob"],
)
def test_headless_pathways_runs_for_ever(item: Object, head: bool, ends: bool) -> None:
    """It waits for clients until a person deletes it."""
    assert (head, ends) == (has_head(item), ends_by_itself(item))


def test_objects_are_copied_and_marked() -> None:
    """What a rehearsal creates can be found again, and the tree's own objects are not changed."""
    before = jobset()
    made = marked(simulated(before, 1.0), "ab12")

    assert jobset() == before
    assert made["metadata"]["labels"] == {"slicewright.dev/rehearsal": "ab12"}
