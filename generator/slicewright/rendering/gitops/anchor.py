"""The object that stays in a namespace when its last run is gone."""

from collections.abc import Iterable, Iterator
from typing import Any

from slicewright.document.write import write_document
from slicewright.rendering.run import header
from slicewright.rendering.run.folder import NamespaceFolder, namespace_folder

FILE_NAME = "_anchor.yaml"
"""Name of the first object in the list of a namespace; no workload can have it."""
NAME = "slicewright-anchor"


def folders(paths: Iterable[str]) -> Iterator[NamespaceFolder]:
    """Yield the folders of the namespaces that have an anchor, of the paths of a tree."""
    for path in paths:
        parent, _, name = path.rpartition("/")
        if name == FILE_NAME and (folder := namespace_folder(parent)):
            yield folder


def config_map(namespace: str) -> dict[str, Any]:
    """Return the anchor of a namespace.

    Argo CD prunes nothing from a folder that makes no object, and kustomize refuses to build one.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": namespace},
        "data": {"about": "stays, so that the last run of the namespace can be pruned"},
    }


def files(folder: NamespaceFolder) -> dict[str, str]:
    """Return the file of a namespace's anchor by its path."""
    text = header.live("the name of this folder", write_document(config_map(folder.namespace)))
    return {f"{folder.path}/{FILE_NAME}": text}
