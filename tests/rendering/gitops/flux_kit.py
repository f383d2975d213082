"""A cluster that Flux syncs: its files for Flux, and a tree with runs for them to point at."""

import textwrap
from pathlib import Path

import yaml
from tests.conftest import Repo
from tests.rendering.bases.kit import kustomize, parsed
from tests.rendering.platform.kit import cluster, objects_of, repository

from slicewright.kubernetes.types import Object
from slicewright.rendering.gitops.synced import SyncedNamespace, SyncedWorkload
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.synced_namespaces import gitops_files

FLUX = "sourceRef: {name: flux-system}"
QUEUES = """
pools:
- {name: tpus, tpu: v5litepod-8, slices: 3}
- {name: small, tpu: v5litepod-4}
- {name: cpu-np, machineType: n2-standard-64, nodes: 1}
clusterQueues:
- name: cluster-queue
  quota: [{pool: tpus}]
  localQueues: [{name: queue, namespace: team-a}, {name: queue, namespace: team-b}]
teams: [{name: a, namespace: team-a}, {name: b, namespace: team-b}]
"""
NAMESPACES = {"team-a": ("fixed", "hashed", "path", "two"), "team-b": ()}

WORKLOADS = {
    "hashed": "{clusters: [c1], tpu: v5litepod-8, queueName: queue, container: {image: i, script: 'a ${B}'}}",
    "path": "{clusters: [c1], tpu: v5litepod-8, api: PathwaysJob, pathways: {pathwaysDir: gs://b/p}, "
    "container: {image: i, script: a}}",
    "two": "{clusters: [c1], tpu: v5litepod-4, api: Job, container: {image: i, script: a}}",
    "fixed": "{clusters: [c1], tpu: v5litepod-8, naming: Fixed, container: {image: i, script: 'a ${B}'}}",
}


def declared(flux: str = FLUX, *, managed: bool = True) -> str:
    """Return what a cluster's file says, with a `flux` block of these fields; with one for Argo CD for ''."""
    head = "" if managed else "managed: false\n"
    block = f"gitops:\n  flux:\n{textwrap.indent(textwrap.dedent(flux).strip(), '    ')}\n"
    if not flux:
        block = "gitops: {argocd: {repoURL: https://example.com/a.git}}\n"
    return f"{head}{QUEUES.lstrip()}{block}"


def site(flux: str = FLUX, *, name: str = "c1", managed: bool = True) -> ResolvedCluster:
    """Return a cluster with a `flux` block of these fields, with one for Argo CD where there are none."""
    return repository(cluster(declared(flux, managed=managed), name=name)).sites[name]


def namespace(name: str, *workloads: str, kinds: tuple[tuple[str, str], ...] = ()) -> SyncedNamespace:
    """Return a namespace of the cluster c1 with workloads."""
    folder = f"overlays/c1/{name}"
    own = tuple(SyncedWorkload(workload, f"{folder}/{workload}") for workload in workloads)
    return SyncedNamespace(name, folder, (), own, kinds)


def namespaces() -> tuple[SyncedNamespace, ...]:
    """Return the namespaces of the tree."""
    return tuple(namespace(name, *workloads) for name, workloads in NAMESPACES.items())


def files(
    of: ResolvedCluster, synced: tuple[SyncedNamespace, ...], *, platform: bool = True
) -> dict[str, str]:
    """Return the files for Flux, and for nobody else."""
    paths = gitops_files(of, synced, {}, platform=platform)
    return {path: text for path, text in paths.items() if "/_gitops/flux" in path}


def objects(files: dict[str, str]) -> list[Object]:
    """Return all objects of the files for Flux, without the lists of Kustomize."""
    return [
        item
        for path, text in files.items()
        if not path.endswith("/kustomization.yaml")
        for item in objects_of(text)
    ]


def kustomizations(files: dict[str, str]) -> dict[str, Object]:
    """Return the specs of Flux's Kustomizations by their names."""
    synced = [item for item in objects(files) if item["kind"] == "Kustomization"]
    return {item["metadata"]["name"]: item["spec"] for item in synced}


def render(repo: Repo, flux: str = FLUX) -> dict[str, Object]:
    """Render the cluster c1 with its runs; return the specs of Flux's Kustomizations by their names."""
    repo.write("clusters/c1.yaml", cluster(declared(flux)))
    for name, spec in WORKLOADS.items():
        repo.workload(name, spec, metadata=", namespace: team-a")
    repo.run("render")
    return rendered(repo)


def rendered(repo: Repo) -> dict[str, Object]:
    """Return the specs of Flux's Kustomizations in the tree by their names."""
    here = "overlays/c1/_gitops/flux/"
    return kustomizations({path: repo.read(path) for path in repo.tree() if path.startswith(here)})


def applied(root: Path, spec: Object) -> list[Object]:
    """Return what Flux would apply: its patches go into the list of the folder, then kustomize builds."""
    file = root / spec["path"] / "kustomization.yaml"
    before = file.read_text(encoding="utf-8")
    listed = yaml.safe_load(before)
    listed["patches"] = [*listed.get("patches", []), *spec.get("patches", [])]
    file.write_text(yaml.safe_dump(listed), encoding="utf-8")
    try:
        return parsed(kustomize(file.parent))
    finally:
        file.write_text(before, encoding="utf-8")
