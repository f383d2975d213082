"""How kubectl reads a manifest: its parts, tags, scalars that readers dispute, and starts of documents.

Source: `decoder.go` of k8s.io/apimachinery.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import yaml

from slicewright.document.scalar import NotPortableError, Scalar, read_kubernetes, read_plain

OF_YAML = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Where libyaml begins another line."""
_SEPARATOR = re.compile(r"\n(?=---(\s|\Z))")
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_WIDE = 500
"""Columns before an object of JSON that places of problems count: libyaml reads a space for each."""
_BRACE = re.compile(r"\s*\{")
_TABS = re.compile(r"^[ \t]+", re.MULTILINE)


def is_json(text: str) -> bool:
    """Tell whether kubectl first tries to read a text as JSON, whatever its file is called."""
    return _BRACE.match(text) is not None


def yaml_of_json(text: str) -> str:
    """Return JSON text that a YAML reader reads alike; other text is returned unchanged."""
    if is_json(text) and "\t" in text:
        text = _TABS.sub(lambda tabs: " " * len(tabs[0]), text)
    return paired(text)


def paired(text: str) -> str:
    """Return JSON text with each surrogate pair as one YAML escape; other text is returned unchanged."""
    return _PAIR.sub(_joined, text) if is_json(text) and "\\u" in text else text


def _joined(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return f"{pair[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield each part with the number of lines before it; a part of YAML begins with its separator."""
    lines = at = 0
    while is_json(text[at:]):
        start = text.index("{", at)
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            break  # kubectl reads the rest as YAML
        lines += _breaks(text[at:start])
        column = start - max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) - 1
        yield lines, " " * min(column, _WIDE) + yaml_of_json(text[start:end])
        lines += _breaks(text[start:end])
        at = end
    rest = text[at:]
    starts = [0, *(match.end() for match in _SEPARATOR.finditer(rest)), len(rest)]
    if len(starts) > 2 and _DIRECTIVE.search(rest, 0, starts[1]):  # noqa: PLR2004 - a separator
        del starts[1]
    for start, end in pairwise(starts):
        part = rest[start:end]
        yield lines, yaml_of_json(part)
        lines += _breaks(part)


def _breaks(text: str) -> int:
    """Return how many lines end in a text."""
    return text.count("\n") if text.isascii() and "\r" not in text else len(LINE_BREAK.findall(text))


def tagged(text: str, name: str) -> Scalar:
    """Return the value of a scalar with a tag of YAML, such as `int`. Raises NotPortableError."""
    try:
        if name == "binary":
            return base64.b64decode(text.replace("\n", ""), validate=True).decode(errors="replace")
        value = read_kubernetes(text) if name in _TYPES else text
        if type(value) in _TYPES.get(name, (str,)):
            return value
    except (binascii.Error, NotPortableError):
        pass
    raise NotPortableError(f"'{text}' cannot be read as !!{name}", "")


def disputed(text: str, value: Scalar) -> tuple[str, str, str]:
    """Return id, message and hint of a scalar that YAML 1.2 reads as another value than kubectl."""
    ident = "YAML007"
    try:
        if read_plain(text) == value:  # kustomize alone may differ
            return "", "", ""
    except NotPortableError:
        ident = "YAML006"
    shown = "text" if isinstance(value, str) else json.dumps(value)
    hint = "write the value that you mean; quote it if it is text"
    if ident == "YAML006" and type(value) is int and value >= 0:
        hint = f"write {value} or 0o{value:o} if it is a number, '{text}' in quotes if it is text"
    return ident, f"kubectl reads '{text}' as {shown}, but YAML 1.2 reads it differently", hint


def refused_start(event: Any, first: Any) -> tuple[str, str]:
    """Return why kubectl refuses the start of a document, and a hint."""
    if event.version or event.tags:
        return "kubectl refuses a file with a % directive", "delete the line"
    is_empty = isinstance(first, yaml.ScalarEvent) and not (first.value or first.tag or first.anchor)
    if event.explicit and first.start_mark.line == event.start_mark.line and not is_empty:
        return "kubectl refuses text after '---'", "begin the document on the next line"
    return "", ""
