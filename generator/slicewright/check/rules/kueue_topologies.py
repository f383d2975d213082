"""Rules of topologies and shapes: levels that no Topology has, several shapes in one StrictFIFO queue."""

from msgspec.structs import replace

from slicewright.catalogue.shape import joined
from slicewright.check.rules.kueue_queues import quotas as own_quotas
from slicewright.check.rules.kueue_workloads import FIXED, LAYERS, SLICE, layers_of
from slicewright.kubernetes.fields import at, entries, text
from slicewright.kubernetes.kinds import TEMPLATE_KINDS
from slicewright.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, TOPOLOGY, TPU, meant_key
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.kueue.quota_read import queues_of, quotas
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


@rule("KQ156", TEMPLATE_KINDS)
def _levels(resource: Resource, objects: ObjectSet) -> Findings:
    asking = [(pods, asked) for pods in resource.pods if pods.annotations and (asked := _asked(pods))]
    if not asking:
        return
    known = objects.once("levels of topologies", _topologies)
    beyond = {
        level for levels in objects.widest.once("levels of topologies", _topologies) for level in levels
    }
    queues = queues_of(resource, objects)
    if queues:
        named = [(view, name) for view, queue in queues for _, group in queue.groups for name in group]
        flavors = [view.flavors[name] for view, name in named if name in view.flavors]
        known = [list(flavor.levels) for flavor in flavors if flavor.levels]
    for pods, asked in asking:
        path = (*pods.path, "metadata", "annotations")
        names = [level for _, level in asked]
        fitting = [levels for levels in known if set(names) <= set(levels)]
        if not fitting and not queues:  # else FIT102 reports what the flavors of the queue lack
            missing = _missing([entry for entry in asked if entry[1] not in beyond], known, path)
            is_certain = not known or objects.misses("Topology", "", resource)
            yield from (replace(finding, is_certain=is_certain) for finding in missing)
        if fitting and all(sorted(names, key=levels.index) != names for levels in fitting):
            right = "from the widest (all pods) to the narrowest (slices)"
            message = f"the levels must go {right}, but are {joined(names)}"
            hint = "write the same level for the slices as for all pods, or a narrower level"
            yield Finding((*path, asked[-1][0]), message, hint)


def _missing(asked: list[tuple[str, str]], known: list[list[str]], path: Path) -> Findings:
    """Yield the levels that no Topology has; if none is known, those that no node of GKE has."""
    levels = {level for levels in known for level in levels}
    for key, level in asked:
        if known and level not in levels:
            yield Finding((*path, key), f"no Topology has the level '{level}'", did_you_mean(level, levels))
        elif right := "" if known else meant_key(level):
            yield Finding((*path, key), f"no node has the label '{level}'", f"did you mean '{right}'?")


def _topologies(objects: ObjectSet) -> list[list[str]]:
    return [
        [text(level.get("nodeLabel")) for _, level in entries(at(resource.data, "spec", "levels"))]
        for resource in objects.of_kind("Topology")
    ]


def _asked(pods: Pods) -> list[tuple[str, str]]:
    """Return (annotation, level) of what pods ask for: the level of all pods first, small slices last."""
    asked = [(key, pods.annotations[key]) for key in (*FIXED, SLICE) if key in pods.annotations]
    return asked + [(LAYERS, level) for level, _ in layers_of(pods.annotations.get(LAYERS, "")) or ()]


_SHAPE = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)


@rule("KQ159", {"ClusterQueue"}, "warning")
def _strict(resource: Resource, objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "queueingStrategy") != "StrictFIFO":
        return
    known = quotas(objects).flavors
    names = {flavor for _, flavor, quota in own_quotas(resource) if quota.get("name") == TPU}
    shapes = {tuple(known[name].labels.get(key) for key in _SHAPE) for name in names if name in known}
    number = len(shapes - {(None, None, None)})
    if number > 1:
        message = (
            f"the queue has {number} shapes of TPUs, and a run that waits for one shape blocks all others"
        )
        yield Finding(("spec", "queueingStrategy"), message)
