"""The runs of a tree compared with those of its cluster: the state of each, and its cause."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.cluster.status.causes import Cause, Queues, is_ready, pod_causes
from slicewright.cluster.status.inventory import Family, Inventory, labels_of, name_of, namespace_of
from slicewright.diff.tree_version import Objects, runs_of
from slicewright.kubernetes.fields import COMPLETED, Conditions, conditions, entries, is_true
from slicewright.kubernetes.labels import QUEUE, SWEEP, WORKLOAD
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object

State = Literal[
    "NotInCluster", "Suspended", "Pending", "Admitted", "Starting", "Running", "Finished", "Failed"
]


class Run(Struct, frozen=True, kw_only=True):
    """One run, as the cluster shows it."""

    workload: str
    """`namespace/name` of the TPUWorkload; empty for a run that slicewright did not render."""
    sweep: str
    """The name of the sweep that it is an entry of; empty for another run."""
    namespace: str
    run: str
    kind: str
    state: State
    since: str = ""
    """When the state began, as RFC 3339; empty if the cluster does not say."""
    chips: int
    queue: str
    cluster_queue: str = ""
    position: int | None = None
    """The place in the ClusterQueue from 1 on; None for a run that does not wait there."""
    restarts: int = 0
    pods: int = 0
    ready: int = 0
    """Pods that run and are ready, or have done their work."""
    in_tree: bool
    in_cluster: bool
    causes: tuple[Cause, ...] = ()

    @property
    def summary(self) -> str:
        """The state with its first cause, in one line."""
        if not self.causes:
            return self.state
        cause = self.causes[0]
        reason = "" if cause.reason == self.state else f", {cause.reason}"
        return f"{self.state}{reason}: {cause.line}"


class Status(Struct, frozen=True):
    """The runs of one cluster."""

    cluster: str
    context: str
    runs: tuple[Run, ...]
    unread: dict[str, str]
    """Kinds that could not be read, with the API server's message."""


def status(cluster: str, context: str, tree: Objects, inventory: Inventory, catalogue: Catalogue) -> Status:
    """Return the runs of a cluster, from the tree and from the cluster itself."""
    queues = Queues(inventory, catalogue)
    places = queues.positions()
    in_tree = {
        (key[2], key[3] or folder[1], key[4]): (f"{folder[1]}/{folder[2]}", item.data)
        for folder, runs in runs_of(tree).items()
        if folder[0] == cluster
        for key, item in runs.items()
    }
    in_cluster = {
        (family.run["kind"], namespace_of(family.run), name_of(family.run)): family
        for family in inventory.families.values()
    }
    rows = [
        _present(family, in_tree.get(key, ("", None))[0], queues, places, inventory)
        for key, family in in_cluster.items()
    ]
    rows += [
        _absent(key, workload, data, queues, inventory)
        for key, (workload, data) in in_tree.items()
        if key not in in_cluster
    ]
    runs = tuple(sorted(rows, key=lambda row: (row.workload or f"{row.namespace}/~", row.run)))
    return Status(cluster, context, runs, dict(inventory.unread))


def _absent(
    key: tuple[str, str, str], workload: str, run: Object, queues: Queues, inventory: Inventory
) -> Run:
    kind, namespace, name = key
    if kind in inventory.unread:
        cause = Cause("NotReadable", f"not every {kind} there can be read", inventory.unread[kind])
    else:
        hint = (
            "sync overlays/, or kubectl apply -k; if somebody deleted it, slicewright rerun starts it again"
        )
        cause = Cause("NotInCluster", f"the tree has it, but the cluster has no {kind} {name}", "", hint)
    return Run(
        workload=workload,
        sweep=labels_of(run).get(SWEEP, ""),
        namespace=namespace,
        run=name,
        kind=kind,
        state="NotInCluster",
        chips=queues.chips(run),
        queue=labels_of(run).get(QUEUE, ""),
        in_tree=True,
        in_cluster=False,
        causes=(cause,),
    )


def _present(
    family: Family,
    workload: str,
    queues: Queues,
    places: dict[tuple[str, str], int],
    inventory: Inventory,
) -> Run:
    run, pods = family.run, family.pods
    ours = labels_of(run).get(WORKLOAD)
    state, since = _state(family)
    own = family.workload
    return Run(
        workload=workload or (f"{namespace_of(run)}/{ours}" if ours else ""),
        sweep=labels_of(run).get(SWEEP, ""),
        namespace=namespace_of(run),
        run=name_of(run),
        kind=run["kind"],
        state=state,
        since=since,
        chips=queues.chips(run),
        queue=family.queue,
        cluster_queue=queues.cluster_queue(family),
        position=places.get((namespace_of(own), name_of(own))) if own and state == "Pending" else None,
        restarts=_restarts(family),
        pods=expected(family),
        ready=sum(map(is_ready, pods)),
        in_tree=bool(workload),
        in_cluster=True,
        causes=tuple(_causes(family, state, queues, inventory)),
    )


