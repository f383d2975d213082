"""The files for Argo CD: overlays/<cluster>/_gitops/argocd, and argocd-cm beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.write import write_documents
from slicewright.core.gitops.argocd import application, health, project
from slicewright.core.gitops.place import ARGOCD, folder, of_workload
from slicewright.core.run import header
from slicewright.core.run.listing import listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.core.gitops.controllers import SyncedControllers
    from slicewright.core.gitops.namespace import SyncedNamespace
    from slicewright.core.intent.gitops import ArgoCD
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster

_Part = tuple[str, tuple["Object", ...]]
"""A file's name, and its objects."""


def files(
    site: ResolvedCluster,
    namespaces: tuple[SyncedNamespace, ...],
    checks: Mapping[str, str],
    *,
    platform: bool,
    controllers: SyncedControllers | None,
) -> dict[str, str]:
    """Return the files for Argo CD by path; none where the cluster's file asks for none.

    `platform` says whether there is a platform to sync; `controllers` are those that are synced; `checks` are
    in Lua by `<group>_<Kind>`.
    """
    argocd = site.cluster.gitops.argocd
    if argocd is None:
        return {}
    here = f"{folder(site.cluster.name)}/{ARGOCD}"
    made: dict[str, str] = {}
    inputs = header.inputs(site.cluster.source.file.path, site.cluster.name)
    for name, objects in _parts(site, argocd, namespaces, platform=platform, controllers=controllers):
        made[name] = header.live(inputs, write_documents(list(objects)))
    made[FILE_NAME] = listing("the Applications in this folder", made)
    found = {f"{here}/{name}": text for name, text in made.items()}
    return found | {f"{here}-cm/{name}": text for name, text in health.files(checks).items()}


def _parts(
    site: ResolvedCluster,
    argocd: ArgoCD,
    namespaces: tuple[SyncedNamespace, ...],
    *,
    platform: bool,
    controllers: SyncedControllers | None,
) -> Iterator[_Part]:
    """Yield the files but their list. What changes with a workload has a file, and a line, of its own."""
    yield "gitops.yaml", (project.root(site, argocd), application.root(site, argocd))
    if controllers:
        installing = (
            project.controllers(site, argocd, controllers),
            application.controllers(site, argocd, controllers),
        )
        yield "controllers.yaml", installing
    if platform:
        yield "platform.yaml", (project.platform(site, argocd), application.platform(site, argocd))
    apart = argocd.application_per == "Workload"
    for namespace in namespaces:
        owned = project.of_namespace(site, argocd, namespace)
        objects = (owned,) if apart else (owned, application.of_namespace(site, argocd, namespace))
        yield f"namespace-{namespace.name}.yaml", objects
    for namespace in namespaces:
        for workload in namespace.workloads:
            name = of_workload(namespace.name, workload.name)
            if apart:
                alone = application.of_workload(site, argocd, namespace, workload)
                yield name, (alone,)
            elif ARGOCD in workload.apart:
                alone = application.of_handed_over(site, argocd, namespace, workload)
                yield name, (alone,)
