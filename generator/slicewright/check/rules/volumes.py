"""Rules of volumes that the hosts of a run cannot share: a disk is attached to one node."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.check.rules.fit_namespace import finished_before
from slicewright.check.rules.provisioning_requests import is_behind_request
from slicewright.check.rules.tpu_shape import shape
from slicewright.kubernetes.fields import at, count, entries, mapping, text, words
from slicewright.kubernetes.kinds import NAMESPACED_KINDS, POD_KINDS
from slicewright.kubernetes.labels import FUSE, FUSE_DRIVER, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule
from slicewright.rendering.plan.validate_workload import DEV_SHM

_LOADERS = re.compile(r"\bvllm\b|(?:num[_-]workers|worker_count)[= ]+[1-9]")
"""What tells that processes of a program exchange batches through shared memory."""
_OF_ONE_NODE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
_DISKS = ("pd.csi.storage.gke.io", "kubernetes.io/gce-pd")
_DISK_CLASSES = ("premium-rwo", "standard", "standard-rwo")
"""Classes that every GKE cluster has, and whose volumes are disks."""


class _Mount(Struct, frozen=True):
    """A volume that several pods share."""

    name: str
    """Its name in the pods."""
    subject: str
    spec: dict[str, Any]
    """The spec of its claim."""
    path: Path
    holder: str = ""
    """The namespace of the claim, or the run that makes it."""

    @property
    def volume(self) -> tuple[str, str]:
        """What is the same for all mounts of one volume."""
        return self.subject, self.holder


def _mounts(resource: Resource, pods: Pods, objects: ObjectSet) -> Iterator[_Mount]:
    """Yield the claims that pods share, as far as they are known; those of each pod are not among them."""
    for index, volume in entries(pods.spec.get("volumes")):
        path, name = (*pods.spec_path, "volumes", index), text(volume.get("name"))
        disk = volume.get("gcePersistentDisk")
        if isinstance(disk, dict) and disk.get("readOnly") is not True:
            spec = {"accessModes": ["ReadWriteOnce"]}
            yield _Mount(name, f"disk '{disk.get('pdName', '')}'", spec, (*path, "gcePersistentDisk"))
        claim, namespace = text(at(volume, "persistentVolumeClaim", "claimName")), resource.namespace
        others = objects.candidates("PersistentVolumeClaim", claim, namespace, resource.file)
        others = others or tuple(
            other
            for other in objects.beside
            if (other.kind, other.name) == ("PersistentVolumeClaim", claim)
            and (other.namespace or "default") == (namespace or "default")
        )
        for other in others[:1]:
            subject = f"claim '{claim}' of {other.file}"
            spec, path = mapping(other.data.get("spec")), (*path, "persistentVolumeClaim")
            yield _Mount(name, subject, spec, path, other.namespace)
    for at_policy, policy in entries(at(resource.data, "spec", "volumeClaimPolicies")):
        for at_template, template in entries(policy.get("templates")):
            path = ("spec", "volumeClaimPolicies", at_policy, "templates", at_template, "spec")
            name = text(at(template, "metadata", "name"))
            mounts = (entries(container.get("volumeMounts")) for _, container in pods.containers)
            if any(mount.get("name") == name for of_one in mounts for _, mount in of_one):
                subject = f"the one claim of template '{name}'"
                yield _Mount(name, subject, mapping(template.get("spec")), path, resource.subject)


def _hosts(resource: Resource, pods: Pods, objects: ObjectSet) -> int:
    """Return the least number of nodes of some pods: those that use all chips of a host have one each."""
    number = pods.count
    if resource.kind in ("Deployment", "LeaderWorkerSet", "ReplicaSet"):
        number *= count(at(resource.data, "spec", "replicas"))
    row = shape(pods, objects)
    takes_host = row is not None and (row.multi_host or pods.chips == row.chips_per_host)
    return number if pods.asks_for_tpu and (takes_host or row is None) else 0


def _modes(spec: dict[str, Any]) -> frozenset[str]:
    return frozenset(mode for _, mode in words(spec.get("accessModes")))


@rule("REF166", NAMESPACED_KINDS)
def _one_node(resource: Resource, objects: ObjectSet) -> Findings:
    """Find claims of one node, or of one pod, that pods on several hosts mount."""
    hosts: dict[str, int] = {}
    earlier = finished_before(resource)
    for pods in (pods for pods in resource.pods if pods.name not in earlier):
        for mount in _mounts(resource, pods, objects):
            is_of_pod = _modes(mount.spec) == {"ReadWriteOncePod"}
            before = hosts.get(mount.subject, 0)
            number = before + (pods.count if is_of_pod else _hosts(resource, pods, objects))
            hosts[mount.subject] = number
            if not _modes(mount.spec) or _modes(mount.spec) - _OF_ONE_NODE:
                continue
            other = _first_users(objects).get(mount.volume, resource)
            if other is not resource and number and (objects.is_cluster or other.file == resource.file):
                message = (
                    f"{other.subject} mounts {mount.subject} too, on another node: only one of the runs "
                )
                message += "can start, and the pods of the other hold their chips"
                hint = "write accessModes: [ReadOnlyMany] for a filled disk, or a claim for each run"
                yield Finding(mount.path, message, hint, is_certain=False)
            # One finding for each claim, at the pods that are too many.
            if number < 2 or before > 1:  # noqa: PLR2004
                continue
            only = "one pod (ReadWriteOncePod)" if is_of_pod else "the pods of one node (ReadWriteOnce)"
            message = f"{number} pods on several hosts mount {mount.subject}, but it is for {only}"
            is_known = shape(pods, objects) is not None or is_of_pod
            hint = _instead(mount, may_wait=not is_behind_request(resource, pods, objects))
            yield Finding(mount.path, message, hint, is_certain=objects.is_cluster and is_known)


@once
def _first_users(objects: ObjectSet) -> dict[tuple[str, str], Resource]:
    """Return the first run that mounts each claim on whole nodes, by the claim's name in messages."""
    users: dict[tuple[str, str], Resource] = {}
    for resource in objects.all:
        for pods in resource.pods:
            if resource.kind in NAMESPACED_KINDS and _hosts(resource, pods, objects):
                for mount in _mounts(resource, pods, objects):
                    users.setdefault(mount.volume, resource)
    return users


