"""Text to documents, bounded in depth and in alias expansion.

Our own input is YAML 1.2, and strict about duplicates; a manifest is read as kubectl reads it. Two readers
agree about every text that both answer for. `yaml_fast` reads what is usual and what all of these read alike;
`yaml_strict` reads everything else, and finds every problem. `tree` has the places.
"""

import re
from functools import lru_cache

from slicewright.core.document.document import MAX_DEPTH, MAX_VALUES, Document
from slicewright.core.document.parts import is_one_stream, paired, yaml_of_json
from slicewright.core.document.tree import Node, trees
from slicewright.core.document.yaml_fast import read_fast
from slicewright.core.document.yaml_strict import read_kubernetes_documents, read_strictly
from slicewright.core.problem import Problem, bounded

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


def read_documents(
    text: str, file: str, *, undisputed: bool = False
) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file, or no document and the problem that stopped the reading.

    Empty documents are left out. With `undisputed` what kustomize would read as something else is refused
    as well. Ids: YAML001 syntax, YAML002 a key given twice, YAML003 a key that is not text, YAML004 nested
    too deeply or aliases that expand to too much, YAML005 a tag or an anchor that has no meaning here,
    YAML006 a number that is not portable, YAML007 a disputed scalar, YAML010 too many documents.
    """
    documents = read_fast(text)
    return read_strictly(text, file, undisputed=undisputed) if documents is None else (documents, ())


def read_manifests(text: str, file: str) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file as kubectl reads them, and every problem of the reading.

    A problem leaves out as little as can be, and the rest of the file is read. YAML020: a text that kubectl
    does not read. The other ids are those of `read_documents`. A warning says
    what readers of YAML 1.2 read as something else.
    """
    documents = read_fast(yaml_of_json(text)) if is_one_stream(text) else None
    if documents is None:
        documents, problems = read_kubernetes_documents(text, file)
        return documents, tuple(bounded(problems))
    return documents, ()


def read_places(text: str, index: int) -> Node:
    """Return the places in the document at an index of a text that either function accepts."""
    return _trees(text).get(index, Node())


@lru_cache(maxsize=2)
def _trees(text: str) -> dict[int, Node]:
    """Return every document of a file: one with a problem is rarely alone."""
    return trees(text)


Kind = tuple[str, str, str]
"""Group, kind and namespace; the last is empty where none is written."""
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
