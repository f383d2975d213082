"""The files that sync a cluster: overlays/<cluster>/_gitops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.write import write_document, write_documents
from slicewright.core.gitops import application, flux, health, project
from slicewright.core.gitops.place import folder
from slicewright.core.run import header
from slicewright.core.run.identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.core.gitops.application import KubernetesObject
    from slicewright.core.gitops.namespace import SyncedNamespace
    from slicewright.core.intent.gitops import ArgoCD
    from slicewright.core.plan.site import Site

_Part = tuple[str, Any, tuple["KubernetesObject", ...]]
"""A file's name, what it comes from, and its objects."""


def files(site: Site, namespaces: tuple[SyncedNamespace, ...], checks: Mapping[str, str]) -> dict[str, str]:
    """Return the files that sync a cluster by path, none where it asks for none.

    `namespaces` are in order of their names; `checks` are health checks in Lua by `<group>_<Kind>`.
    """
    made: dict[str, str] = {}
    argocd = site.cluster.gitops.argocd
    if argocd is not None:
        here = folder(site.cluster.name)
        parts = _argocd(site, argocd, namespaces)
        made |= {f"{here}/argocd/{name}": text for name, text in parts.items()}
        made |= {f"{here}/argocd-cm/{name}": text for name, text in health.files(checks).items()}
    return made | flux.files(site, namespaces)


def _argocd(site: Site, argocd: ArgoCD, namespaces: tuple[SyncedNamespace, ...]) -> dict[str, str]:
    made: dict[str, str] = {}
    source, written = site.cluster.source, site.cluster.spec["gitops"]["argocd"]
    for name, facts, objects in _parts(site, argocd, namespaces):
        value = digest([written, facts])[:16]
        inputs = f"{source.file.path}, cluster {site.cluster.name}; sha256:{value}"
        made[name] = header.live(inputs, write_documents(list(objects)))
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(made),
    }
    return {**made, FILE_NAME: header.live("the Applications in this folder", write_document(listed))}


def _parts(site: Site, argocd: ArgoCD, namespaces: tuple[SyncedNamespace, ...]) -> Iterator[_Part]:
    """Yield the files but their list. What changes with a workload has a file, and a line, of its own."""
    yield "gitops.yaml", [], (project.root(site, argocd), application.root(site, argocd))
    if site.cluster.managed:
        yield "platform.yaml", [], (project.platform(site, argocd), application.platform(site, argocd))
    apart = argocd.application_per == "Workload"
    for namespace in namespaces:
        owned = project.of_namespace(site, argocd, namespace)
        outside = () if apart else [list(workload.outside) for workload in namespace.workloads]
        facts = [namespace.teams, namespace.kinds, sorted({path for paths in outside for path in paths})]
        objects = (owned,) if apart else (owned, application.of_namespace(site, argocd, namespace))
        yield f"namespace-{namespace.name}.yaml", facts, objects
    for namespace in namespaces if apart else ():
        for workload in namespace.workloads:
            alone = application.of_workload(site, argocd, namespace, workload)
            yield f"workload-{namespace.name}.{workload.name}.yaml", [workload.outside], (alone,)
