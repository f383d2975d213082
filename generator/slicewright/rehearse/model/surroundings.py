"""What a rehearsal adds to objects and around them: labels, annotations, volumes, and stand-ins for a Secret.

The annotations are those of the test bed's Stages (slicewright/testbed/stages.yaml).
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from slicewright.check.rules.references_pods import absent_keys, needed
from slicewright.intent.tpucluster import Existing
from slicewright.kubernetes.kinds import SCHEDULING_VERSION
from slicewright.kubernetes.labels import ACCELERATOR
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.scenario_part import ScenarioPart

END = "slicewright.dev/simulated-end"
PENDING = "slicewright.dev/simulated-pending"
OWNER_LABEL = "slicewright.dev/rehearsal"
"""Label of everything that a rehearsal creates; its value is the rehearsal's own."""
_MOST_LABELS = 8
"""How many nodeLabels Kueue takes in a ResourceFlavor."""


def owned(item: Object, owner: str) -> Object:
    """Return an object with the label of a rehearsal, whose TPU pods ask for nodes with that label.

    An existing cluster may have other nodes of the same shape: pods there would be missing in the report, and
    a fault would hit the work of others. A flavor of TPU nodes has the
    label among its own: topology-aware scheduling counts the nodes that a flavor names.
    """
    copied = copy.deepcopy(item)
    copied["metadata"].setdefault("labels", {})[OWNER_LABEL] = owner
    if copied["kind"] == "ResourceFlavor":
        labels = copied.get("spec", {}).get("nodeLabels", {})
        if ACCELERATOR in labels and len(labels) < _MOST_LABELS:
            labels[OWNER_LABEL] = owner
    if copied["kind"] == "PathwaysJob":
        specs = copied["spec"]["workers"]
    else:
        specs = [pods.spec for pods in pods_of(copied, copied["kind"]) if pods.chips]
    for spec in specs:
        spec.setdefault("nodeSelector", {})[OWNER_LABEL] = owner
    return copied


_CLASS = "PriorityClass"
_NOT_LOOKED_AT = ("ConfigMap", "Secret")
"""Kinds that simulated nodes do not check. For the other kinds, the API server refuses pods whose
ServiceAccount is missing, and the scheduler refuses pods whose volume claim is missing."""


class Need(Struct, frozen=True, order=True):
    """One object that pods need."""

    kind: str
    namespace: str
    name: str
    key: str = ""
    """The missing key of an object that exists; empty if the object itself is missing."""

    def describe(self) -> str:
        """Return the sentence that says that it is missing."""
        lacks = f"has no key '{self.key}'" if self.key else "is not in the tree"
        place = f" of namespace '{self.namespace}'" if self.namespace else ""
        return f"{self.kind} '{self.name}'{place} {lacks}"

    @property
    def api_version(self) -> str:
        """The API version of the kind."""
        return SCHEDULING_VERSION if self.kind == _CLASS else "v1"

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"kind": self.kind, "namespace": self.namespace, "name": self.name}


class Surroundings(Struct, frozen=True):
    """The objects that runs need, as a rehearsal finds them."""

    stand_ins: tuple[tuple[Need, Object], ...]
    """Empty stand-ins for objects that the TPUCluster lists, with the keys that pods need."""
    missing: Mapping[str, tuple[Need, ...]]
    """Missing objects by run."""


def surroundings(
    parts: Collection[ScenarioPart], objects: Iterable[Object], existing: Sequence[Existing]
) -> Surroundings:
    """Return which objects the runs of some parts need; `objects` are the other objects of the tree."""
    tree = (*objects, *(other for part in parts for other in part.others))
    held = {need_of(item): item for item in tree}
    keys: dict[Need, set[str]] = {}
    missing: dict[str, tuple[Need, ...]] = {}
    for item in (item for part in parts for item in part.runs):
        lacks = []
        namespace = need_of(item).namespace
        for reference, is_declared in needed(pods_of(item, item["kind"]), namespace, existing):
            need = Need(reference.kind, _place(reference.kind, namespace), reference.name)
            if need in held:
                lacks += [replace(need, key=key) for key in absent_keys(reference.keys, held[need])]
            elif is_declared:
                keys.setdefault(need, set()).update(reference.keys)
            else:
                lacks.append(need)
        if lacks:
            missing[run_key(item)] = tuple(dict.fromkeys(lacks))
    return Surroundings(tuple((need, _stand_in(need, keys[need])) for need in sorted(keys)), missing)


def not_in_tree(
    parts: Iterable[ScenarioPart], missing: Mapping[str, tuple[Need, ...]], file: str
) -> Iterator[Problem]:
    """Yield a problem for each missing object; `file` is that of the TPUCluster.

    An arrival of a profile gets no problems: the run of its template is one of the parts and gets them.
    """
    add = f"add it to the tree, or list it under existing: in {file}"
    for part in parts:
        if part.profile:
            continue
        for run in map(run_key, part.runs):
            for need in missing.get(run, ()):
                message = f"{run} cannot start: {need.describe()}"
                hint = "add the key, or correct its name" if need.key else add
                yield part.workload.source.problem("REH021", ("metadata", "name"), message, hint)


def need_of(item: Object) -> Need:
    """Return the Need that an object satisfies."""
    metadata = item["metadata"]
    return Need(item["kind"], _place(item["kind"], metadata.get("namespace", "default")), metadata["name"])


def _place(kind: str, namespace: str) -> str:
    """Return the namespace of a needed object; a PriorityClass has none."""
    return "" if kind == _CLASS else namespace


def held_back(item: Object, missing: Iterable[Need]) -> Object:
    """Return a run in which those pods never start that lack an object they need, as with a kubelet.

    The pods of a Pathways head get the annotations of its PathwaysJob.
    """
    lacks = {need for need in missing if need.kind in _NOT_LOOKED_AT}
    namespace = need_of(item).namespace
    copied = copy.deepcopy(item)
    for pods in pods_of(copied, copied["kind"]):
        needs = (
            Need(reference.kind, namespace, reference.name, key)
            for reference, _ in needed((pods,), namespace)
            for key in ("", *reference.keys)
        )
        if not lacks.isdisjoint(needs):
            holder = copied if copied["kind"] == "PathwaysJob" else pods.template
            holder.setdefault("metadata", {}).setdefault("annotations", {})[PENDING] = "true"
    return copied


def _stand_in(need: Need, keys: Iterable[str]) -> Object:
    item: Object = {
        "apiVersion": need.api_version,
        "kind": need.kind,
        "metadata": {"name": need.name, **({"namespace": need.namespace} if need.namespace else {})},
    }
    if need.kind == _CLASS:
        item["value"] = 0
    if need.kind == "PersistentVolumeClaim":
        item["spec"] = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    elif need.kind in _NOT_LOOKED_AT:
        item["data" if need.kind == "ConfigMap" else "stringData"] = dict.fromkeys(sorted(keys), "")
    return item


def volume(claim: Object) -> Object:
    """Return a PersistentVolume for a claim of the API server: a test bed has no provisioner."""
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": spec.get("volumeName") or f"pvc-{metadata['uid']}"},
        "spec": {
            "capacity": dict(spec["resources"]["requests"]),
            "accessModes": list(spec["accessModes"]),
            "storageClassName": spec.get("storageClassName") or "",
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/nowhere"},
            "claimRef": {**reference, "name": metadata["name"], "namespace": metadata["namespace"]},
        },
    }