def _state(family: Family) -> tuple[State, str]:
    """Return the state of a run, and since when it is in it."""
    run = family.run
    created = run["metadata"].get("creationTimestamp", "")
    for of_run in _run_conditions(family):
        for kind in ("Failed", *COMPLETED):
            if is_true(of_run, kind):
                return "Failed" if kind == "Failed" else "Finished", of_run[kind].since
    own = family.workload
    is_inactive = own is not None and own["spec"].get("active") is False
    is_suspended = bool(run["spec"].get("suspend"))
    if is_inactive or (is_suspended and not family.queue):
        return "Suspended", created
    of_kueue = conditions(own.get("status", {})) if own else {}
    if family.queue and not is_true(of_kueue, "Admitted") and not family.pods:
        # An eviction begins a new wait.
        return "Pending", of_kueue["Evicted"].since if is_true(of_kueue, "Evicted") else created
    begun = of_kueue["Admitted"].since if "Admitted" in of_kueue else created
    if not family.pods:
        return "Admitted", begun
    if sum(map(is_ready, family.pods)) < expected(family):
        return "Starting", begun
    ready = [conditions(pod["status"]).get("Ready") for pod in family.pods]
    return "Running", max((condition.since for condition in ready if condition), default=begun)


def _run_conditions(family: Family) -> list[Conditions]:
    """Return the conditions of a run, and of the JobSet that a PathwaysJob makes."""
    items = [family.run]
    if family.run["kind"] == "PathwaysJob":
        items += family.members["JobSet"]
    return [conditions(item.get("status", {})) for item in items]


def expected(family: Family) -> int:
    """Return how many pods run together: only those of existing Jobs while other Jobs wait for them."""
    jobsets = family.members["JobSet"]
    maker = jobsets[0] if jobsets else family.run
    jobs = [item for item in family.members["Job"] if not item["spec"].get("suspend")]
    in_turn = any(job.get("dependsOn") for _, job in entries(maker["spec"].get("replicatedJobs")))
    makers = jobs if jobs and (in_turn or maker["kind"] == "PathwaysJob") else [maker]
    return sum(pods.count for item in makers for pods in pods_of(item, item["kind"]))


def _restarts(family: Family) -> int:
    """Return the number of restarts: JobSet's count, or the failed pods of a single Job."""
    jobsets = family.members["JobSet"]
    if jobsets:
        return max(int(item.get("status", {}).get("restarts", 0)) for item in jobsets)
    return sum(item.get("status", {}).get("failed", 0) for item in family.members["Job"])


def _causes(family: Family, state: State, queues: Queues, inventory: Inventory) -> Iterable[Cause]:
    if state == "Failed":
        return _failure(family, inventory)
    if state == "Pending" or (state == "Suspended" and family.queue):
        return queues.causes(family)
    if state == "Suspended":
        message = "suspend is true, and no queue is named that would resume it"
        return (Cause("Suspended", message, "", "set spec.suspend to false, or give it a queue"),)
    causes = list(queues.other_flavor(family)) if state in ("Admitted", "Starting", "Running") else []
    if state in ("Admitted", "Starting"):
        causes += pod_causes(family, inventory)
    return causes


def _failure(family: Family, inventory: Inventory) -> Iterable[Cause]:
    """Return the controller's reason for the failure, with an exit code if a failed pod still exists."""
    failed = next(of_run["Failed"] for of_run in _run_conditions(family) if is_true(of_run, "Failed"))
    policies = (item["spec"].get("failurePolicy") for item in family.members["JobSet"])
    most = next((policy.get("maxRestarts", 0) for policy in policies if policy is not None), None)
    if failed.reason == "ReachedMaxRestarts":
        reason, message = "RestartsUsedUp", f"it failed, and its {most} restarts are used up"
    else:
        reason, message = "RunFailed", f"it failed after {_restarts(family)} restarts"
    causes = (cause for cause in pod_causes(family, inventory) if cause.reason == "ContainerFailed")
    ended = next(causes, None)
    if ended:
        message += f"; {ended.message}"
    elif "Pod" not in inventory.unread:
        message += "; its failed pods are gone, so the cluster does not say the exit code"
    hint = "read the logs of the failed pods; start it again: slicewright rerun"
    return (Cause(reason, message, f"{failed.reason}: {failed.message}", hint),)
