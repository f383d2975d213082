"""Parts, run objects and events of a rehearsal in a few words."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from tests.rendering.plan import kit as plans

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.types import Object
from slicewright.rehearse.fault_kinds import FAULT_KINDS
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.scenario_part import ScenarioPart, part
from slicewright.rehearse.model.timeline import Timeline, Timelines
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plans import Planned
from slicewright.rendering.repository import Settings, read_repository

A = "default/a"
"""The run of most timelines."""
SPEC = "tpu: v5litepod-8\nnaming: Fixed\ncontainer: {image: python:3.12}"


def planned(rehearsal: str = "", *, name: str = "a", spec: str = SPEC) -> Planned:
    """Return a workload with a rehearsal block (its first line is line 9), and its plan."""
    block = f"\nrehearsal:\n{textwrap.indent(textwrap.dedent(rehearsal).strip(), '  ')}" if rehearsal else ""
    file = SourceFile(f"workloads/{name}.yaml", plans.workload(spec + block, name=name))
    (workload,) = read_repository([file], Settings(), package(), lambda _path: None).workloads
    return Planned(plans.plan(spec, name=name), workload)


def part_of(rehearsal: str = "", *runs: Object, name: str = "a", spec: str = SPEC) -> ScenarioPart:
    """Return the part of a workload; without run objects it is a JobSet of one slice."""
    return part(planned(rehearsal, name=name, spec=spec), runs or (jobset(name),), FAULT_KINDS)


def jobset(name: str = "a", *jobs: Object, queue: str = "", **spec: Any) -> Object:
    """Return a JobSet; without replicated jobs it is a slice of two hosts with four chips each."""
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"replicatedJobs": list(jobs) or [replicated_job("slice")], **spec},
    }


def replicated_job(name: str, *, replicas: int = 1, pods: int = 2, chips: int = 4) -> Object:
    """Return an entry of a JobSet."""
    return {"name": name, "replicas": replicas, "template": {"spec": job_spec(pods=pods, chips=chips)}}


def job(name: str = "a", *, pods: int = 2, chips: int = 4) -> Object:
    """Return a Job of its own."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": job_spec(pods=pods, chips=chips),
    }


def pathwaysjob(name: str = "a", **controller: Any) -> Object:
    """Return a PathwaysJob."""
    return {
        "apiVersion": "pathways-job.pathways.domain/v1",
        "kind": "PathwaysJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"workers": [], **({"controller": controller} if controller else {})},
    }


def job_spec(*, pods: int, chips: int) -> Object:
    """Return the spec of a Job."""
    asked = {"google.com/tpu": str(chips)} if chips else {}
    container = {"name": "jax", "resources": {"limits": asked, "requests": asked}}
    return {"parallelism": pods, "completions": pods, "template": {"spec": {"containers": [container]}}}


# -- events


def pod(at: float, name: str, pool: str = "np-0", **facts: Any) -> Event:
    """Return the start of a TPU pod of the run default/a."""
    given = {"run": "default/a", "pod": name, "node_pool": pool, "chips": 4, "job": "slice/0", "job_uid": "u"}
    return Event(at, "podStarted", **{**given, **facts})


def gone(at: float, name: str, reason: str = "Succeeded", **facts: Any) -> Event:
    """Return the end of a TPU pod of the run default/a."""
    return Event(at, "podEnded", **{"run": "default/a", "pod": name, "reason": reason, "chips": 4, **facts})


def says(at: float, kind: Any, run: str = "default/a", **facts: Any) -> Event:
    """Return an event of the run default/a, or of another."""
    return Event(at, kind, run, **facts)


def told(
    *events: Event, end: float = 100.0, pods: Mapping[str, int] | None = None, queued: Iterable[str] = ()
) -> dict[str, Timeline]:
    """Return the timelines that events make; default/a has two TPU pods."""
    timelines = Timelines(pods or {"default/a": 2}, queued)
    for event in events:
        timelines.add(event)
    return timelines.close(end)


def spans(timeline: Timeline) -> list[tuple[str, float, float]]:
    """Return the states of a run and when they began and ended."""
    return [(span.state, span.start, span.end) for span in timeline.spans]


def ran(run: str, *when: tuple[float, float]) -> Timeline:
    """Return a run of a queue that ran at some times and finished."""
    from slicewright.rehearse.model.timeline import Span  # noqa: PLC0415

    first, last = when[0][0], when[-1][1]
    timeline = Timeline(
        run, submitted=0.0, admitted=first, started=first, ended=last, outcome="finished", is_queued=True
    )
    timeline.spans = [Span("running", start, end) for start, end in when]
    return timeline
