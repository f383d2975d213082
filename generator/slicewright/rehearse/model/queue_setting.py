"""What a rehearsal knows of its queues and of the requests of its runs, apart from its events."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct, field

from slicewright.catalogue.catalogue import Catalogue
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object
from slicewright.kueue.assignment import choices
from slicewright.kueue.quota import Key, Quotas, add
from slicewright.kueue.quota_read import quotas
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource
from slicewright.rehearse.model.event import CHECKED, TIMED_OUT, run_key
from slicewright.rehearse.model.run_pods import ends_by_itself
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.flavor import TpuCapacity, capacities

_MOVED_BACK = frozenset({TIMED_OUT, CHECKED})
"""Kueue's GetQueueOrderTimestamp (pkg/workload/workload.go)."""


class Setting(Struct, frozen=True):
    """What a rehearsal knows of its queues and runs, apart from its events."""

    known: Quotas
    demands: dict[str, tuple[tuple[tuple[str, ...], int], ...]]
    """By run: the flavors that its pod sets may use, and the chips that they need of one of them."""
    beside: dict[str, dict[Key, Fraction]]
    """By run: what it needs beside chips, of flavors to which it has no alternative."""
    selects: dict[str, frozenset[str]]
    """By run: the keys of the node labels that its pods select before Kueue adds those of a flavor."""
    queue_of: Mapping[str, str]
    priorities: Mapping[str, int]
    """Priorities of the Workloads that Kueue created, by run."""
    policies: dict[str, dict[str, Any]]
    """`preemption` of each ClusterQueue."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """The chips of all nodes that a flavor can have; a flavor that is not here has enough."""
    is_fair: bool = False
    """Whether Kueue's Configuration turns on fair sharing, which does not read borrowWithinCohort."""
    endless: frozenset[str] = frozenset()
    """Runs that do not end by themselves, such as a headless Pathways."""
    strict: frozenset[str] = frozenset()
    """The ClusterQueues in which the first run blocks all others: StrictFIFO."""
    moved_back: frozenset[str] = _MOVED_BACK
    """Reasons of evictions that move a run to the end of its queue; after others it keeps its place."""


def read_setting(
    runs: Iterable[Object],
    platform: Sequence[Object],
    catalogue: Catalogue,
    queue_of: Mapping[str, str],
    priorities: Mapping[str, int],
    settings: Mapping[str, Any],
    site: ResolvedCluster | None = None,
) -> Setting:
    """Read what runs need, and what their queues may give; `settings` is Kueue's Configuration."""
    resources = [Resource(item, "") for item in runs]
    objects = ObjectSet([*(Resource(item, "") for item in platform), *resources], catalogue)
    known = quotas(objects)
    demands = {}
    selects: dict[str, frozenset[str]] = {}
    beside: dict[str, dict[Key, Fraction]] = {}
    for resource in resources:
        run = run_key(resource.data)
        templates = pods_of(resource.data, resource.data["kind"])
        selects[run] = frozenset(key for pods in templates for key in pods.spec.get("nodeSelector") or ())
        if queue := known.queues.get(queue_of.get(run, "")):
            needs: dict[tuple[str, ...], int] = defaultdict(int)
            needed = choices(known, queue, pod_sets(resource, objects))
            for choice in needed:
                if TPU in choice.requests:
                    needs[choice.flavors] += int(choice.requests[TPU])
                if len(choice.flavors) == 1:
                    others = ((name, value) for name, value in choice.requests.items() if name != TPU)
                    add(
                        beside.setdefault(run, {}),
                        {(choice.flavors[0], name): value for name, value in others},
                    )
            demands[run] = tuple(needs.items())
    policies = {
        item["metadata"]["name"]: item["spec"].get("preemption") or {}
        for item in platform
        if item["kind"] == "ClusterQueue"
    }
    endless = frozenset(run_key(item.data) for item in resources if not ends_by_itself(item.data))
    strict = frozenset(
        item["metadata"]["name"]
        for item in platform
        if item["kind"] == "ClusterQueue" and item["spec"].get("queueingStrategy") == "StrictFIFO"
    )
    requeues = (settings.get("waitForPodsReady") or {}).get("requeuingStrategy") or {}
    is_by_creation = requeues.get("timestamp") == "Creation"
    return Setting(
        known,
        demands,
        beside,
        selects,
        queue_of,
        priorities,
        policies,
        _nodes(site),
        is_fair=bool(settings.get("fairSharing")),
        endless=endless,
        strict=strict,
        moved_back=frozenset({CHECKED}) if is_by_creation else _MOVED_BACK,
    )


def _nodes(site: ResolvedCluster | None) -> dict[str, int]:
    chips: dict[str, int] = defaultdict(int)
    if site:
        for capacity in capacities(site).values():
            if isinstance(capacity, TpuCapacity):
                chips[capacity.flavor.name] += capacity.shape.chips * capacity.most
    return chips
