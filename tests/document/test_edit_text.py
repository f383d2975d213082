"""Edits of a document change the lines that they must, in the layout that a person chose."""

import difflib
from typing import Any

import pytest

from slicewright.document.edit_file import patched, patched_together
from slicewright.kubernetes.problem import Edit, Fix, Path

BLOCK = """\
# head
kind: A
spec:
    cohort: "a"  # why
    list:
    - name: x   # first
      b: 1
      # inside
      c: {d: e, f: g}
    - name: y
    script: |
      # not a comment
      run
    resources:
      requests:
        # comment
        cpu: 1
    one:
      two: 3
# end
"""
JSON = '{\n  "a": {\n    "b": 1,\n    "c": [1, 2]\n  },\n  "d": {}\n}'
ALIAS = "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n"
LIST: Path = ("spec", "list")


def changes(before: str, after: str) -> list[str]:
    """Return the lines that differ."""
    lines = difflib.ndiff(before.split("\n"), after.split("\n"))
    return [line.replace("\r", "") for line in lines if line[0] in "+-"]


def add(path: Path, value: Any) -> Edit:
    """Return an edit that adds a value."""
    return Edit("add", path, value)


CASES = {
    "a key in its quotes": (
        BLOCK,
        Edit("move", ("spec", "cohortName"), source=("spec", "cohort")),
        ['-     cohort: "a"  # why', '+     cohortName: "a"  # why'],
    ),
    "a value in its quotes": (
        BLOCK,
        Edit("replace", ("spec", "cohort"), "b'c"),
        ['-     cohort: "a"  # why', '+     cohort: "b\'c"  # why'],
    ),
    "a mapping after the last key": (
        BLOCK,
        add(("spec", "resources", "limits"), {"cpu": "1", "x": [1, {"a": "b"}]}),
        ["+       limits:", '+         cpu: "1"', "+         x:", "+         - 1", "+         - a: b"],
    ),
    "a key before the comment at the end": (BLOCK, add(("spec", "new"), "x"), ["+     new: x"]),
    "a key between braces": (
        BLOCK,
        add((*LIST, 0, "c", "new"), "a, b"),
        ["-       c: {d: e, f: g}", '+       c: {d: e, f: g, new: "a, b"}'],
    ),
    "a key of an element": (BLOCK, add((*LIST, 1, "new"), 4), ["+       new: 4"]),
    "an element": (
        BLOCK,
        add((*LIST, "-"), {"name": "z", "v": True}),
        ["+     - name: z", "+       v: true"],
    ),
    "metadata before the others": (
        "a:\n  # the spec\n  spec: 1\n",
        add(("a", "metadata"), {"b": 1}),
        ["+   metadata:", "+     b: 1"],
    ),
    "a run before the others": ("spec:\n  # where\n  tpu: a\n", add(("spec", "run"), 2), ["+   run: 2"]),
    "a run after a merge": (
        "a: &x {run: 1}\nspec:\n  <<: *x\n",
        Edit("replace", ("spec", "run"), 2),
        ["+   run: 2"],
    ),
    "a first key at the start": ("a: 1\n", add(("metadata",), {"b": 1}), ["+ metadata:", "+   b: 1"]),
    "a text that a reader may take for a date": (
        "a: 2026-01-01\n",
        Edit("replace", ("a",), "2026-01-02"),
        ["- a: 2026-01-01", '+ a: "2026-01-02"'],
    ),
    "a text over lines": ("a: b\n  c\nd: 1\n", Edit("replace", ("a",), 2), ["- a: b", "+ a: 2", "-   c"]),
    "no element": (BLOCK, Edit("remove", (*LIST, 1)), ["-     - name: y"]),
    "the second key after a dash": (
        BLOCK,
        Edit("remove", (*LIST, 0, "name")),
        ["-     - name: x   # first", "+     - # first"],
    ),
    "no key, and its comments": (
        "a:\n  b: # why\n  - c # first\n  # next\n  - d\n  e: 1\n",
        Edit("remove", ("a", "b")),
        ["-   b: # why", "+   # why", "-   - c # first", "+   # first", "-   - d"],
    ),
    "a value behind its anchor": (
        "a: &x 1 # why\nb: 2\n",
        Edit("replace", ("a",), 3),
        ["- a: &x 1 # why", "+ a: &x 3 # why"],
    ),
    "a value behind its tag": ("a: !!int 1\n", Edit("replace", ("a",), 3), ["- a: !!int 1", "+ a: !!int 3"]),
    "the value of an alias": ("a: &x 1\nb: *x\n", Edit("replace", ("b",), 3), ["- b: *x", "+ b: 3"]),
    "a key behind its anchor": (
        "a: {&x b: 1}\n",
        Edit("move", ("a", "c"), source=("a", "b")),
        ["- a: {&x b: 1}", "+ a: {&x c: 1}"],
    ),
    "no key of a block": (BLOCK, Edit("remove", (*LIST, 0, "c")), ["-       c: {d: e, f: g}"]),
    "no first key between braces": (
        BLOCK,
        Edit("remove", (*LIST, 0, "c", "d")),
        ["-       c: {d: e, f: g}", "+       c: {f: g}"],
    ),
    "no last key between braces": (
        BLOCK,
        Edit("remove", (*LIST, 0, "c", "f")),
        ["-       c: {d: e, f: g}", "+       c: {d: e}"],
    ),
    "no only key after a dash": (
        BLOCK,
        Edit("remove", (*LIST, 1, "name")),
        ["-     - name: y", "+     - {}"],
    ),
    "no only key": (BLOCK, Edit("remove", ("spec", "one", "two")), ["-       two: 3", "+       {}"]),
    "no text of several lines": (
        BLOCK,
        Edit("remove", ("spec", "script")),
        ["-     script: |", "-       # not a comment", "-       run"],
    ),
    "another mapping, and the comments in it": (
        BLOCK,
        Edit("replace", ("spec", "resources", "requests"), {"m": "1Gi"}),
        ["+         m: 1Gi", "-         cpu: 1"],
    ),
    "an empty list": (
        BLOCK,
        Edit("replace", (*LIST, 0, "c"), []),
        ["-       c: {d: e, f: g}", "+       c: []"],
    ),
    "a list between braces": (
        BLOCK,
        Edit("replace", (*LIST, 0, "c", "d"), [1, "a"]),
        ["-       c: {d: e, f: g}", "+       c: {d: [1, a], f: g}"],
    ),
    "digits as text": (BLOCK, Edit("replace", (*LIST, 0, "b"), "1"), ["-       b: 1", '+       b: "1"']),
    "JSON": (
        JSON,
        add(("a", "x"), {"y": "z"}),
        ['-     "c": [1, 2]', '+     "c": [1, 2],', '+     "x": {"y": "z"}'],
    ),
    "JSON, an element": (JSON, add(("a", "c", "-"), "q"), ['-     "c": [1, 2]', '+     "c": [1, 2, "q"]']),
    "JSON, an empty mapping": (JSON, add(("d", "x"), 1), ['-   "d": {}', '+   "d": {"x": 1}']),
    "an empty list of a block": ("a: []\n", add(("a", "-"), "b"), ["- a: []", "+ a: [b]"]),
    "a first element": ("a: [b, c]\n", Edit("remove", ("a", 0)), ["- a: [b, c]", "+ a: [c]"]),
    "no element at all": ("a: [b]\n", Edit("remove", ("a", 0)), ["- a: [b]", "+ a: []"]),
    "a last line without an end": ("a: b", add(("c",), {"d": 1}), ["+ c:", "+   d: 1"]),
    "single quotes": ("a: 'b'\n", Edit("replace", ("a",), "it's"), ["- a: 'b'", "+ a: 'it''s'"]),
    "a number without quotes": ("a: '4'\n", Edit("replace", ("a",), 4), ["- a: '4'", "+ a: 4"]),
    "a merged key of its own": (ALIAS, Edit("replace", ("d", "b"), 2), ["+   b: 2"]),
}


