"""Frozen runs that the taint of a flavor would lock out: the taint waits until they are over.

A run that was rendered while the cluster had its shape with one kind of provisioning does not tolerate the
taint. Where it is evicted, or is not admitted yet, Kueue would never admit it to a flavor that has one.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.document.document import values_in
from slicewright.document.read import read_documents
from slicewright.intent.tpucluster import ClusterQueue
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Provisioning
from slicewright.kubernetes.labels import (
    COMPUTE_CLASS,
    FLEX_START,
    PROVISIONING,
    QUEUE,
    RESERVATION,
    SPOT,
)
from slicewright.kubernetes.problem import Path, Problem, first_of
from slicewright.rendering.existing import Existing
from slicewright.rendering.plan.placement import provisioning_selector, shape_selector
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import fits
from slicewright.rendering.plans import Planned
from slicewright.rendering.platform.flavor import TpuCapacity, capacities, kept_apart

_WAYS = (SPOT, FLEX_START, COMPUTE_CLASS, RESERVATION)
"""Prefixes of the labels by which pods select a kind of provisioning."""
_DEFAULT = "default"
"""The LocalQueue that Kueue's webhook gives to runs without a queue, if their namespace has it."""
_SHOWN = 3


def locked_out(site: ResolvedCluster, existing: Existing, paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of frozen runs among some paths that a taint would lock out, by the flavor's name."""
    tainted = {
        name: capacity for name, capacity in kept_apart(site).items() if capacity.flavor.may_have_taint
    }
    waiting: dict[str, list[str]] = {}
    start = f"overlays/{site.cluster.name}/"
    if not tainted:
        return waiting
    for path in sorted(paths):
        text = existing.texts[path] if path in existing.frozen and path.startswith(start) else ""
        values = (values_in(document.data) for document in read_documents(text, path)[0])
        parts = [part for value in values for _, part in value if isinstance(part, dict)]
        if not text or any(part.get("key") == PROVISIONING for part in parts):
            continue
        local_queue = next((part[QUEUE] for part in parts if QUEUE in part), _DEFAULT)
        queue = site.cluster.queue_behind(local_queue, path.split("/")[2])
        for name in dict.fromkeys(capacity.flavor.name for capacity in _capacities(site, queue)):
            capacity = tainted.get(name)
            if capacity and _is_of(parts, capacity.shape) and _may_take(parts, capacity.pool.provisioning):
                waiting.setdefault(name, []).append(path)
    return waiting


def waiting(site: ResolvedCluster, untainted: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Warn of each flavor whose taint waits for runs to end."""
    if not site.cluster.managed:
        return
    apart = kept_apart(site)
    for name, paths in untainted.items():
        runs = [posixpath.basename(path).removesuffix(".yaml") for path in paths]
        were, those = ("was", "that run is") if len(runs) == 1 else ("were", "those runs are")
        message = f"flavor '{name}' gets no taint yet: {first_of(runs, _SHOWN)} {were} rendered "
        message += f"without the toleration. Until {those} over, Kueue can count runs "
        message += "with another provisioning in it"
        hint = "wait until the runs are over and delete their workloads, "
        hint += "or start the runs again: slicewright rerun NAME"
        place: Path = ("spec", "pools", apart[name].pool.index, "name")
        yield site.cluster.source.problem("POOL051", place, message, hint, warning=True)


def refused(entry: Planned, site: ResolvedCluster) -> Iterator[Problem]:
    """Refuse a new PathwaysJob where all flavors of its own way have a taint: its workers tolerate nothing.

    The taints of the others keep it off them, as they should.
    """
    workload, shape = entry.workload, entry.plan.shape
    if entry.plan.pattern != "pathwaysjob" or not site.cluster.managed:
        return
    queue = site.cluster.queue_behind(workload.queue_name or _DEFAULT, workload.namespace)
    apart = kept_apart(site)
    own = [
        capacity
        for capacity in _capacities(site, queue)
        if capacity.shape == shape and any(fits(way, capacity.pool.provisioning) for way in workload.ways)
    ]
    if own and all(capacity.flavor.name in apart and capacity.flavor.may_have_taint for capacity in own):
        name, pool = own[0].flavor.name, own[0].pool.name
        message = f"flavor '{name}' of the queue has a taint, but a PathwaysJob cannot tolerate it"
        hint = f"{DIRECT_JOBSET}, or flavorTaint: false in pool "
        hint += f"'{pool}' of {site.cluster.source.file.path}"
        yield workload.source.problem("REF152", ("spec", "api"), message, hint)


def _capacities(site: ResolvedCluster, queue: ClusterQueue | None) -> list[TpuCapacity]:
    """Return the TPU pools of a queue in the order in which Kueue tries their flavors."""
    known = capacities(site)
    pools = [known.get(quota.pool) for quota in queue.quota] if queue else []
    return [capacity for capacity in pools if isinstance(capacity, TpuCapacity)]


def _may_take(parts: list[dict[str, Any]], way: Provisioning) -> bool:
    """Tell whether a frozen run may have been admitted to a way; a PathwaysJob to its own alone.

    It begins only where the flavors of its own way have no taint, and the others keep it off.
    """
    if not any(part.get("kind") == "PathwaysJob" for part in parts):
        return True
    own = {key: value for part in parts for key, value in part.items() if str(key).startswith(_WAYS)}
    labels = provisioning_selector(way)
    return own.items() <= labels.items() and bool(own) == bool(labels)


def _is_of(parts: list[dict[str, Any]], shape: Shape) -> bool:
    """Tell whether pods of a frozen run select a shape; the workers of a PathwaysJob name the machine."""
    of_worker = {"type": shape.machine_type, "topology": shape.topology}
    selectors = (shape_selector(shape), of_worker)
    return any(selector.items() <= part.items() for selector in selectors for part in parts)
