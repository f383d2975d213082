"""The files for Flux: overlays/<cluster>/_gitops/flux, and flux-access beside it.

There are two folders because Flux asks the API server about every object of a Kustomization before it
applies one: a Role in a namespace that the platform has yet to make would keep the platform from coming.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.write import write_documents
from slicewright.core.gitops.flux.access import access
from slicewright.core.gitops.flux.health import HEALTH
from slicewright.core.gitops.flux.kustomization import PATCHES, kustomization
from slicewright.core.gitops.flux.name import flux_name
from slicewright.core.gitops.place import FLUX, controllers_folder, folder, of_workload, platform_folder
from slicewright.core.run import header
from slicewright.core.run.listing import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.gitops.namespace import SyncedNamespace, SyncedWorkload
    from slicewright.core.intent.gitops import Flux
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster


_ACCESS_FILE = "access.yaml"


def files(
    site: ResolvedCluster, namespaces: tuple[SyncedNamespace, ...], *, platform: bool, controllers: bool
) -> dict[str, str]:
    """Return the files for Flux by path; none where the cluster's file asks for none.

    `platform` and `controllers` say whether there are such to sync.
    """
    flux = site.cluster.gitops.flux
    if flux is None:
        return {}
    here = folder(site.cluster.name)
    inputs = header.inputs(site.cluster.source.file.path, site.cluster.name)
    installs = [_controllers(site, flux)] if controllers else []
    first = [one["metadata"]["name"] for one in installs]
    platforms = [_platform(site, flux, first)] if platform else []
    depends = [one["metadata"]["name"] for one in platforms] or first
    made: dict[str, str] = {}
    listed: list[str] = []
    shared = {"controllers.yaml": installs, "platform.yaml": platforms}
    parts = [*shared.items(), *_parts(site, flux, namespaces, depends)]
    for name, objects in filter(itemgetter(1), parts):
        made[f"{here}/{FLUX}/{name}"] = header.live(inputs, write_documents(objects))
        listed.append(name)
    if listed:
        made[f"{here}/{FLUX}/{FILE_NAME}"] = listing("the Kustomizations of Flux in this folder", listed)
    if not flux.service_account_name:
        for namespace in namespaces:
            where = _access_folder(site, namespace)
            objects = list(access(_account(site, namespace), flux.namespace, namespace))
            made[f"{where}/{_ACCESS_FILE}"] = header.live(inputs, write_documents(objects))
            made[f"{where}/{FILE_NAME}"] = listing("what Flux may do in this namespace", [_ACCESS_FILE])
    return made


def _parts(
    site: ResolvedCluster, flux: Flux, namespaces: tuple[SyncedNamespace, ...], depends: list[str]
) -> Iterator[tuple[str, list[Object]]]:
    """Yield each file of Kustomizations with its objects, in order of the list.

    What changes with a workload has a file of its own. `depends` names what comes before all of them.
    A workload keeps the Kustomization that it had: Flux deletes what has the label of the Kustomization that
    goes, and lets no other take over what is written once.
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
                name = of_workload(namespace.name, workload.name)
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
    """Return the Kustomization of what Flux may do in a namespace.

    Its objects stay when it goes: a Kustomization that goes with it needs its account to end its run.
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
    parts = [site.cluster.name, namespace.name]
    name = flux_name(*parts, workload.name) if workload else flux_name(*parts)
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
    return f"{folder(site.cluster.name)}/flux-access/{namespace.name}"
