"""What the tests say about Argo CD: Applications, what they show, and what to wait for."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from functools import partial

from tests.e2e_argocd.argo import NAMESPACE

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

APPLICATION = ("argoproj.io/v1alpha1", "Application")
PROJECT = ("argoproj.io/v1alpha1", "AppProject")
CONFIGMAP = ("v1", "ConfigMap")
NAMESPACES = ("v1", "Namespace")
HERE = "https://kubernetes.default.svc"

_LOOK = "argocd.argoproj.io/refresh"
_TRACKED = "argocd.argoproj.io/tracking-id"
_LOOK_SECONDS = 600
_AGAIN_SECONDS = 30.0
_FINALIZERS: Object = {"metadata": {"finalizers": None}}
_OPERATION = ("phase", "retryCount", "startedAt", "finishedAt")
_numbers = itertools.count()


def application(bed: Bed, name: str) -> Object:
    """Return an Application."""
    return bed.api.get(*APPLICATION, name, NAMESPACE)


def sync(bed: Bed, revision: str, *names: str) -> None:
    """Let Applications see a revision, and wait until each has done what it does about it."""
    for name in names:
        look(bed, name)
    for name in names:
        until_looked(
            bed,
            name,
            f"Application {name} to be through with {revision[:8]}",
            partial(_has_seen, bed, name, revision),
        )


def _has_seen(bed: Bed, name: str, revision: str) -> bool:
    return is_through(application(bed, name), revision)


def look(bed: Bed, name: str) -> None:
    """Ask Argo CD to look at the repository now, as a webhook of a git server does.

    Argo CD may lose that: its controller puts the answer to a patch of its own into its memory, and thereby
    replaces a newer Application that it has seen meanwhile. A webhook sets the same value again, which is no
    change, so the controller sees none until its next resync (after an hour here). So each request has its
    own value; to Argo CD every value but `hard` is a normal one.
    """
    item = {"apiVersion": APPLICATION[0], "kind": APPLICATION[1]}
    change = {"metadata": {"annotations": {_LOOK: f"normal {next(_numbers)}"}}}
    bed.api.patch({**item, "metadata": {"name": name, "namespace": NAMESPACE}}, change)


def until_looked(bed: Bed, name: str, what: str, probe: Callable[[], object]) -> None:
    """Let Argo CD look at an Application until something holds.

    It looks again after a while: a look that comes while a sync ends may start no other sync, or be lost.
    """
    asked = -_AGAIN_SECONDS

    def looked() -> object:
        nonlocal asked
        if time.monotonic() - asked >= _AGAIN_SECONDS:
            look(bed, name)
            asked = time.monotonic()
        return probe()

    bed.until(what, looked, seconds=_LOOK_SECONDS)


def is_through(item: Object, revision: str) -> bool:
    """Tell whether an Application has compared with a revision and no sync of it runs or is about to."""
    status = item.get("status", {})
    if is_busy(item) or status.get("sync", {}).get("revision") != revision:
        return False
    synced = status["sync"]["status"] == "Synced"
    return synced or synced_revision(item) == revision or bool(errors(item))


def settled(bed: Bed, name: str) -> tuple[str, str, str]:
    """Return what `state` does once Argo CD has looked again: right after a sync it shows what was before."""
    until_looked(
        bed, name, f"Application {name} to be looked at", lambda: not is_busy(application(bed, name))
    )
    return state(bed, name)


def is_busy(item: Object) -> bool:
    """Tell whether Argo CD is to look at an Application, or syncs it."""
    asked = _LOOK in item["metadata"].get("annotations", {})
    return asked or "operation" in item or phase(item) == "Running"


def phase(item: Object) -> str:
    """Return how the last sync of an Application went: Succeeded, Failed, Error, Running; '' before it."""
    phase: str = item.get("status", {}).get("operationState", {}).get("phase", "")
    return phase


def synced_revision(item: Object) -> str:
    """Return the revision of the last sync."""
    state = item.get("status", {}).get("operationState", {})
    revision: str = state.get("syncResult", {}).get("revision", "")
    return revision


def sync_message(item: Object) -> str:
    """Return what the last sync said, of all objects together."""
    state = item.get("status", {}).get("operationState", {})
    results = state.get("syncResult", {}).get("resources") or []
    return "\n".join([state.get("message", ""), *(entry.get("message", "") for entry in results)])


def errors(item: Object) -> list[str]:
    """Return the errors that Argo CD shows for an Application."""
    conditions = item.get("status", {}).get("conditions") or []
    return [f"{entry['type']}: {entry['message']}" for entry in conditions if entry["type"].endswith("Error")]


def state(bed: Bed, name: str) -> tuple[str, str, str]:
    """Return how the last sync went, whether cluster and git agree, and the health."""
    item = application(bed, name)
    status = item["status"]
    return phase(item), status["sync"]["status"], status["health"]["status"]


def described(item: Object) -> str:
    """Return what an Application says of itself, in a line of JSON."""
    metadata, status = item["metadata"], item.get("status", {})
    operation = status.get("operationState", {})
    facts = {
        "name": metadata["name"],
        "deletionTimestamp": metadata.get("deletionTimestamp"),
        "refresh": metadata.get("annotations", {}).get(_LOOK),
        "operation": "operation" in item,
        "reconciledAt": status.get("reconciledAt"),
        "sync": {key: status.get("sync", {}).get(key) for key in ("status", "revision")},
        "health": status.get("health", {}).get("status"),
        "conditions": status.get("conditions"),
        "operationState": {key: operation.get(key) for key in _OPERATION},
        "syncedRevision": synced_revision(item),
        "messages": sync_message(item).splitlines(),
    }
    return json.dumps({name: fact for name, fact in facts.items() if fact})


def health(bed: Bed, name: str, kind: str = "JobSet") -> list[str]:
    """Return the health of an Application's objects of a kind; '' where Argo CD knows none."""
    resources = application(bed, name)["status"].get("resources") or []
    return [entry.get("health", {}).get("status", "") for entry in resources if entry["kind"] == kind]


def remove_applications(bed: Bed) -> None:
    """Remove all Applications and projects, and let their objects be."""
    for kind in (APPLICATION, PROJECT):
        for item in bed.api.list(*kind):
            if item["metadata"].get("finalizers"):
                bed.api.patch(item, _FINALIZERS)
            bed.api.delete(item)
    bed.until("the Applications to go", lambda: not bed.api.list(*APPLICATION))


def remove_tracked(bed: Bed) -> None:
    """Remove the ConfigMaps and the namespaces that Argo CD synced."""
    bed.api.each(bed.api.delete, list(_tracked(bed)))


def _tracked(bed: Bed) -> Iterator[Object]:
    for kind in (CONFIGMAP, NAMESPACES):
        for item in bed.api.list(*kind):
            if _TRACKED in item["metadata"].get("annotations", {}):
                yield item
