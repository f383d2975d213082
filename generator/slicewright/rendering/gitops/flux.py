"""The files for Flux: overlays/<cluster>/_gitops/flux, and flux-access beside it.

There are two folders because Flux checks every object of a Kustomization with the API server before it
applies the first. A Role in a namespace that the platform creates later would block the platform.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from slicewright.document.write import write_document, write_documents
from slicewright.intent.tpucluster import Flux
from slicewright.kubernetes.kinds import FLUX_GROUP, JOBSET_VERSION, KUEUE_VERSION
from slicewright.kubernetes.labels import FLUX_SERVER_SIDE_APPLY, FLUX_SUBSTITUTE, RUN
from slicewright.kubernetes.quantity import without_days
from slicewright.kubernetes.role import role, rule
from slicewright.kubernetes.types import Object
from slicewright.rendering.folder import controllers_folder, digest, platform_folder
from slicewright.rendering.gitops.synced import (
    FLUX,
    SYNCED,
    SyncedNamespace,
    SyncedWorkload,
    gitops_folder,
    in_repository,
    workload_file,
)
from slicewright.rendering.header import listing
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

LONGEST = 63
"""Characters of a label's value: `kustomize.toolkit.fluxcd.io/name` is the name of the Kustomization."""
_DIGITS = 8


def flux_name(*parts: str) -> str:
    """Return the parts with dots between them; one that is too long keeps its end, and gets a digest.

    The end names the namespace and the workload; the cluster before it is the same for all of one Flux.
    """
    whole = ".".join(parts)
    if len(whole) <= LONGEST:
        return whole
    end = whole[_DIGITS + 1 - LONGEST :].lstrip("-.")
    return f"{end}-{digest(whole)[:_DIGITS]}"


_SUBSTITUTE = {FLUX_SUBSTITUTE: "disabled"}
"""`${...}` in a script is the script's own, whoever adds a `postBuild`. Only a patch comes before that."""
_WRITE_ONCE = {FLUX_SERVER_SIDE_APPLY: "IfNotPresent"}
"""A run is created and then left alone, for Kueue changes it."""


def kustomization(
    flux: Flux, name: str, path: str, depends_on: Sequence[str] = (), **fields: Any
) -> dict[str, Any]:
    """Return a Kustomization of a folder of the tree; `fields` go into its spec."""
    spec: dict[str, Any] = {
        "interval": without_days(flux.interval),
        "path": f"./{in_repository(flux.path, path)}",
        "prune": True,
        "sourceRef": dict(flux.source_ref),
        "timeout": without_days(flux.timeout),
        "force": False,
    }
    if flux.retry_interval:
        spec["retryInterval"] = without_days(flux.retry_interval)
    if depends_on:
        spec["dependsOn"] = [{"name": other} for other in depends_on]
    return {
        "apiVersion": f"{FLUX_GROUP}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": flux.namespace},
        "spec": {**spec, **fields},
    }


def _annotated(annotations: dict[str, str], target: dict[str, str]) -> dict[str, Any]:
    """Return a patch of objects of any kind, which keep their kinds and names.

    It merges, because a JSON 6902 patch cannot add to missing annotations. kustomize accepts it as an object
    only with kind and name.
    """
    patch = {
        "apiVersion": JOBSET_VERSION,
        "kind": "JobSet",
        "metadata": {"name": "any", "annotations": annotations},
    }
    return {"patch": write_document(patch), "target": target}


PATCHES = (_annotated(_SUBSTITUTE, {"kind": ".*"}), _annotated(_WRITE_ONCE, {"labelSelector": RUN}))
"""What becomes of all objects of a namespace or of a workload, and of hashed runs beside that."""


def _active(*reasons: str, seen: bool = True) -> str:
    """Return a CEL expression that is true if the latest condition is active, or inactive on purpose.

    With `seen`, the condition must be about the latest generation of the object.
    """
    good = " || ".join(["c.status == 'True'", *(f"c.reason == '{reason}'" for reason in reasons)])
    last = "has(c.observedGeneration) && c.observedGeneration == metadata.generation && " if seen else ""
    return f"has(status.conditions) && status.conditions.exists(c, c.type == 'Active' && {last}({good}))"


HEALTH = (
    # Flux looks at group and kind alone, so that older releases of Kueue are meant too.
    {"apiVersion": KUEUE_VERSION, "kind": "AdmissionCheck", "current": _active(seen=False)},
    {"apiVersion": KUEUE_VERSION, "kind": "ClusterQueue", "current": _active("Stopped")},
    {
        "apiVersion": KUEUE_VERSION,
        "kind": "LocalQueue",
        "current": _active("Stopped", "ClusterQueueIsInactive"),
    },
)
"""A queue that a person stopped is as it should be, and so is one behind it.

Of an AdmissionCheck Kueue writes the generation only when its state changes: parameters that are changed for
others as good leave an old one there for good.
"""


ROLE = "flux-sync"
"""The Role's name and its binding's."""
_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
"""Server-side apply creates and patches, pruning gets and deletes."""
_VOWELS = "aeiou"


def access(account: str, flux_namespace: str, namespace: SyncedNamespace) -> Iterator[dict[str, Any]]:
    """Yield the service account that Flux acts as, which lives beside Flux, and its rights."""
    metadata = {"name": account, "namespace": flux_namespace}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    by_group = groupby(sorted({*SYNCED, *namespace.kinds}), itemgetter(0))
    rules = [rule(group, sorted(_resource(kind) for _, kind in kinds), _VERBS) for group, kinds in by_group]
    yield from role(ROLE, namespace.name, rules, [{"kind": "ServiceAccount", **metadata}])


