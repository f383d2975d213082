"""Plain scalars: what YAML 1.2 makes of them, and which strings no reader mistakes for something else."""

from __future__ import annotations

import json
import re
from functools import lru_cache

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUES = frozenset({"true", "True", "TRUE"})
_FALSES = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NOT_A_NUMBER = frozenset({".nan", ".NaN", ".NAN"})

Scalar = str | int | float | bool | None


def read_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar by the core schema of YAML 1.2 (section 10.3.2)."""
    first = text[:1]
    if first.isalpha() or first in {"/", "$", "_"}:
        if text in _TRUES:
            return True
        if text in _FALSES:
            return False
        return None if text in _NULLS else text
    if text in _NULLS:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITY.fullmatch(text):
        return float(text.lower().replace(".", ""))
    return float("nan") if text in _NOT_A_NUMBER else text


# Words that YAML 1.1 (section "bool" and "null" of its type repository) or 1.2 read as no string.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
# Everything that looks as if some reader takes it for a number, a time or a date: 1e3, 0o17, 12:30:45,
# 2026-01-01, 1_000, 0b1, +1.
_NUMBER_LIKE = re.compile(r"[-+.]?[0-9][0-9_.,:eExXoObBa-fA-FtTzZ+ -]*")
_TOPOLOGY = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*)+")
# JSON leaves these as they are; YAML 1.1 takes some for line breaks and refuses others.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufdd0-\ufdef\ufffe\uffff]")
_PLAIN = re.compile(r"[A-Za-z0-9_/$.(-][A-Za-z0-9_./@%+=~$():,;'\"!?*&<>|\[\]{}\\ -]*")


@lru_cache(maxsize=65536)
def write_string(text: str) -> str:
    """Return a string on one line: plain where YAML 1.1 and 1.2 agree that it is a string, else quoted."""
    if _is_plain(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_plain(text: str) -> bool:
    if not _PLAIN.fullmatch(text):
        return False
    if text[-1] in " :" or ": " in text or " #" in text or text.startswith(("- ", "---", "...", "? ")):
        return False
    if text in {"-", "."} or text.lower().lstrip(".-+") in _WORDS:
        return False
    return not _NUMBER_LIKE.fullmatch(text) or bool(_TOPOLOGY.fullmatch(text))
