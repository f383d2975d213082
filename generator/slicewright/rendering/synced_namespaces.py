"""The namespaces that Argo CD or Flux syncs, read off the tree as it will be, their rights, and the files."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from slicewright.document.read import kinds_in, read_documents
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.kinds import ARGOCD_GROUP, KUEUE_GROUP, RBAC_GROUP, is_namespaced
from slicewright.kubernetes.problem import Problem
from slicewright.rendering import header
from slicewright.rendering.compose import compose_with, identity
from slicewright.rendering.existing import PATCH
from slicewright.rendering.folder import (
    ROOT,
    NamespaceFolder,
    RunFolder,
    controllers_folder,
    namespace_folder,
    platform_folder,
    run_folder,
    shared_folder,
)
from slicewright.rendering.gitops import argocd, flux
from slicewright.rendering.gitops.argocd import HOME
from slicewright.rendering.gitops.synced import (
    ANCHOR_FILE,
    ARGOCD,
    FLUX,
    SyncedControllers,
    SyncedNamespace,
    SyncedWorkload,
    anchored_folders,
    gitops_folder,
    workload_file,
)
from slicewright.rendering.kustomization import FILE_NAME, Stopped
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.controller_files import MANIFESTS, installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.intent.source import Source
    from slicewright.kubernetes.problem import Path
    from slicewright.rendering.existing import Existing
    from slicewright.rendering.kustomization import ReadText
    from slicewright.rendering.repository import Repository

_SHARED = "shared.objects"
"""Name of the part that syncs shared objects. No workload can have it: its name has no dot."""


class Brought(NamedTuple):
    """Something that a run holds."""

    group: str
    kind: str
    namespace: str
    """The namespace as written; '' is the namespace of the run."""


WIDER = frozenset(
    {
        *(("", "Secret"), ("", "ServiceAccount"), (RBAC_GROUP, "Role"), (RBAC_GROUP, "RoleBinding")),
        *(("", "ResourceQuota"), ("", "LimitRange"), (KUEUE_GROUP, "LocalQueue")),
        ("networking.k8s.io", "NetworkPolicy"),
    }
)
"""Kinds that give rights, that others may not read, or that say what a namespace may use or reach."""
APART = "declare them in custom/, and let a cluster administrator apply them"
OTHER_NAMESPACE = 1
"""The reason for objects of other namespaces, as an index of the following."""
_BEYOND = (
    ("without a namespace", APART),
    (
        "of other namespaces",
        f"leave their namespace out, so that they get the namespace of the run; or {APART}",
    ),
    ("of Argo CD or Flux", "leave them out, and write gitops in the TPUCluster"),
)


def is_granted(brought: Brought, namespace: str) -> bool:
    """Tell whether the rights of a namespace may include an object of a run there."""
    return why_refused(brought, namespace) is None


def why_refused(brought: Brought, namespace: str) -> int | None:
    """Return why the rights of a namespace exclude an object, as an index into the reasons."""
    if brought.group == ARGOCD_GROUP or brought.group.endswith(".fluxcd.io"):
        return 2
    if not is_namespaced(brought.group, brought.kind):
        return 0
    return OTHER_NAMESPACE if brought.namespace not in ("", namespace) else None


def against_objects(source: Source, namespace: str, objects: Iterable[Brought]) -> Iterator[Problem]:
    """Yield the objects of a workload's runs that the rights of their namespace exclude, or should."""
    place: Path = ("spec", "components") if "components" in source.data["spec"] else ("spec",)
    items = sorted(objects)
    for index, (scope, hint) in enumerate(_BEYOND):
        refused = [brought for brought in items if why_refused(brought, namespace) == index]
        if refused:
            kinds = ", ".join(_kind_in(brought, namespace) for brought in refused)
            message = f"the run contains objects {scope} ({kinds}): "
            message += f"Argo CD and Flux refuse these, and then sync nothing in namespace '{namespace}'"
            yield source.problem("GITOPS002", place, message, hint, key=True)
    wider = [brought.kind for brought in items if is_granted(brought, namespace) and brought[:2] in WIDER]
    if wider:
        kinds = ", ".join(dict.fromkeys(wider))
        message = f"the run contains {kinds}, so any commit to namespace '{namespace}' can add such objects"
        hint = f"to prevent commits that grant rights or quota, {APART}"
        yield source.problem("GITOPS004", place, message, hint, key=True, warning=True)


