"""Makes nodes, namespaces and the platform before a rehearsal, and removes them.

In an existing cluster, each object that is made has the label of the rehearsal, and only those are removed.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial

from msgspec.structs import replace

from slicewright.check.origin import of_cluster
from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.fields import conditions
from slicewright.kubernetes.kinds import KUEUE_VERSION, RBAC_VERSION, RUN_VERSIONS, SCHEDULING_VERSION
from slicewright.kubernetes.pods import maker
from slicewright.kubernetes.problem import counted, first_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.surroundings import OWNER_LABEL, Need, owned, volume
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.testbed import waiting
from slicewright.testbed.bed import Bed
from slicewright.testbed.waiting import BedError

_NAMESPACE, _NODE = ("v1", "Namespace"), ("v1", "Node")
_PLATFORM = (
    ("v1", "ServiceAccount"),
    (SCHEDULING_VERSION, "PriorityClass"),
    (KUEUE_VERSION, "WorkloadPriorityClass"),
    (KUEUE_VERSION, "Topology"),
    (KUEUE_VERSION, "ResourceFlavor"),
    (KUEUE_VERSION, "ProvisioningRequestConfig"),
    (KUEUE_VERSION, "AdmissionCheck"),
    (KUEUE_VERSION, "Cohort"),
    (KUEUE_VERSION, "ClusterQueue"),
    (KUEUE_VERSION, "LocalQueue"),
    (RBAC_VERSION, "Role"),
    (RBAC_VERSION, "RoleBinding"),
    ("v1", "ResourceQuota"),
)
_ORDER = tuple(kind for _, kind in (_NAMESPACE, *_PLATFORM))
"""Kinds in the order in which they are made; other kinds are not rehearsed."""
_RUNS = tuple(reversed(RUN_VERSIONS.values()))
"""Kinds with pods. Their objects go once their pods have gone, and pods need their nodes to end."""
_BESIDE = ("Service", "PersistentVolumeClaim", "PersistentVolume", "Secret", "ConfigMap")
_MADE = (*_RUNS, *(("v1", kind) for kind in _BESIDE), *reversed(_PLATFORM), _NODE, _NAMESPACE)
"""Kinds that a rehearsal may have made, in the order of removal."""
_GONE_SECONDS = 90
"""Seconds that a removal may take: pods whose node is gone are collected within 60."""
_FEW = 4


class ClusterSetup:
    """Makes the objects of a rehearsal, and removes them where the cluster continues without it."""

    def __init__(self, bed: Bed, owner: str, *, progress: Callable[[str], object] = lambda _: None) -> None:
        self._bed = bed
        self._owner = owner
        self._progress = progress

    @property
    def api(self) -> Api:
        """Return the client of the cluster."""
        return self._bed.api

    def set_up(
        self,
        nodes: Collection[Object],
        platform: Iterable[Object],
        namespaces: Iterable[str],
        site: ResolvedCluster,
    ) -> None:
        """Make nodes, the namespaces and the platform of a cluster, and wait for its queues.

        Raises BedError if the API server refuses an object.
        """
        make = partial(self._make, site)
        self.api.each(make, nodes)
        if nodes:
            self._progress(counted(len(nodes), "simulated node"))
        objects = [item for item in platform if item["kind"] in _ORDER]
        declared = {item["metadata"]["name"] for item in objects if item["kind"] == "Namespace"}
        objects += [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in namespaces
            if name not in declared
        ]
        for item in sorted(objects, key=lambda item: _ORDER.index(item["kind"])):
            make(item)
        queues = [item["metadata"]["name"] for item in objects if item["kind"] == "ClusterQueue"]
        self._bed.until("the queues to be known to Kueue", lambda: self._known(queues))
        self._progress(counted(len(queues), "ClusterQueue"))
        self._bed.wait_for_nodes(nodes)
        for name in {*namespaces, *declared}:
            self._bed.until(
                f"the service account of {name}",
                partial(self.api.find, "v1", "ServiceAccount", "default", name),
            )

    def create(self, item: Object) -> Object:
        """Create an object that carries the label of this rehearsal; its TPU pods go to our nodes alone.

        A volume claim gets a volume, as where a cluster provisions disks.
        """
        created = self.api.create(owned(item, self._owner), fieldValidation="Strict")
        if created["kind"] == "PersistentVolumeClaim":
            disk = volume(created)
            if self.api.find("v1", "PersistentVolume", disk["metadata"]["name"]) is None:
                self.api.create(owned(disk, self._owner))
        return created

    def surround(self, items: Iterable[Object]) -> None:
        """Create the objects that runs need, unless they exist. Raises ApiError."""
        for item in items:
            with Ignored("AlreadyExists"):
                self.create(item)

    def has(self, need: Need) -> bool:
        """Tell whether the cluster has an object."""
        return self.api.find(need.api_version, need.kind, need.name, need.namespace) is not None

    def is_ours(self, item: Object) -> bool:
        """Tell whether an object carries the label of this rehearsal."""
        labels: dict[str, str] = item["metadata"].get("labels", {})
        return labels.get(OWNER_LABEL) == self._owner

    def has_made(self, item: Object) -> bool:
        """Tell whether an object with the label of this rehearsal exists."""
        metadata = item["metadata"]
        kind = item["apiVersion"], item["kind"]
        existing = self.api.find(*kind, metadata["name"], metadata.get("namespace", ""))
        return existing is not None and self.is_ours(existing)

    def _make(self, site: ResolvedCluster, item: Object) -> None:
        """Create an object; a refusal is a problem at the nearest place of the TPUCluster file."""
        try:
            self.create(item)
        except ApiError as error:
            if error.reason == "AlreadyExists" and item["kind"] in ("Namespace", "ServiceAccount"):
                return
            problem = site.cluster.source.problem("REH006", of_cluster(site, item), *_refused(item, error))
            raise BedError(problem) from error

    def _known(self, queues: list[str]) -> bool:
        """Tell whether Kueue has written a condition for all queues, active or not."""
        known = {
            item["metadata"]["name"]
            for item in self.api.list(KUEUE_VERSION, "ClusterQueue")
            if "Active" in conditions(item.get("status", {}))
        }
        return known.issuperset(queues)

    def clear(self, *others: str) -> None:
        """Delete all objects with the label of this rehearsal or of `others`, and wait until they are gone.

        Raises BedError, ApiError, OSError.
        """
        label = f"{OWNER_LABEL} in ({','.join((self._owner, *others))})"
        for kind in _MADE:
            items: list[Object] = []
            with Ignored("NotFound"):
                items = self.api.list(*kind, labels=label)
            if not items:
                continue
            if kind == _NODE:
                nodes = {node["metadata"]["name"] for node in items}
                self._wait("pods on simulated nodes", partial(self._leaving, nodes))
            policy = "Foreground" if kind in _RUNS else "Background"
            self.api.each(partial(self.api.delete, policy=policy), items)
            self._wait(f"{kind[1]} objects", partial(self._left, kind, label))

    def _wait(self, objects: str, left: Callable[[], list[Object]]) -> None:
        try:
            self._bed.until(f"{objects} to go", lambda: not left(), seconds=_GONE_SECONDS)
        except BedError as error:
            if error.problem.id != waiting.TOO_LONG:
                raise
            names = [f"{item['kind']} {_name(item)}" for item in left()]
            message = f"{error.problem.message}: {first_of(names, _FEW)}"
            raise BedError(replace(error.problem, message=message)) from error

    def _left(self, kind: tuple[str, str], label: str) -> list[Object]:
        """Return the remaining objects of a kind, and the pods that delay their removal."""
        items = self.api.list(*kind, labels=label)
        if kind not in _RUNS or not items:
            return items
        runs = {_name(item) for item in items}
        pods = self.api.list("v1", "Pod")
        return [*items, *(pod for pod in pods if f"{pod['metadata']['namespace']}/{maker(pod)[1]}" in runs)]

    def _leaving(self, nodes: set[str]) -> list[Object]:
        """Return the pods on some nodes that are being deleted; others, as of a DaemonSet, are not ours."""
        return [
            pod
            for pod in self.api.list("v1", "Pod")
            if pod["spec"].get("nodeName") in nodes and "deletionTimestamp" in pod["metadata"]
        ]


def _refused(item: Object, error: ApiError) -> tuple[str, str]:
    name = f"{item['kind']} {item['metadata']['name']}"
    if error.reason == "AlreadyExists":
        hint = "a rehearsal changes no existing object: remove it, or rehearse on another cluster"
        return f"{name} already exists", hint
    hint = "slicewright validate shows the reasons without a cluster"
    return f"{name} of the platform was refused: {error.message}", hint


def _name(item: Object) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])
