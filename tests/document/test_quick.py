"""The quick readers and the careful one read alike, or the quick ones say that they do not know."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slicewright.core.document import lines, plain, quick
from slicewright.core.document.careful import read_carefully
from slicewright.core.document.lines import read_lines
from slicewright.core.document.quick import read_quickly
from slicewright.core.document.read import MAX_DEPTH
from slicewright.core.document.write import write_documents

from .kit import json_like

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["on", "0o17", "1_000", "2026-01-01", "<<", "y", "0644", "1e3"]),
)
TREES = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=4), SCALARS), below, max_size=3),
    ),
    max_leaves=10,
)
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


BLOCKS = [
    *(
        "a: 1\n",
        "b:\n",
        "  c: x\n",
        "  d:\n",
        "    e: y z\n",
        "- f\n",
        "- g: h\n",
        "  i: j\n",
        "  - k\n",
        "- l:\n",
    ),
    *(
        "    - m: n\n",
        "      o:\n",
        "---\n",
        "# text\n",
        "  # text\n",
        "\n",
        "   \n",
        "- - p\n",
        "-\n",
        "q: \n",
    ),
    *(
        "r: |\n",
        "  s: |-\n",
        "- |\n",
        "    t  \n",
        "     u\n",
        "- v: |\n",
        "w: {}\n",
        "- []\n",
        "x: 'y'\n",
        'z: "z"\n',
    ),
    *(
        "true: a\n",
        "on: a\n",
        "a: on\n",
        "a: b: c\n",
        "a: b #c\n",
        "a: b#c\n",
        "a: -\n",
        "a: ---\n",
        "a: -- b\n",
        "...\n",
    ),
    *(
        "a : 1\n",
        "a: b:\n",
        "a: :b\n",
        "a:  b\n",
        "a: b  \n",
        "text\n",
        "  text\n",
        "a: 'b\n",
        "a: 0644\n",
        "end",
    ),
]
PROGRAM = """\
# from a program
apiVersion: v1
metadata:
  labels:
    a.b/c: 4x4
  empty:
spec:
  list:
  - name: a
    args:
    - --x=1
    - b c
  - name: "it's"
    deeper:
      - 1
      - true
  none: []
  all: {}
  script: |
    echo a

      echo b
  stripped: |-
    x
last:

# nothing follows
---
# an empty document

---

- a
- |
  two
  lines
"""


def agrees(text: str) -> bool:
    """Tell whether the quick readers give what the careful one gives, or nothing."""
    documents, problems = read_carefully(text, "file.yaml", undisputed=True)
    return all(
        found is None or (documents == found and repr(documents) == repr(found) and problems == ())
        for found in (read_lines(text), read_quickly(text))
    )


@settings(deadline=None)
@given(st.lists(TREES, max_size=3))
def test_readers_agree_on_dumped_trees(trees: list[Any]) -> None:
    """Whatever PyYAML writes is read alike."""
    assert agrees(yaml.safe_dump_all(trees, allow_unicode=True))


@settings(deadline=None)
@given(st.one_of(st.text(), LINES.map("\n".join)))
def test_readers_agree_on_any_text(text: str) -> None:
    """Whatever somebody writes is read alike, broken or not."""
    assert agrees(text)


@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(BLOCKS), max_size=12).map("".join))
def test_readers_agree_on_blocks_of_any_indentation(text: str) -> None:
    """Lines that may be put together as a program would, and in every way that is wrong."""
    assert agrees(text)


@settings(deadline=None)
@given(st.lists(json_like, max_size=3))
def test_readers_agree_on_what_we_write(documents: list[Any]) -> None:
    """Whatever our writer makes is read alike."""
    assert agrees(write_documents(documents))


def test_what_programs_write_is_read_line_by_line() -> None:
    """Nested lists and mappings, empty ones, texts and comments; a list may stand below its key or deeper."""
    found = read_lines(PROGRAM)
    assert found is not None
    assert [(document.data, document.index, document.line) for document in found] == [
        (
            {
                "apiVersion": "v1",
                "metadata": {"labels": {"a.b/c": "4x4"}, "empty": None},
                "spec": {
                    "list": [{"name": "a", "args": ["--x=1", "b c"]}, {"name": "it's", "deeper": [1, True]}],
                    "none": [],
                    "all": {},
                    "script": "echo a\n\n  echo b\n",
                    "stripped": "x",
                },
                "last": None,
            },
            0,
            2,
        ),
        (["a", "two\nlines\n"], 2, 33),
    ]


def test_usual_manifests_are_read() -> None:
    """Documents, empty ones left out, with index and line."""
    found = read_quickly("a: 1\n---\n---\n# text\n- b: [c, {d: 'on'}]\n  e: |\n    f\n")
    assert found is not None
    assert [(document.data, document.index, document.line) for document in found] == [
        ({"a": 1}, 0, 1),
        ([{"b": ["c", {"d": "on"}], "e": "f\n"}], 2, 5),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: &x {}",
        "a: *x",
        "a: !!str 1",
        "a: !t {}",
        "<<: {a: 1}",
        "a: on",
        "a: 0644",
        "1: a",
        "a: 1\na: 2",
        "? {a: b}\n: c",
        "a: [",
        "\ud800",
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    ],
)
def test_what_is_unusual_is_left_to_the_careful_reader(text: str) -> None:
    """Anchors, tags, merge keys, disputed scalars and everything wrong have no quick answer."""
    assert read_quickly(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "a: \u00e9\n",
        "a: 1\t\n",
        "text\n",
        "- a\nb\n",
        "a: {b: c}\n",
        "a: on\n",
        "on: a\n",
        "a: 1\na: 2\n",
        "  a: 1\nb: 2\n",
        "a:\n    b: 1\n  c: 2\n",
        "a: |\nb: 1\n",
        "a: |\n  b\n   \n",
        "".join(" " * depth + "a:\n" for depth in range(MAX_DEPTH)),
    ],
)
def test_other_lines_are_left_to_other_readers(text: str) -> None:
    """What is not one value a line, and everything wrong, has no answer line by line."""
    assert read_lines(text) is None


def test_memory_for_known_scalars_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of different scalars they are read without being remembered."""
    monkeypatch.setattr(plain, "_MOST", 0)
    monkeypatch.setattr(lines, "_MOST", 0)
    for text in ("never: seen-before\n", "[never-seen-before]"):
        assert agrees(text)
    assert not {"seen-before", "never-seen-before"} & {*plain.MEANINGS}


def test_many_values_are_left_to_the_careful_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit of values is not read quickly, however they are spread over documents."""
    monkeypatch.setattr(quick, "MAX_VALUES", 3)
    assert read_quickly("[aa, bb]") is not None
    assert read_quickly("[aa, bb, cc]") is None
    assert read_quickly("[aa, bb]\n---\n[aa]") is None
    monkeypatch.setattr(lines, "MAX_VALUES", 6)
    assert read_lines("a: 1\n") is not None
    assert read_lines("a: 1\nb: 2\n") is None