def _kind_in(brought: Brought, namespace: str) -> str:
    elsewhere = f" in {brought.namespace}" if brought.namespace not in ("", namespace) else ""
    return f"{brought.kind}{elsewhere}"


def against_namespaces(site: ResolvedCluster, sources: Mapping[RunFolder, Source]) -> Iterator[Problem]:
    """Yield a problem for each team, queue and workload in a namespace of Argo CD, Flux or Kubernetes.

    `sources` are TPUWorkloads by their folder, those of other clusters too.
    """
    cluster = site.cluster
    for team in cluster.teams:
        yield from owned(site, team.namespace, cluster.source, ("spec", "teams", team.index, "namespace"))
    for at, queue in enumerate(cluster.spec.get("clusterQueues", ())):
        for index, local in enumerate(queue.get("localQueues", ())):
            place = ("spec", "clusterQueues", at, "localQueues", index, "namespace")
            yield from owned(site, local.get("namespace", "default"), cluster.source, place)
    for folder, source in sources.items():
        if folder.cluster == cluster.name:
            yield from owned(site, folder.namespace, source, ("metadata", "namespace"))


def owned(site: ResolvedCluster, namespace: str, source: Source, place: Path) -> Iterator[Problem]:
    """Yield a problem if a namespace belongs to Argo CD, Flux or Kubernetes."""
    if whose := owner(site, namespace):
        message = f"namespace '{namespace}' is {whose}'s own: runs in it could take control of the cluster"
        yield source.problem("GITOPS003", place, message, "use another namespace for runs")


Kind = tuple[str, str]
"""Group and kind."""

_released = lru_cache(maxsize=8)(kinds_in)
"""Releases to keep in memory: a tree has a few, and each synced cluster reads them."""


class Trees(Struct, frozen=True):
    """The tree before a render and after it."""

    existing: Existing
    texts: Mapping[str, str]
    """As it will be but for what syncs clusters, by path."""
    sources: Mapping[RunFolder, Source]
    """The TPUWorkloads that are rendered, by their folder."""


def is_synced(site: ResolvedCluster | None) -> bool:
    """Tell whether Argo CD or Flux syncs a cluster."""
    return site is not None and bool(site.cluster.gitops.argocd or site.cluster.gitops.flux)


def lasting(sites: Mapping[str, ResolvedCluster], existing: Existing) -> set[NamespaceFolder]:
    """Return the folders of the namespaces that are synced even when they are empty.

    They are those of teams and of LocalQueues, and every one that was synced before, so that its last objects
    are pruned. It stays until somebody deletes the folder. Namespaces of Argo CD and Flux are left out.
    """
    synced = {name: site for name, site in sites.items() if is_synced(site)}
    folders = {
        NamespaceFolder(name, namespace)
        for name, site in synced.items()
        for namespace in (
            *(team.namespace for team in site.cluster.teams),
            *(queue.namespace for queue in site.cluster.local_queues),
        )
    }
    anchored = anchored_folders(path for paths in existing.folders.values() for path in paths)
    folders.update(folder for folder in anchored if folder.cluster in synced)
    return {folder for folder in folders if not owner(synced[folder.cluster], folder.namespace)}


def files(repository: Repository, cluster: str, trees: Trees) -> tuple[dict[str, str], list[Problem]]:
    """Return the files that sync a cluster by path, and the problems of syncing its runs."""
    site = repository.sites[cluster]
    problems = list(against_namespaces(site, trees.sources))
    namespaces = _namespaces(repository, site, trees, problems)
    platform = any(path.startswith(f"{platform_folder(cluster)}/") for path in trees.texts)
    synced = _controllers(cluster, trees.texts, repository.read_text, problems)
    checks = repository.package.health
    return gitops_files(site, namespaces, checks, platform=platform, controllers=synced), problems