@pytest.mark.parametrize(("text", "edit", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_only_these_lines_change(text: str, edit: Edit, expected: list[str], newline: str) -> None:
    """An edit is written as the lines around it are, and all other lines stay as they are."""
    text = text.replace("\n", newline)

    after = patched(text, [edit])

    assert after is not None
    assert expected == changes(text, after)
    assert newline not in text or after.count("\n") == after.count(newline)


REFUSED = {
    "what is inside of an alias": ("a: &x {b: {d: 1}}\nc: *x\n", Edit("replace", ("c", "b", "d"), 2)),
    "an anchor that another place repeats": (ALIAS, Edit("replace", ("a", "b"), 2)),
    "a value that an alias repeats": (ALIAS, Edit("remove", ("c", "b"))),
    "a text of several lines": (BLOCK, Edit("replace", ("spec", "script"), "x")),
    "a number that is written in another form": ("a: 0x10\n", Edit("replace", ("a",), "16")),
    "a key that goes elsewhere": (BLOCK, Edit("move", ("two",), source=("spec", "one", "two"))),
    "a value with an anchor in it": ("a:\n  b: &x 1\n  c: 2\n", Edit("remove", ("a", "b"))),
    "a mapping with a tag": ("a: !!map {b: 1}\nc: 2\n", Edit("replace", ("a",), {"d": 1})),
    "a number whose tag makes it no text": ("a: !!int 1\n", Edit("replace", ("a",), "1")),
    "a comment between braces": ("a: {b: 1, # why\n  c: 2}\n", Edit("remove", ("a", "b"))),
    "a place that does not exist": (BLOCK, Edit("remove", ("spec", "absent", "x"))),
    "a merged key": (ALIAS, Edit("remove", ("d", "b"))),
}


@pytest.mark.parametrize(("text", "edit"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_written_is_left_to_the_person(text: str, edit: Edit) -> None:
    """Where no way of writing an edit reads as intended, there is no result."""
    assert patched(text, [edit]) is None


def test_line_ends_are_those_of_the_line_above() -> None:
    """One line with another end decides only what is written below it."""
    assert "a:\r\n  b: 1\nc: 2\nd: 3\n" == patched("a:\r\n  b: 1\nc: 2\n", [add(("d",), 3)])
    assert "a:\n  b: 1\r\n  c: 2\r\nd: 2\n" == patched("a:\n  b: 1\r\nd: 2\n", [add(("a", "c"), 2)])


def test_anchor_and_its_aliases_change_together() -> None:
    """Where all places of an anchor get one value, the anchor gets it and the aliases stay."""
    fixes = [Fix("", (Edit("replace", (name,), 4),)) for name in "ab"]

    assert ("a: &x 4\nb: *x\n", fixes) == patched_together("a: &x 1\nb: *x\n", fixes)
    both = [edit for fix in reversed(fixes) for edit in fix.edits]
    assert "a: &x 4\nb: *x\n" == patched("a: &x 1\nb: *x\n", both)


def test_comments_of_a_mapping_outlive_it() -> None:
    """Where a mapping replaces another, the comments of the old one stay below the new one."""
    text = "a: # why\n  b: {c: 1, # first\n    d: 2} # last\n"

    after = patched(text, [Edit("replace", ("a",), {"e": 3})])

    assert after == "a:\n  e: 3\n# why\n# first\n# last\n"
