"""Reads text into documents, within limits of depth and aliases, and finds the places of their values."""

import re
from functools import lru_cache

from slicewright.document.document import MAX_DEPTH, MAX_VALUES, Document
from slicewright.document.kubectl import paired
from slicewright.document.tree import Node, trees
from slicewright.document.yaml_reader import read_documents, read_manifests

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "Document",
    "kinds_in",
    "paired",
    "read_documents",
    "read_manifests",
    "read_places",
]


def read_places(text: str, index: int) -> Node:
    """Return the places in the document at an index of a text that either function accepts."""
    return _trees(text).get(index, Node())


@lru_cache(maxsize=2)
def _trees(text: str) -> dict[int, Node]:
    """Return every document of a file: one with a problem is rarely alone."""
    return trees(text)


Kind = tuple[str, str, str]
"""Group, kind and namespace; the last is empty if none is written."""
_APART = re.compile(r"^---.*\n", re.MULTILINE)
_WORDS = re.compile(r"^(apiVersion|kind): ['\"]?([^\s'\"]+)", re.MULTILINE)
_WITHIN = re.compile(r"^metadata:\n(?:  .*\n)*?  namespace: ['\"]?([^\s'\"]+)", re.MULTILINE)


def kinds_in(text: str) -> frozenset[Kind]:
    """Return what the objects of a text are whose lines end in line feeds, as programs write them."""
    kinds = set()
    for document in _APART.split(text):
        words = dict(_WORDS.findall(document))
        if words:
            within = _WITHIN.search(document)
            group = words.get("apiVersion", "").rpartition("/")[0]
            kinds.add((group, words.get("kind", ""), within[1] if within else ""))
    return frozenset(kinds)