def _resource(kind: str) -> str:
    """Return the name of a kind in the paths of the API: its plural, as English forms it."""
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in _VOWELS else f"{word}s"


_ACCESS_FILE = "access.yaml"


def files(
    site: ResolvedCluster, namespaces: tuple[SyncedNamespace, ...], *, platform: bool, controllers: bool
) -> dict[str, str]:
    """Return the files for Flux by path; none if the cluster's file asks for none.

    `platform` and `controllers` say whether there are such to sync.
    """
    flux = site.cluster.gitops.flux
    if flux is None:
        return {}
    installs = [_controllers(site, flux)] if controllers else []
    first = [installed["metadata"]["name"] for installed in installs]
    platforms = [_platform(site, flux, first)] if platform else []
    depends = [synced["metadata"]["name"] for synced in platforms] or first
    shared = {"controllers.yaml": installs, "platform.yaml": platforms}
    parts = [*shared.items(), *_parts(site, flux, namespaces, depends)]
    contents = {name: site.live(write_documents(objects)) for name, objects in parts if objects}
    if contents:
        contents[FILE_NAME] = listing("the Kustomizations of Flux in this folder", contents)
    files = {f"{gitops_folder(site.cluster.name)}/{FLUX}/{name}": text for name, text in contents.items()}
    for namespace in () if flux.service_account_name else namespaces:
        path = _access_folder(site, namespace)
        objects = list(access(_account(site, namespace), flux.namespace, namespace))
        files[f"{path}/{_ACCESS_FILE}"] = site.live(write_documents(objects))
        files[f"{path}/{FILE_NAME}"] = listing("what Flux may do in this namespace", [_ACCESS_FILE])
    return files


def _parts(
    site: ResolvedCluster, flux: Flux, namespaces: tuple[SyncedNamespace, ...], depends: list[str]
) -> Iterator[tuple[str, list[Object]]]:
    """Yield each file of Kustomizations with its objects, in order of the list.

    Kustomizations that change with a workload have their own file. `depends` names the Kustomization that all
    of them wait for. A workload keeps the Kustomization that it had: if it changed, Flux would delete the run
    with the old one, because each object has the label of its Kustomization.
    """
    apart = flux.kustomization_per == "Workload"
    for namespace in namespaces:
        own = [] if flux.service_account_name else [_access(site, flux, namespace, depends)]
        if not apart:
            own.append(_synced(site, flux, namespace, depends))
        if own:
            yield f"namespace-{namespace.name}.yaml", own
    for namespace in namespaces:
        for workload in namespace.workloads:
            if apart or FLUX in workload.apart:
                name = workload_file(namespace.name, workload.name)
                yield name, [_synced(site, flux, namespace, depends, workload)]


def _controllers(site: ResolvedCluster, flux: Flux) -> Object:
    """Return the Kustomization of the controllers, which is ready when their pods are."""
    name = flux_name(f"{site.cluster.name}-controllers")
    path = controllers_folder(site.cluster.name)
    return kustomization(flux, name, path, deletionPolicy="Orphan", wait=True)


def _platform(site: ResolvedCluster, flux: Flux, first: list[str]) -> Object:
    name = flux_name(f"{site.cluster.name}-platform")
    path = platform_folder(site.cluster.name)
    return kustomization(
        flux, name, path, first, deletionPolicy="Orphan", wait=True, healthCheckExprs=list(HEALTH)
    )


def _access(site: ResolvedCluster, flux: Flux, namespace: SyncedNamespace, depends: list[str]) -> Object:
    """Return the Kustomization of Flux's rights in a namespace.

    Its objects stay when it is deleted: a Kustomization that is deleted at the same time needs the account to
    end its run.
    """
    name, path = _access_name(site, namespace), _access_folder(site, namespace)
    return kustomization(flux, name, path, depends, deletionPolicy="Orphan", wait=False)


def _synced(
    site: ResolvedCluster,
    flux: Flux,
    namespace: SyncedNamespace,
    depends: list[str],
    workload: SyncedWorkload | None = None,
) -> Object:
    """Return the Kustomization of a namespace, or of one of its workloads.

    With one for each workload, the end of a TPUWorkload is the end of its Kustomization: the run ends too.
    """
    name = flux_name(site.cluster.name, namespace.name, *([workload.name] if workload else []))
    access_first = [] if flux.service_account_name else [_access_name(site, namespace)]
    return kustomization(
        flux,
        name,
        workload.folder if workload else namespace.folder,
        [*depends, *access_first],
        serviceAccountName=flux.service_account_name or _account(site, namespace),
        deletionPolicy="Delete" if workload else "Orphan",
        wait=False,
        patches=list(PATCHES),
    )


def _access_name(site: ResolvedCluster, namespace: SyncedNamespace) -> str:
    return flux_name(f"{site.cluster.name}-access", namespace.name)


def _account(site: ResolvedCluster, namespace: SyncedNamespace) -> str:
    return flux_name(site.cluster.name, namespace.name)


def _access_folder(site: ResolvedCluster, namespace: SyncedNamespace) -> str:
    return f"{gitops_folder(site.cluster.name)}/flux-access/{namespace.name}"
