"""Files of this repository, changed as a careless or a hostile hand would change them."""

from __future__ import annotations

import copy
import json
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.conftest import PROJECT

from slicewright.core.document.read import read_documents

if TYPE_CHECKING:
    from random import Random

EVIL = "x\n::stop-commands::y\r\n ~~~\n```\u202e\x1b[31m##[error]"
LONG = tuple(part * 30_000 for part in ("0", "-", " ", "a.", "{{", "1h", "a: ", "../"))
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, 1.5, 1e300, "", "a", "-", "yes", "012", "0x1F"),
    *(
        "1" * 5000,
        "9" * 20,
        "a" * 300,
        "é\u202e",
        EVIL,
        "~",
        "null",
        "1e999",
        "1.5Gi",
        "-4",
        "16x16",
        "2x2x2",
    ),
    *("v5litepod-8", "v4-16", "tpu7x-64", "ct5lp-hightpu-4t", "Spot", "Fixed", "Hashed", "default", "c1"),
    *(
        "../..",
        "../../../etc/passwd",
        "/etc/passwd",
        "a/../b",
        "$(id)",
        "${x}",
        "{{ x }}",
        "%s",
        "\\",
        "'",
        '"',
    ),
    *(
        "http://127.0.0.1:9/x",
        "HTTPS://[::1]:9",
        "git@127.0.0.1:a/b",
        "k=http://127.0.0.1:9",
        "(a|a)*b",
        "[",
        "(?=a)",
    ),
    *([], {}, [[]], [{}], [None], {"a": {}}, {"name": "a"}, ["a", "a"], {"": 1}, [1, "a", None, {}]),
)
LINES = (
    "---",
    "...",
    "- a",
    "a: &b *b",
    "? a",
    "<<: *x",
    "a: !!binary aa==",
    "%YAML 1.1",
    "\t- a",
    "a: |+2",
    "#",
    "{",
    "]",
    EVIL,
)
_SUFFIXES = (".yaml", ".yml")
_LARGEST = 12_000


@cache
def corpus() -> dict[str, str]:
    """Return the text of the YAML files that git knows in this repository, without the large ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True, text=True
    ).stdout
    paths = [path for path in listed.split("\0") if path.endswith(_SUFFIXES)]
    return {
        path: (PROJECT / path).read_text(encoding="utf-8")
        for path in sorted(paths)
        if (PROJECT / path).is_file() and (PROJECT / path).stat().st_size < _LARGEST
    }


@cache
def below(*starts: str) -> tuple[str, ...]:
    """Return the paths of the corpus that begin so."""
    return tuple(path for path in corpus() if path.startswith(starts))


def text(text: str, draw: Random, times: int = 0) -> str:
    """Return a text with some changes: of the data in it, or of lines and characters."""
    for _ in range(times or draw.choice((1, 1, 1, 2, 3, 5))):
        text = draw.choice((_of_data, _of_data, _of_data, _of_lines, _of_characters))(text, draw)
    return text


def data(value: Any, draw: Random) -> Any:
    """Return plain data with one change somewhere in it."""
    value = copy.deepcopy(value)
    holders = list(_holders(value))
    if not holders:
        return copy.deepcopy(draw.choice(VALUES))
    holder = draw.choice(holders)
    key = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    change = draw.randrange(8)
    if change == 0:
        del holder[key]
    elif change == 1 and isinstance(holder, dict):
        holder[draw.choice(("a", "", EVIL, "metadata", "spec", "name", key + "s", key.upper()))] = holder.pop(
            key
        )
    elif change == 2:
        other = draw.choice(holders)
        holder[key] = copy.deepcopy(draw.choice(list(other.values()) if isinstance(other, dict) else other))
    elif change == 3 and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _ in range(draw.choice((1, 2, 50))))
    elif change == 4:
        holder[key] = [holder[key]] if draw.randrange(2) else {"a": holder[key]}
    else:
        holder[key] = copy.deepcopy(draw.choice(VALUES if draw.randrange(20) else LONG))
    return value


def _holders(value: Any) -> Any:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict | list) and found:
            yield found
            waiting.extend(found.values() if isinstance(found, dict) else found)


def _of_data(text: str, draw: Random) -> str:
    documents, _ = read_documents(text, "")
    if not documents:
        return _of_lines(text, draw)
    chosen = draw.randrange(len(documents))
    written = (
        json.dumps(
            data(document.data, draw) if number == chosen else document.data,
            ensure_ascii=bool(draw.randrange(2)),
        )
        for number, document in enumerate(documents)
    )
    return "\n---\n".join(written) + "\n"


def _of_lines(text: str, draw: Random) -> str:
    lines = text.split("\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    change = draw.randrange(7)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(other, lines[at])
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        lines.insert(at, " " * draw.randrange(6) + draw.choice(LINES))
    elif change == 4:
        lines[at] = lines[at].partition(":")[0] + ": " + json.dumps(draw.choice(VALUES))
    elif change == 5:
        del lines[at:]
    else:
        lines += corpus()[draw.choice(list(corpus()))].split("\n")
    return "\n".join(lines)


def _of_characters(text: str, draw: Random) -> str:
    at = draw.randrange(len(text) + 1)
    put = draw.choice(
        (
            "",
            "\0",
            "\t",
            "\r",
            "\x85",
            "\u2028",
            "\ufeff",
            "\ud83c",
            "'",
            '"',
            "{",
            "[",
            ":",
            "*",
            "&",
            "!",
            "é",
        )
    )
    return text[:at] + put + text[at + draw.randrange(3) :]
