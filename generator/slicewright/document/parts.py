"""A manifest -> the parts that kubectl reads one by one (`decoder.go` of k8s.io/apimachinery)."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

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
