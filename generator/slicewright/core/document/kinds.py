"""What the objects of a text are, without parsing it: a release of a controller has 27,000 lines."""

from __future__ import annotations

import re

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
