"""Rules of ProvisioningRequests: what GKE's autoscaler can provision for a run that waits in a queue."""

from collections import Counter

from slicewright.catalogue.shape import Shape
from slicewright.check.rules.fit import LABEL, Asked, asked
from slicewright.check.rules.kueue_queues import queued_flavors
from slicewright.check.rules.tpu_shape import of_labels
from slicewright.kubernetes.kinds import QUEUED_KINDS
from slicewright.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, TOPOLOGY, TPU
from slicewright.kubernetes.problem import Path, counted
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


@rule(
    "KQ164",
    QUEUED_KINDS,
    hint="write a separate run for each slice, or use flex-start without a ProvisioningRequest "
    "(provisioning: FlexStart), which creates the slices one by one",
)
def _one_node_pool(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    queued = queued_flavors(objects).get(ask.queue.name) if ask else None
    if ask is None or not queued:
        return
    choices = [choice.flavors for choice in ask.choices if TPU in choice.requests]
    requested = [name for flavors in choices for name in flavors if name in queued]
    chips = _chips(ask, objects)
    slices = sum(-(-chips[shape] // shape.chips) for shape in chips if _is_node_pool(shape, objects))
    if requested and slices > 1:
        is_certain = any(queued.issuperset(flavors) for flavors in choices if flavors)
        message = f"the run needs {counted(slices, 'slice')} of flavor '{requested[0]}', but GKE provisions "
        message += "a ProvisioningRequest in one node pool, which is one slice"
        yield Finding(_several(resource), message, is_certain=is_certain)


def _chips(ask: Asked, objects: ObjectSet) -> Counter[Shape]:
    """Return how many chips a run requests of slices of each shape."""
    chips: Counter[Shape] = Counter()
    for choice in ask.choices:
        if choice.flavors and TPU in choice.requests:
            # Without chips: the leader of a topology group, and a job of no replicas.
            for pods in (pods for pods in choice.pods if pods.requests.get(TPU)):
                flavor = ask.known.flavors.get(choice.flavors[0])
                labels = {**(flavor.labels if flavor else {}), **pods.nodes.fixed()}
                keys = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
                rows = of_labels(objects.catalogue, *(labels.get(key, "") for key in keys))
                each = pods.requests[TPU] / pods.count
                rows = [row for row in rows if row.chips_per_host == each] or rows
                chips.update({row: int(pods.requests[TPU]) for row in rows[:1]})
    return chips


def _is_node_pool(shape: Shape, objects: ObjectSet) -> bool:
    """Tell whether each slice of a shape is one node pool.

    GKE can have many single hosts in a node pool, but slicewright creates one node pool for each slice.
    """
    cluster = objects.site.cluster if objects.site else None
    return shape.multi_host or (cluster is not None and cluster.managed and cluster.mode == "Standard")


def _several(resource: Resource) -> Path:
    """Return the field that multiplies the slices, else the label of the queue."""
    paths = (pods.replicas_path for pods in resource.pods if pods.asks_for_tpu and pods.replicas > 1)
    return next(filter(None, paths), LABEL)
