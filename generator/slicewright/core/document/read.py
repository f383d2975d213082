"""Text to documents: YAML 1.2 scalars, strict about duplicates, bounded in depth and in alias expansion.

Two readers agree about every text that both answer for. `yaml_fast` reads what is usual; `yaml_strict` reads
everything else, and finds every problem.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from slicewright.core.document.document import MAX_DEPTH, MAX_VALUES, Document, Places
from slicewright.core.document.yaml_fast import read_fast
from slicewright.core.document.yaml_strict import places_of_all, read_strictly

if TYPE_CHECKING:
    from slicewright.core.problem import Problem

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "Document",
    "Places",
    "kinds_in",
    "paired",
    "read_documents",
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
    if documents is None:
        return read_strictly(text, file, undisputed=undisputed)
    return documents, ()


def read_places(text: str, index: int) -> Places:
    """Return the places of the document at an index of a text that `read_documents` accepts."""
    return _places(text).get(index, Places({}, {}))


@lru_cache(maxsize=2)
def _places(text: str) -> dict[int, Places]:
    """Return the places of every document of a file: one with a problem is rarely alone."""
    return places_of_all(text)


_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def paired(text: str) -> str:
    """Return a text that begins as JSON does with such pairs as one escape of YAML; any other as it is.

    kubectl takes a file that begins with a brace for JSON, whatever it is called.
    """
    if "\\u" not in text or not text.lstrip().startswith("{"):
        return text
    return _PAIR.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    high, low = int(found[2], 16), int(found[3], 16)
    return f"{found[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"


Kind = tuple[str, str, str]
"""Group, kind and namespace; the last is empty where none is written."""
_APART = re.compile(r"^---.*\n", re.MULTILINE)
_WORDS = re.compile(r"^(apiVersion|kind): ['\"]?([^\s'\"]+)", re.MULTILINE)
_WITHIN = re.compile(r"^metadata:\n(?:  .*\n)*?  namespace: ['\"]?([^\s'\"]+)", re.MULTILINE)


def kinds_in(text: str) -> frozenset[Kind]:
    """Return what the objects of a text are whose lines end in line feeds, as programs write them."""
    found = set()
    for document in _APART.split(text):
        words = dict(_WORDS.findall(document))
        if words:
            within = _WITHIN.search(document)
            group = words.get("apiVersion", "").rpartition("/")[0]
            found.add((group, words.get("kind", ""), within[1] if within else ""))
    return frozenset(found)
