"""Plain scalars: what YAML 1.2 and kubectl make of them, and which strings all readers read as strings."""

import json
import math
import re
import struct
from functools import lru_cache

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUES = frozenset({"true", "True", "TRUE"})
_FALSES = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_DIGITS = 40
"""Longer numbers are refused unread: Python reads them slowly, and no field holds them."""

_QUOTE = "write it in quotes if it is text"

Scalar = str | int | float | bool | None


class NotPortableError(ValueError):
    """A number that JSON cannot hold, or that readers of YAML take for different numbers."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def read_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar by the core schema of YAML 1.2 (section 10.3.2).

    Raises NotPortableError for an infinity, for no number, for an integer beyond 64 bits, and for one that
    begins with a zero: `0644` is 420 to kustomize and 644 to YAML 1.2.
    """
    first = text[:1]
    if first.isalpha() or first in {"/", "$", "_"}:
        if text in _TRUES:
            return True
        if text in _FALSES:
            return False
        return None if text in _NULLS else text
    if text in _NULLS:
        return None
    if _LEADING_ZERO.fullmatch(text):
        raise NotPortableError(f"{text} is octal to some readers and decimal to others", _zero_hint(text))
    if _INTEGER.fullmatch(text):
        return _bounded(text, 10)
    if _OCTAL.fullmatch(text):
        return _bounded(text, 8)
    if _HEXADECIMAL.fullmatch(text):
        return _bounded(text, 16)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
    elif not _NO_NUMBER.fullmatch(text):
        return text
    raise NotPortableError(f"{_short(text)} is not a number that JSON can hold", _QUOTE)


def _bounded(text: str, base: int) -> int:
    if len(text) <= _DIGITS:
        value = int(text, base)
        if _LOWEST <= value <= _HIGHEST:
            return value
    raise NotPortableError(f"{_short(text)} does not fit 64 bits", _QUOTE)


def _zero_hint(text: str) -> str:
    plain = text.lstrip("+-")
    if len(plain) > _DIGITS or set(plain) & {"8", "9"}:
        return "write it in quotes if it is text, else without the zero"
    return f"write {int(plain, 8)} if it is octal, or put it in quotes if it is text"


def _short(text: str) -> str:
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}..."


_YES_NO = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_GO_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]{1,24}|0[bB][01]{1,70}|0[oO]?[0-7]{1,30}|[1-9][0-9]{,24}|0)")
_GO_FLOAT = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
EXACT = 2**53
"""Integers up to here survive a reader that reads every number as a float."""


def read_kubernetes(text: str) -> Scalar:
    """Return the value of an unquoted scalar as kubectl reads it (`resolve.go` of go-yaml v2, then JSON).

    Raises NotPortableError for an infinity and for no number, for which kubectl refuses the document.
    """
    first = text[:1]
    if text in _YES_NO:
        return _YES_NO[text]
    if first not in {"+", "-", "."} and not (first.isascii() and first.isdigit()):
        return read_plain(text)
    if _NO_NUMBER.fullmatch(text):
        raise NotPortableError(f"{text} is not a number that JSON can hold", _QUOTE)
    if first == ".":
        value = float(text) if _GO_FLOAT.fullmatch(text) else math.inf
        return value if math.isfinite(value) else text
    plain = text.replace("_", "")
    if _GO_INTEGER.fullmatch(plain):
        sign, digits = (-1, plain[1:]) if first == "-" else (1, plain.lstrip("+"))
        octal = digits[0] == "0" and digits.isdigit()
        integer = sign * int(digits, 8 if octal else 0)
        if _LOWEST <= integer <= _HIGHEST:
            return integer
        if first not in {"+", "-"} and integer < 2**64:
            return float(integer)
    value = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    return value if math.isfinite(value) else text


def key_of(value: Scalar) -> str | None:
    """Return the text that a key becomes in JSON, as sigs.k8s.io/yaml writes it; None for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return None if value is None else str(value)
    if value.is_integer() and abs(value) < _GO_EXPONENT:
        return str(int(value))
    single = _single(value)
    if single is None:
        return ".inf" if value > 0 else "-.inf"
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if _single(float(text)) == single)


_GO_EXPONENT = 1e6
"""Go writes exponents from here."""


def _single(value: float) -> bytes | None:
    """Return a number as a float of 32 bits; None for one that is too large."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return None


def is_disputed(text: str) -> bool:
    """Tell whether kubectl or kustomize may take an unquoted scalar for something else than YAML 1.2 does.

    They do so for `y` and `on`, for `1_000`, for `0644`, for integers beyond 53 bits, and in some places for
    dates.
    """
    if _DATE.fullmatch(text):
        return True
    try:
        value, plain = read_kubernetes(text), read_plain(text)
    except NotPortableError:
        return True
    return type(value) is not type(plain) or value != plain or (type(value) is int and abs(value) > EXACT)


# Words that YAML 1.1 (section "bool" and "null" of its type repository) or 1.2 read as no string.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
# Everything that looks as if some reader takes it for a number, a time or a date: 1e3, 0o17, 12:30:45,
# 2026-01-01, 1_000, 0b1, +1.
_NUMBER_LIKE = re.compile(r"[-+]?\.?[0-9_][0-9_.,:eExXoObBa-fA-FtTzZ+ -]*")
_TOPOLOGY = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*)+")
# JSON leaves these as they are; YAML 1.1 takes some for line breaks and refuses others, and what turns the
# direction of writing lets a reviewer read another text than there is.
_UNPRINTABLE = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff]"
)
_PLAIN = re.compile(r"[A-Za-z0-9_/$.(-][A-Za-z0-9_./@%+=~$():,;'\"!?*&<>|\[\]{}\\ -]*")


@lru_cache(maxsize=65536)
def write_string(text: str) -> str:
    """Return a string on one line: plain if YAML 1.1 and 1.2 agree that it is a string, else quoted."""
    return text if _is_plain(text) else write_quoted(text)


def write_quoted(text: str) -> str:
    """Return a string on one line in double quotes, without a character that some reader refuses."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda character: f"\\u{ord(character[0]):04x}", quoted)


def _is_plain(text: str) -> bool:
    if not _PLAIN.fullmatch(text):
        return False
    if text[-1] in " :" or ": " in text or " #" in text or text.startswith(("- ", "---", "...", "? ")):
        return False
    if text in {"-", "."} or text.lower().lstrip(".-+") in _WORDS:
        return False
    return not _NUMBER_LIKE.fullmatch(text) or bool(_TOPOLOGY.fullmatch(text))


UNUSUAL = object()
"""Stands for a scalar that has no value for all readers."""
_MOST = 50_000


class Meanings(dict[str, Scalar | object]):
    """The value of each plain scalar; UNUSUAL for one that readers disagree about, or that is refused."""

    def __missing__(self, text: str) -> Scalar | object:
        """Find out what a scalar means."""
        value: Scalar | object = UNUSUAL if is_disputed(text) else read_plain(text)
        if len(self) < _MOST:
            self[text] = value
        return value


MEANINGS = Meanings()
