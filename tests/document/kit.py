"""The readers that written documents must agree with, strings that some of them misread, and strategies."""

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st
from ruamel.yaml import YAML
from tests.files import program

from slicewright.document.write import write_documents

HEAD = "apiVersion: example.com/v1\nkind: Holder\nmetadata: {name: a}\n"

READERS: dict[str, Callable[[str], Any]] = {
    "PyYAML (1.1)": lambda text: yaml.load(text, yaml.SafeLoader),
    "libyaml (1.1)": lambda text: yaml.load(text, yaml.CSafeLoader),
    "ruamel.yaml (1.2)": lambda text: YAML(typ="safe", pure=True).load(text),
}

LOOKALIKES = (
    *("", "~", "null", "Null", "true", "True", "y", "Y", "n", "yes", "no", "NO", "on", "off", "Off"),
    *("1", "0", "-1", "+1", "012", "08", "0o17", "0x1f", "0b11", "1_000", "-0x1", "1,000", "1e3", "1e", "0."),
    *(".5", "-.0", "1.", "._", "0_", "1.5e+3", ".inf", "-.INF", ".nan", "NaN", "inf", "12:30:45", "1:2"),
    *("2026-01-01", "2001-12-14t21:59:43.10-05:00", "0644", "1e400", "9" * 30, "4x4", "2x2x2", "1x0"),
    *(
        "=",
        "<<",
        "<<: x",
        "-",
        "- a",
        "--- a",
        "---",
        "...",
        "?",
        "? a",
        ":",
        ": a",
        ":a",
        "a:",
        "a: b",
        "a: ",
    ),
    *(
        "a :b",
        "#",
        "a #b",
        "a# b",
        "!a",
        "!!str a",
        "&a",
        "*a",
        "@a",
        "`a`",
        "%a",
        "|",
        "k: |",
        ">",
        "'",
        '"',
    ),
    *("'a'", '"a"', "\\", "\\n", "{}", "[]", "{{x}}", "[a", "a]b", "a, b", "$(A)", "${A}", "it's"),
)
INVISIBLE = (
    *(" ", " a", "a ", "\t", "a\tb", "\ta", "a\t", "\r", "a\rb", "a\r\nb\r\n", "\x00", "\x1b[0m", "\x7f"),
    *(
        "\x85",
        "a\x85b",
        "\xa0",
        "\xad",
        "\u2028",
        "a\u2029\n",
        "\ufeff",
        "\ufeffa\n",
        "\ufffe",
        "\ud7ff\ue000",
    ),
    *("\ufdd0\n", "\ufffd", "😀", "e\u0301", "\U0010ffff"),
)
SCRIPTS = (
    *(
        "a\nb",
        "a\nb\n",
        "a\n\n",
        "a\nb\n\n\n",
        "\na",
        "\n",
        "\n\n",
        " \n",
        " a\nb",
        "  a\n    b\n",
        "a\n  b\n",
        "a\n\nb\n",
    ),
    *(
        "a \nb\n",
        "a\nb ",
        "a\n\tb\n",
        "a\n b\n ",
        "#!/bin/sh\nset -eu\nexec python3 train.py \\\n  --steps=1\n",
    ),
    *("a: b\n- c\n", "---\na\n...\n", "# a\nb\n", "%a\nb\n", "a\n#b\n", "😀\né\n"),
)
LONG = ("x" * 3000, "word " * 300 + "end", "key: " * 200, "a\n" + "x " * 500 + "x\n")
NASTY = (*LOOKALIKES, *INVISIBLE, *SCRIPTS, *LONG)

texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text(alphabet="ab -:#\n\t\"'01289.eExXoO_+TZ~=<>|{}[]&*!%@`?,\\", max_size=10),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
json_like = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def exact(data: object) -> object:
    """Return data with the types and the order of keys made visible, for an exact comparison."""
    if isinstance(data, dict):
        return [(key, exact(value)) for key, value in data.items()]
    if isinstance(data, list):
        return {"list": [exact(item) for item in data]}
    if isinstance(data, float):
        return "float", data, math.copysign(1, data)
    return type(data).__name__, data


def spec(value: str) -> str:
    """Return an object with a value."""
    return f"{HEAD}spec:\n  v: {value}\n"


def kubectl(text: str) -> tuple[list[Any], str]:
    """Return the specs of the objects that kubectl reads, and what it says."""
    command: list[str | Path] = [program("kubectl"), "annotate", "--local", "-f", "-", "-o", "json", "a=b"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    decoder, written, specs = json.JSONDecoder(), done.stdout.decode().strip(), []
    while written:
        data, end = decoder.raw_decode(written)
        specs.append(data.get("spec", {}))
        written = written[end:].lstrip()
    return specs, done.stderr.decode()


def as_go_reads(values: list[Any]) -> list[Any]:
    """Return some values as kubectl's reader finds them in the documents that we write."""
    objects = [
        {
            "apiVersion": "example.com/v1",
            "kind": "Holder",
            "metadata": {"name": "a"},
            "spec": {"value": value},
        }
        for value in values
    ]
    command: list[str | Path] = [program("kubectl"), "label", "--local", "-f", "-", "-o", "json", "a=b"]
    answer = subprocess.run(
        command, input=write_documents(objects).encode(), capture_output=True, check=False
    )
    assert answer.returncode == 0, answer.stderr.decode()
    text, decoder, at, values = answer.stdout.decode(), json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        item, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        values.append(item["spec"].get("value"))
    return values


def numbers_as_floats(data: object) -> object:
    """Return data as it is for Go's untyped JSON: numbers are floats, and keys have no order."""
    if isinstance(data, dict):
        return {key: numbers_as_floats(value) for key, value in data.items()}
    if isinstance(data, list):
        return [numbers_as_floats(item) for item in data]
    if isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    return data if isinstance(data, float) else exact(data)


LINES = st.lists(
    st.sampled_from(
        [
            "a: 1",
            "b:",
            "  c: [x, y]",
            "- d",
            "- e: on",
            "---",
            "&x f: *x",
            "!!str g: 1",
            "a: 2",
            '"h": "i"',
            "? [j]",
            "<<: {k: 1}",
        ]
    ),
    max_size=6,
)
"""Lines that make files of all sorts together."""
