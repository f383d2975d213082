"""Validate the time limits of a workload: they must leave its program enough time."""

import math
from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.quantity import seconds, without_days
from slicewright.rendering.plan.placement import FLEX_START_SECONDS, life_of
from slicewright.rendering.plan.resilience import survives_host_loss
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, node_life
from slicewright.rendering.plan.validate_workload import MAX_INT32
from slicewright.rendering.plan.ways import fits

_DEADLINE = ("podTemplate", "spec", "activeDeadlineSeconds")


def time_limit_problems(workload: Workload, shape: Shape, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a warning for each limit that ends the program of a workload too early."""
    block, policy, source = workload.spec.get("rehearsal", {}), workload.failure_policy, workload.source
    if "duration" not in block:
        return
    allowed, field, each = policy.max_restarts, "failurePolicy.maxRestarts", 1
    if workload.api == "Job":
        allowed, field, each = workload.backoff_limit or 0, "backoffLimit", shape.hosts
    path: Path = ("spec", *_DEADLINE)
    if workload.pathways is not None:
        allowed, path = MAX_INT32, ("spec", "pathways", "head", *_DEADLINE)
    whole = math.ceil(_attempts(block, math.inf)[1])
    deadline = at(source.data, *path)
    if deadline is not None and _attempts(block, deadline)[0] * each > allowed:
        message = f"the pods end after {deadline} s, but the program takes {whole} s"
        yield source.problem("JS147", path, message, f"write {whole} or more", warning=True)
    life, where = _life(workload, shape, site)
    again, takes = _attempts(block, life)
    hint = f"let it save checkpoints: write rehearsal.checkpointEvery, and enough {field}"
    hint = hint if again == math.inf else f"write {field}: {again * each:.0f}"
    message = f"the program takes {whole} s, but GKE deletes its nodes after {life:.0f} s"
    if workload.provisioning.type == "FlexStartQueued":
        allowed, hint = 0, "let it save checkpoints, and run it in parts with slicewright rerun"
        message += ", and Kueue then ends the run"
    elif policy.on_host_maintenance == "Restart" or survives_host_loss(workload.resilience):
        allowed = MAX_INT32
    if again * each > allowed:
        if whole <= FLEX_START_SECONDS[1] or not any(way.is_flex_start for way in workload.ways):
            hint = f"write maxRunDurationSeconds: {whole} or more {where}, or {hint}"
        yield source.problem("TPU173", ("spec", "rehearsal", "duration"), message, hint, warning=True)
        takes = whole
    limit = workload.max_execution_time_seconds
    if limit is not None and takes > limit:
        message = f"Kueue ends the run after {limit} s with all restarts, but the program takes {takes:.0f} s"
        hint = f"write {math.ceil(takes)} or more, and add time for the start of the pods and for restarts"
        yield source.problem("KQ173", ("spec", "maxExecutionTimeSeconds"), message, hint, warning=True)


def _attempts(block: dict[str, Any], limit: float) -> tuple[float, float]:
    """Return how often a program starts again if each attempt has `limit` seconds, and its whole time."""
    spans = (seconds(without_days(block.get(field, "0s"))) for field in ("duration", "checkpointEvery"))
    work, interval = (float(span or 0) for span in spans)
    startup = block.get("startupSeconds", 0)
    if startup + work <= limit:
        return 0, startup + work
    saved = max(0.0, limit - startup) // interval * interval if interval else 0.0
    again = math.ceil((startup + work - limit) / saved) if saved else math.inf
    return again, startup + work + again * (limit - saved)


def _life(workload: Workload, shape: Shape, site: ResolvedCluster) -> tuple[float, str]:
    """Return how long the nodes of a run live at most, and where this is written."""
    asked, lives = workload.max_run_duration_seconds, [(0.0, "")]
    for way in workload.ways:
        if way.type == "FlexStartQueued" or (site.cluster.mode == "Autopilot" and way.type != "ComputeClass"):
            lives.append((life_of(way, asked), "here"))
            continue
        for pool, has in site.pools:
            if has == shape and fits(way, pool.provisioning):
                of_class = pool.provisioning.type == "ComputeClass"
                where = f"ComputeClass '{way.name}'" if of_class else f"pool '{pool.name}'"
                here = "here and " if asked else ""
                lives.append((node_life(site, pool), f"{here}in {where} in {site.cluster.source.file.path}"))
    return max(lives) if len(lives) > 1 else (math.inf, "")