def _controllers(
    cluster: str, texts: Mapping[str, str], read_text: ReadText, problems: list[Problem]
) -> SyncedControllers | None:
    """Return the controllers of a cluster, as its folder will be after the render."""
    controllers = installed(controllers_folder(cluster), texts.get)
    if controllers is None:
        file = f"{controllers_folder(cluster)}/{FILE_NAME}"
        if file in texts:  # of a cluster of which only some workloads are rendered
            message = "this file was edited, so the GitOps objects for its folder cannot be rendered"
            hint = "run slicewright render without a workload name: it writes this file again"
            problems.append(Problem("CTRL003", message, hint, file=file))
        return None
    kinds: set[tuple[str, str, str]] = set()
    for release in controllers.releases:
        try:
            text = release.read(MANIFESTS, read_text)
        except Stopped:
            text = None
        held = _released(text or "")
        kinds |= held
        if not any(namespace for _, _, namespace in held):
            message = f"the manifests of {release.title} contain no objects, "
            message += "so the GitOps objects cannot list the kinds to allow"
            hint = "run slicewright init --upgrade, which writes the manifests of the slicewright package"
            problems.append(Problem("CTRL003", message, hint, file=f"{release.folder}/{MANIFESTS}"))
            return None
    return SyncedControllers(tuple(release.folder for release in controllers.releases), frozenset(kinds))


def _namespaces(
    repository: Repository, site: ResolvedCluster, trees: Trees, problems: list[Problem]
) -> tuple[SyncedNamespace, ...]:
    texts, sources = trees.texts, trees.sources
    start = f"{ROOT}/{site.cluster.name}/"
    folders: dict[str, list[str]] = defaultdict(list)
    for path in texts:
        if path.startswith(start):
            folders[posixpath.dirname(path)].append(path)
    contents = _Contents(repository.read_text)
    workloads: dict[NamespaceFolder, list[SyncedWorkload]] = defaultdict(list)
    kinds: dict[NamespaceFolder, set[Kind]] = defaultdict(set)
    for path in sorted(folders):
        shares = shared_folder(path)
        folder = RunFolder(*shares, _SHARED) if shares else run_folder(path)
        if folder is None:
            continue
        objects, outside = contents.read(path, {file: texts[file] for file in folders[path]})
        apart = _apart(folder, trees.existing)
        workloads[folder.parent].append(SyncedWorkload(folder.workload, path, outside, apart))
        kinds[folder.parent] |= {brought[:2] for brought in objects if is_granted(brought, folder.namespace)}
        if folder in sources:
            problems += against_objects(sources[folder], folder.namespace, objects)
    return tuple(
        SyncedNamespace(
            name=namespace.namespace,
            folder=path,
            teams=tuple(team.name for team in site.cluster.teams if team.namespace == namespace.namespace),
            workloads=tuple(workloads[namespace]),
            kinds=tuple(sorted(kinds[namespace])),
        )
        for path in sorted(folders)
        if (namespace := namespace_folder(path)) and f"{path}/{ANCHOR_FILE}" in folders[path]
    )


def _apart(folder: RunFolder, existing: Existing) -> frozenset[str]:
    """Return the tools (Argo CD, Flux) with a file that syncs a workload apart from its namespace."""
    syncs, file = gitops_folder(folder.cluster), workload_file(folder.namespace, folder.workload)
    return frozenset(who for who in (ARGOCD, FLUX) if existing.is_ours(f"{syncs}/{who}/{file}"))


