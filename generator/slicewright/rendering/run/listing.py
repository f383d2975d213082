"""A kustomization that lists what is in its folder, one a line."""

import re
from collections.abc import Iterable

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import KUSTOMIZATION_VERSION
from slicewright.rendering.run import header

KUSTOMIZATION = {"apiVersion": KUSTOMIZATION_VERSION, "kind": "Kustomization"}

FILES = "files.yaml"
"""The ConfigMap with the files of a Fixed workload, in its overlay. A frozen run has its own in its file."""
_LIST = re.compile(r"\nkind: Kustomization\nresources:\n(?:- .*\n)*\Z")
"""How a kustomization ends that holds a list and nothing else; the order of patches would matter."""


def listing(subject: str, entries: Iterable[str]) -> str:
    """Return the text of a list of something, as its header says; two changes merge line by line."""
    return header.live(subject, write_document({**KUSTOMIZATION, "resources": list(entries)}))


def is_same_list(first: str, second: str) -> bool:
    """Tell whether two files are lists of the same entries: git merges neighbours in either order."""
    return all(map(_LIST.search, (first, second))) and sorted(first.split("\n")) == sorted(second.split("\n"))
