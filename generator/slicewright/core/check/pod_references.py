"""What pods need beside themselves: ConfigMaps, Secrets, volume claims and service accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.read import at, entries, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slicewright.core.intent.cluster import Existing
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

KINDS = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount")
_GIVEN = (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
"""What Kubernetes itself makes in every namespace."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One object of the pods' namespace without which they do not start."""

    kind: str
    name: str
    path: Path
    keys: tuple[str, ...] = ()
    """The keys that it must have."""


def references(pods: Pods) -> Iterator[Reference]:
    """Yield what pods need; neither what they call optional, nor what every namespace has."""
    for found in (*_of_volumes(pods), *_of_containers(pods)):
        if found.name and (found.kind, found.name) not in _GIVEN:
            yield found
    account = text(pods.spec.get("serviceAccountName"))
    if account and account != "default":
        yield Reference("ServiceAccount", account, (*pods.spec_path, "serviceAccountName"))


def needed(
    templates: Iterable[Pods], namespace: str, existing: Sequence[Existing] = ()
) -> Iterator[tuple[Reference, bool]]:
    """Yield what pods need, pull secrets too, and whether `existing` says that it is there."""
    for pods in templates:
        for found in (*references(pods), *pull_secrets(pods)):
            yield found, any(entry.has(found.kind, namespace, found.name) for entry in existing)


def absent_keys(wanted: Iterable[str], holder: Mapping[str, Any]) -> list[str]:
    """Return which keys a ConfigMap or Secret lacks; none where it is empty, for somebody else fills it."""
    held = {key for field in ("data", "binaryData", "stringData") for key in mapping(holder.get(field))}
    return [key for key in wanted if key not in held] if held else []


def pull_secrets(pods: Pods) -> Iterator[Reference]:
    """Yield the Secrets with which images are pulled: without them a private registry refuses."""
    for index, entry in entries(pods.spec.get("imagePullSecrets")):
        if text(entry.get("name")):
            yield Reference("Secret", text(entry["name"]), (*pods.spec_path, "imagePullSecrets", index))


def _of_volumes(pods: Pods) -> Iterator[Reference]:
    for index, volume in entries(pods.spec.get("volumes")):
        path = (*pods.spec_path, "volumes", index)
        yield from _source(volume, path)
        yield Reference("PersistentVolumeClaim", text(at(volume, "persistentVolumeClaim", "claimName")), path)
        yield Reference("Secret", text(at(volume, "csi", "nodePublishSecretRef", "name")), (*path, "csi"))
        for place, source in entries(at(volume, "projected", "sources")):
            yield from _source(source, (*path, "projected", "sources", place))


def _source(holder: dict[str, Any], path: Path) -> Iterator[Reference]:
    for kind, key, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        source = mapping(holder.get(key))
        if source.get("optional") is not True:
            keys = tuple(text(resource.get("key")) for _, resource in entries(source.get("items")))
            named = text(source.get(name)) or text(source.get("name"))
            yield Reference(kind, named, (*path, key), keys)


def _of_containers(pods: Pods) -> Iterator[Reference]:
    for path, container in (*pods.containers, *pods.init_containers):
        for index, entry in entries(container.get("env")):
            if "valueFrom" not in entry:
                continue
            for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                source = mapping(at(entry, "valueFrom", key))
                if source.get("optional") is not True:
                    place = (*path, "env", index, "valueFrom", key)
                    yield Reference(kind, text(source.get("name")), place, (text(source.get("key")),))
        for index, entry in entries(container.get("envFrom")):
            for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                source = mapping(entry.get(key))
                if source.get("optional") is not True:
                    yield Reference(kind, text(source.get("name")), (*path, "envFrom", index, key))