class _Contents:
    """What the folders of workloads make, and their bases."""

    def __init__(self, read_text: ReadText) -> None:
        self._read_text = read_text
        self._known: dict[tuple[str, ...], tuple[frozenset[Brought], tuple[str, ...]]] = {}

    def read(self, folder: str, texts: Mapping[str, str]) -> tuple[frozenset[Brought], tuple[str, ...]]:
        """Return what the objects of a workload are, and the folders outside of its own that it needs."""
        runs = [path for path in texts if not path.endswith((f"/{FILE_NAME}", PATCH))]
        if runs:
            held = (brought for path in runs for brought in kinds_in(header.body_of(texts[path])))
            return frozenset(Brought(*brought) for brought in held), ()
        needed = tuple(_entries(folder, texts.get(f"{folder}/{FILE_NAME}", "")))
        if needed not in self._known:
            self._known[needed] = self._composed(*needed)
        return self._known[needed]

    def _composed(self, *needed: str) -> tuple[frozenset[Brought], tuple[str, ...]]:
        read: set[str] = set()

        def recorded(path: str) -> str | None:
            text = self._read_text(path)
            if text is not None:
                read.add(posixpath.dirname(path))
            return text

        try:
            objects = compose_with(needed[0], needed[1:], recorded) if needed else []
        except Stopped:  # of a workload that was not named: the render that names it says what is wrong
            objects = []
        outermost = (path for path in read if not any(path.startswith(f"{other}/") for other in read))
        return frozenset(Brought(*identity(item)[:3]) for item in objects), tuple(sorted(outermost))


def _entries(folder: str, text: str) -> Iterator[str]:
    """Yield the folders that a Fixed overlay uses: its base, then its components."""
    documents, _ = read_documents(text, "")
    overlay = mapping(documents[0].data) if len(documents) == 1 else {}
    for key in ("resources", "components"):
        for entry in overlay.get(key) or ():
            yield posixpath.normpath(f"{folder}/{entry}")


def is_left(folder: RunFolder, existing: Existing, staying: Iterable[RunFolder]) -> bool:
    """Tell whether nothing prunes the runs of a folder, after its cluster is no longer synced.

    The Application or Kustomization in the cluster still prunes what leaves its folder. It does nothing if
    the whole folder is gone: that of a workload, or that of a namespace after its last workload.
    """
    file = f"namespace-{folder.namespace}.yaml"
    paths = [f"{gitops_folder(folder.cluster)}/{who}/{file}" for who in (ARGOCD, FLUX)]
    synced = re.compile(rf"^ +path: \S*{re.escape(folder.parent.path)}['\"]?$", re.MULTILINE)
    if any(synced.search(existing.texts.get(path, "")) for path in paths):
        return not any(other.parent == folder.parent for other in staying)
    return bool(_apart(folder, existing))


def gitops_files(
    site: ResolvedCluster,
    namespaces: tuple[SyncedNamespace, ...],
    checks: Mapping[str, str],
    *,
    platform: bool = True,
    controllers: SyncedControllers | None = None,
) -> dict[str, str]:
    """Return the files that sync a cluster by path, none if it asks for none.

    `namespaces` are in order of their names; `checks` are health checks for Argo CD in Lua by
    `<group>_<Kind>`; `platform` says whether the folder of a managed cluster's platform holds anything;
    `controllers` are those that are ours to install.
    """
    platform &= site.cluster.managed
    argocds = argocd.files(site, namespaces, checks, platform=platform, controllers=controllers)
    return argocds | flux.files(site, namespaces, platform=platform, controllers=controllers is not None)


_HERE = ({"server": HOME}, {"name": "in-cluster"})
"""The cluster in which Argo CD runs, as it calls it."""


def owner(site: ResolvedCluster, namespace: str) -> str:
    """Return the owner of a namespace, which is Argo CD, Flux or Kubernetes; '' for all others."""
    argocd, flux = site.cluster.gitops.argocd, site.cluster.gitops.flux
    if namespace.startswith("kube-"):
        return "Kubernetes"
    if argocd and argocd.destination in _HERE and namespace == argocd.namespace:
        return "Argo CD"
    return "Flux" if flux and namespace == flux.namespace else ""
