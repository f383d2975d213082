"""Text to documents: YAML 1.2 scalars, strict about duplicates, bounded in depth and in alias expansion.

Two readers agree about every text that both answer for. `yaml_fast` reads what is usual; `yaml_strict` reads
everything else, and finds every problem.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from slicewright.core.document.document import MAX_DEPTH, MAX_VALUES, Document, Places
from slicewright.core.document.yaml_fast import read_fast
from slicewright.core.document.yaml_strict import places_of_all, read_strictly

if TYPE_CHECKING:
    from slicewright.core.problem import Problem

__all__ = ["MAX_DEPTH", "MAX_VALUES", "Document", "Places", "read_documents", "read_places"]


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