def _instead(mount: _Mount, *, may_wait: bool) -> str:
    """Return what several hosts can mount: also a claim for each pod, if the volume `may_wait` for it."""
    bucket = f"csi: {{driver: {FUSE_DRIVER}, volumeAttributes: {{bucketName: BUCKET}}}}"
    fuse = f'{{name: {mount.name}, {bucket}}} and the annotation {FUSE}: "true" of the pods'
    ways = [f"share a bucket with the volume {fuse}"]
    ways.append("write accessModes: [ReadOnlyMany] for a filled disk")
    if "resources" in mount.spec and may_wait:
        keys = ("storageClassName", "resources")
        own = {key: mount.spec[key] for key in keys if key in mount.spec}
        spec = json.dumps({"accessModes": ["ReadWriteOnce"], **own})
        volume = f"{{name: {mount.name}, ephemeral: {{volumeClaimTemplate: {{spec: {spec}}}}}}}"
        ways.append(f"write the volume {volume}, which is a disk for each pod")
    return ", or ".join(ways)


@rule("REF167", {"PersistentVolumeClaim"})
def _disk(resource: Resource, objects: ObjectSet) -> Findings:
    """Find claims of disks that several nodes would write; only raw block volumes allow that."""
    spec = mapping(resource.data.get("spec"))
    name = text(spec.get("storageClassName"))
    if "ReadWriteMany" not in _modes(spec) or spec.get("volumeMode") == "Block":
        return
    classes = objects.candidates("StorageClass", name, near=resource.file)
    if any(text(one.data.get("provisioner")) in _DISKS for one in classes) or (
        not classes and name in _DISK_CLASSES
    ):
        message = f"StorageClass '{name}' makes disks, and only one node can write to the files of a disk"
        yield Finding(("spec", "accessModes"), message)


@rule("TPU190", POD_KINDS, "note")
def _shared_memory(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find programs of several processes that have only the shared memory of a container's default."""
    for pods in resource.pods:
        for path, container in pods.containers:
            limits = mapping(at(container, "resources", "limits"))
            program = [text(container.get("image"))]
            program += [word for key in ("command", "args") for _, word in words(container.get(key))]
            mounts = {text(mount.get("mountPath")) for _, mount in entries(container.get("volumeMounts"))}
            is_small = not (pods.spec.get("hostIPC") or DEV_SHM in mounts)
            if TPU in limits and is_small and _LOADERS.search(" ".join(program)):
                name = container.get("name", "")
                yield Finding(path, f"container '{name}' has only 64 MiB of {DEV_SHM} for its processes")
                return
