"""A cluster that Argo CD syncs: a repository of a few lines, and the objects that are rendered for it."""

from tests.conftest import Repo
from tests.rendering.platform.kit import cluster, objects_of, repository, resolved

from slicewright.kubernetes.problem import in_order
from slicewright.kubernetes.types import Object
from slicewright.rendering.gitops.synced import SyncedNamespace
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.synced_namespaces import gitops_files

documents = objects_of
URL = "https://example.com/tree.git"
PLATFORM = """
pools:
- {name: tpus, tpu: v5litepod-8, slices: 3}
clusterQueues:
- {name: cluster-queue, quota: [{pool: tpus}], localQueues: [{name: queue, namespace: team-a}]}
teams: [{name: a, namespace: team-a}]
"""
GITOPS = f"gitops: {{argocd: {{repoURL: '{URL}'}}}}\n"
JOB = "{clusters: [c1], tpu: v5litepod-8, container: {image: i, script: a}}"
FIXED = "{clusters: [c1], tpu: v5litepod-8, naming: Fixed, container: {image: i, script: a}}"
HERE = "overlays/c1/_gitops/argocd"
NAMESPACE = "overlays/c1/team-a"
COMPONENT = """
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [things.yaml]
"""


def argocd(fields: str = "", *, name: str = "c1") -> str:
    """Return a TPUCluster of two lines that Argo CD syncs, with these fields beside the repository's URL."""
    more = f", {fields}" if fields else ""
    block = f"gitops: {{argocd: {{repoURL: '{URL}'{more}}}}}"
    return cluster(f"{PLATFORM.strip()}\n{block}", name=name)


def site(fields: str = "", *, managed: bool = True) -> ResolvedCluster:
    """Return a cluster that Argo CD syncs, against which nothing stands."""
    text = argocd(fields)
    return resolved(text if managed else text.replace("spec:\n", "spec:\n  managed: false\n"))


def said(*texts: str) -> str:
    """Return what is said against some TPUClusters, as a terminal shows it."""
    return "".join(f"{problem.text()}\n" for problem in in_order(repository(*texts).problems))


def made(of: ResolvedCluster, *namespaces: SyncedNamespace) -> dict[str, list[Object]]:
    """Return the documents of the files for Argo CD by their names."""
    files = gitops_files(of, namespaces, {})
    ours = {path: text for path, text in files.items() if path.startswith(f"{HERE}/")}
    return {path.removeprefix(f"{HERE}/"): documents(text) for path, text in ours.items()}


def synced(repo: Repo, gitops: str = GITOPS, *, platform: str = PLATFORM, name: str = "c1") -> None:
    """Write a TPUCluster of ours, with what is to sync it."""
    repo.write(f"clusters/{name}.yaml", cluster(f"{platform.strip()}\n{gitops}", name=name))


def workload(repo: Repo, name: str = "a", spec: str = JOB, namespace: str = "team-a") -> None:
    """Write a workload into a namespace."""
    repo.workload(name, spec, metadata=f", namespace: {namespace}")


def names(repo: Repo, folder: str = HERE) -> list[str]:
    """Return the names of the files in a folder of the tree, which its list names but for itself."""
    files = [path.removeprefix(f"{folder}/") for path in repo.tree() if path.startswith(f"{folder}/")]
    names = [name for name in files if name != "kustomization.yaml"]
    if files:
        listed = documents(repo.read(f"{folder}/kustomization.yaml"))[0]["resources"]
        assert sorted(listed) == names
    return names


def component(repo: Repo, *things: str) -> None:
    """Write a component that brings objects: `v1 Secret`."""
    pairs = [thing.split() for thing in things]
    texts = [f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n" for version, kind in pairs]
    repo.write("components/mine/kustomization.yaml", COMPONENT)
    repo.write("components/mine/things.yaml", "---\n".join(texts))


def kinds(repo: Repo) -> list[str]:
    """Return the kinds that the AppProject of the namespace allows."""
    project = documents(repo.read(f"{HERE}/namespace-team-a.yaml"))[0]
    return [entry["kind"] for entry in project["spec"]["namespaceResourceWhitelist"]]
