"""Where the files for Argo CD and Flux lie in the tree, and where that is in a repository."""

from slicewright.rendering.run.folder import ROOT

NAME = "_gitops"
ARGOCD, FLUX = "argocd", "flux"
"""The folders of the Applications and of the Kustomizations."""


def folder(cluster: str) -> str:
    """Return the folder of what syncs a cluster."""
    return f"{ROOT}/{cluster}/{NAME}"


def workload_file(namespace: str, workload: str) -> str:
    """Return the name of the file that syncs a workload apart from its namespace."""
    return f"workload-{namespace}.{workload}.yaml"


def is_below(path: str) -> bool:
    """Tell whether a folder of the tree is one of what syncs a cluster, or in one."""
    root, _, rest = path.partition("/")
    return root == ROOT and rest.partition("/")[2].partition("/")[0] == NAME


def in_repository(prefix: str, path: str) -> str:
    """Return a path of the tree as one of a repository that has the tree at a prefix, `.` for its root."""
    return path if prefix == "." else f"{prefix}/{path}"
