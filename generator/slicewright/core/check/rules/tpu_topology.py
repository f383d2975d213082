"""Rules of TPU pods whose nodes Kueue chooses by a Topology."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check import assignment, quota_read, quota_workload
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.fit import queue_of
from slicewright.core.check.rules.shapes import exclusive
from slicewright.core.check.scheduler import tolerates
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, TPU
from slicewright.core.plan.topology import SLICE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.quota import Flavor, PodSet
    from slicewright.core.kubernetes.pods import Pods

_TAINT = {"key": TPU, "value": "present", "effect": "NoSchedule"}


def _placed(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Pods, PodSet, str, Flavor]]:
    """Yield the TPU pods that can get only flavors with a Topology: name and facts of the first of these."""
    queue, known = queue_of(resource, objects), quota_read.quotas(objects)
    if queue is None:
        return
    for choice in assignment.choices(known, queue, quota_workload.pod_sets(resource, objects)):
        flavors = [known.flavors[name] for name in choice.flavors if name in known.flavors]
        if TPU not in choice.requests or not flavors or not all(flavor.has_topology for flavor in flavors):
            continue
        members = {member.name: member for member in choice.pods}
        found = ((pods, members.get(pods.name or "main")) for pods in resource.pods)
        yield from ((pods, one, choice.flavors[0], flavors[0]) for pods, one in found if one)


@rule("TPU154", RUN_KINDS)
def _tainted(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, member, name, flavor in _placed(resource, objects):
        if not tolerates((*member.tolerations, *flavor.tolerations), _TAINT):
            message = f"the pods do not tolerate the taint {TPU}, which all nodes of flavor '{name}' have"
            yield Finding(pods.spec_path, message)


@rule("TPU155", {"JobSet"}, "warning")
def _exclusive(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, _, name, _ in _placed(resource, objects):
        if exclusive(resource, pods) != NODE_POOL or SLICE_LEVEL in pods.annotations:
            continue
        message = f"two mechanisms choose the nodes: the Topology of flavor '{name}' and {EXCLUSIVE_TOPOLOGY}"
        yield Finding(pods.spec_path, message)
