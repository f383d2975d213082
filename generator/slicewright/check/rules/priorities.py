"""Rules of priorities: slices that JobSet does not keep apart, and classes that preempt admitted pods."""

from slicewright.check.rules.tpu_shape import exclusive, shape
from slicewright.kubernetes.fields import number, text
from slicewright.kubernetes.labels import NODE_POOL, QUEUE
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.scheduler import Nodes, can_meet, nodes_of
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

Priority = int | str | None
_Claims = dict[Nodes, dict[Priority, tuple[str, str]]]
"""By nodes and priority, (JobSet, class of its pods) of the first that claims whole node pools of them."""


@rule("TPU119", {"JobSet"}, "warning")
def _priorities(resource: Resource, objects: ObjectSet) -> Findings:
    """Compare the priority of pods with that of others that may claim the same node pools."""
    for pods in resource.pods:
        name = text(pods.spec.get("priorityClassName"))
        if not name or not _claims_node_pools(resource, pods, objects):
            continue
        rival = _rival(nodes_of(pods), _priority(name, objects), objects.once("exclusive claims", _claims))
        if rival is not None:
            other, theirs = rival
            their_class = f"'{theirs}'" if theirs else "no class"
            message = f"pods of priority class '{name}' and of JobSet '{other}' ({their_class}) can share "
            message += "a node pool: JobSet keeps only pods of the same priority apart"
            yield Finding((*pods.spec_path, "priorityClassName"), message)


def _rival(own: Nodes, priority: Priority, claims: _Claims) -> tuple[str, str] | None:
    """Return (JobSet, class of its pods) of another priority that may claim the same node pools."""
    for nodes, claimed in claims.items():
        others = [claim for theirs, claim in claimed.items() if theirs != priority]
        # Whether they can meet takes longer to find out, and hardly ever has to be.
        if others and can_meet(own, nodes):
            return others[0]
    return None


def _claims(objects: ObjectSet) -> _Claims:
    claims: _Claims = {}
    for resource in objects.of_kind("JobSet"):
        for pods in resource.pods:
            if _claims_node_pools(resource, pods, objects):
                name = text(pods.spec.get("priorityClassName"))
                claimed = claims.setdefault(nodes_of(pods), {})
                claimed.setdefault(_priority(name, objects), (resource.name, name))
    return claims


def _claims_node_pools(resource: Resource, pods: Pods, objects: ObjectSet) -> bool:
    """Tell whether each Job is a slice of several hosts that takes a whole node pool for itself."""
    if not exclusive(resource, pods):
        return False
    row = shape(pods, objects)
    if row is not None:
        return row.multi_host
    # By its name nobody can tell what is in a node pool; pods that ask for chips know.
    return NODE_POOL in pods.selector and pods.asks_for_tpu and pods.pods_per_job > 1


def _priority(name: str, objects: ObjectSet) -> Priority:
    """Return the value of a PriorityClass, or of the default; its name where the object is not known."""
    if not name:
        classes = (priority_class.data for priority_class in objects.of_kind("PriorityClass"))
        return next((number(data.get("value")) for data in classes if data.get("globalDefault") is True), 0)
    candidates = objects.candidates("PriorityClass", name)
    values = {number(priority_class.data.get("value")) for priority_class in candidates}
    return values.pop() if len(values) == 1 else name


@rule("JS154", {"JobSet"})
def _negative(resource: Resource, objects: ObjectSet) -> Findings:
    """Find pods with a negative priority, from which JobSet makes an invalid label."""
    for pods in resource.pods:
        name = text(pods.spec.get("priorityClassName"))
        value = _priority(name, objects)
        if isinstance(value, int) and value < 0:
            path: Path = (*pods.spec_path, "priorityClassName") if name else pods.spec_path
            of_class = f"PriorityClass '{name}'" if name else "the default PriorityClass"
            message = f"{of_class} has the value {value}, but JobSet creates no pods of a negative priority"
            yield Finding(path, message, is_certain=objects.is_cluster or name != "")


@rule("KQ146", {"PriorityClass"}, "warning")
def _preempts(resource: Resource, objects: ObjectSet) -> Findings:
    user = objects.once("queued users of classes", _users).get(resource.name)
    if user is not None and resource.data.get("preemptionPolicy") != "Never":
        is_written = "preemptionPolicy" in resource.data
        path = ("preemptionPolicy",) if is_written else ("metadata", "name")
        message = f"pods of the queued {user.kind} '{user.name}' can preempt individual pods of other slices"
        yield Finding(path, message)


def _users(objects: ObjectSet) -> dict[str, Resource]:
    """Return, by the name of a class, the first object in a queue whose TPU pods name it."""
    users: dict[str, Resource] = {}
    for resource in objects.all:
        if QUEUE in resource.labels:
            for pods in resource.pods:
                if pods.is_tpu:
                    users.setdefault(text(pods.spec.get("priorityClassName")), resource)
    return users
