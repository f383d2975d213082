"""One value changes in a file that a person keeps, and nothing else does."""

from __future__ import annotations

import pytest

from slicewright.core.document.edit import set_in_specs

TWO = """\
# The first.
kind: TPUWorkload
spec:  # what
  tpu: v6e-4   # small
  run: 1       # bump me
---
kind: TPUWorkload
spec: {tpu: 'v6e-8', run: "1"}  # the second
"""


@pytest.mark.parametrize(
    ("index", "value", "before", "after"),
    [(0, 2, "run: 1  ", "run: 2  "), (1, "2", 'run: "1"', 'run: "2"')],
)
def test_comments_and_the_other_documents_stay(index: int, value: int | str, before: str, after: str) -> None:
    """In a file of several documents one value is replaced; comments and alignment are as they were."""
    assert (TWO.replace(before, after), {}) == set_in_specs(TWO, ("run",), {index: value})


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("spec:\n  run: 1\n  tpu: a\n", 2, "spec:\n  run: 2\n  tpu: a\n"),
        ("spec:\n  run: 1", 2, "spec:\n  run: 2"),
        ("spec:\n  run: 1\n", "exp-1", "spec:\n  run: exp-1\n"),
        ("spec:\n  run: 1\n", "2", 'spec:\n  run: "2"\n'),
        ('spec:\n  run: "exp-1"  # x\n', "exp-2", 'spec:\n  run: "exp-2"  # x\n'),
        ("spec:\n  run: 'it''s 1'  # x\n", "it's 2", "spec:\n  run: 'it''s 2'  # x\n"),
        ("spec:\n  run: 'a'\n", 2, "spec:\n  run: 2\n"),
        ("spec:\n  run: exp 7   # x\n", "exp 8", "spec:\n  run: exp 8   # x\n"),
        ("spec:\n  run: a, b [c] # x\n", "d", "spec:\n  run: d # x\n"),
        ("spec:\n  run: a#b #c\n", 2, "spec:\n  run: 2 #c\n"),
        ("spec:\n  run:\n    1\n", 2, "spec:\n  run:\n    2\n"),
        ("spec:\n  run:\t1\t# x\n", 2, "spec:\n  run:\t2\t# x\n"),
        ("spec:\n  'run' : 1\n", 2, "spec:\n  'run' : 2\n"),
        ("spec:\r\n  run: 1\r\n  tpu: a\r\n", 2, "spec:\r\n  run: 2\r\n  tpu: a\r\n"),
        ("\ufeffspec: {run: 1}\n", 2, "\ufeffspec: {run: 2}\n"),
        ("spec: {a: 1, run: 1,\n}\n", 2, "spec: {a: 1, run: 2,\n}\n"),
        ("spec: {run: a b}\n", "x, y", 'spec: {run: "x, y"}\n'),
        ("{spec: {run: 1}, kind: x}", 2, "{spec: {run: 2}, kind: x}"),
        ('{"spec": {"run": 1}}', 2, '{"spec": {"run": 2}}'),
        ("a: &x 1\nspec:\n  run: *x\n", 2, "a: &x 1\nspec:\n  run: 2\n"),
        ("a: '\u2028'\nspec:\n  run: 1\n", 2, "a: '\u2028'\nspec:\n  run: 2\n"),
        ("spec:\n  run: [1]  # x\n", 2, "spec:\n  run: 2  # x\n"),
    ],
)
def test_a_value_is_replaced_where_it_stands(before: str, value: int | str, after: str) -> None:
    """Whatever style the value is written in, its text alone is replaced; quotes of a kind are kept."""
    assert (after, {}) == set_in_specs(before, ("run",), {0: value})


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("spec:\n  tpu: a  # x\n", 2, "spec:\n  run: 2\n  tpu: a  # x\n"),
        ("spec:\n  # first\n  tpu: a", 2, "spec:\n  # first\n  run: 2\n  tpu: a"),
        ("spec:\r\n    tpu: a\r\n", 2, "spec:\r\n    run: 2\r\n    tpu: a\r\n"),
        ("spec: {tpu: a}\n", 2, "spec: {run: 2, tpu: a}\n"),
        ("spec: {tpu: a}\n", "x, y", 'spec: {run: "x, y", tpu: a}\n'),
        ("spec: {\n  tpu: a,\n}\n", "b", "spec: {\n  run: b, tpu: a,\n}\n"),
        ("spec: &s\n  tpu: a\n", 2, "spec: &s\n  run: 2\n  tpu: a\n"),
        ("base: &b {run: 1}\nspec:\n  <<: *b\n", 2, "base: &b {run: 1}\nspec:\n  run: 2\n  <<: *b\n"),
    ],
)
def test_a_missing_key_is_added_first(before: str, value: int | str, after: str) -> None:
    """A key that is missing, or only merged, becomes the first of its mapping, in that mapping's style."""
    assert (after, {}) == set_in_specs(before, ("run",), {0: value})


@pytest.mark.parametrize(
    "text",
    [
        "spec:\n  run: |\n    1\n",
        "spec:\n  run: >-\n    1\n",
        "spec:\n  run: a\n    b\n",
        "spec:\n  run: 'a\n    b'\n",
        "spec:\n  run: !!str 1\n",
        "spec:\n  run: &r 1\n  other: *r\n",
        "spec:\n  run:\n",
        "spec:\n  run: [1,\n  2]\n",
        "spec: {}\n",
        "base: &b {run: 1}\nspec: *b\n",
        "spec:\n  ? tpu\n  : a\n",
    ],
)
def test_what_cannot_be_changed_in_place_is_refused(text: str) -> None:
    """Where no edit of one line reads as intended, nothing is changed and a person is asked to."""
    assert (text, {0: "spec.run cannot be changed in place"}) == set_in_specs(text, ("run",), {0: 2})


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("spec: [", 0),
        ("", 0),
        ("spec: {run: 1}\n", 1),
        ("- spec\n", 0),
        ("spec: 1\n", 0),
        ("kind: a\n", 0),
        ("spec:\n", 0),
    ],
)
def test_what_has_no_spec_is_refused(text: str, index: int) -> None:
    """A file that cannot be read, a document that is not there or has no spec stays as it is."""
    assert (text, {index: "the file cannot be read"}) == set_in_specs(text, ("run",), {index: 2})


SEVERAL = """\
spec: {run: 1, tpu: a}
---
spec:
  run: 'b'  # why
---
spec:
  ? tpu
  : a
---
kind: a
---
spec:
  tpu: a
"""


def test_several_documents_are_changed_together() -> None:
    """Each gets its value in its own layout; those that cannot have it are named and stay as they are."""
    text = f"\ufeff{SEVERAL}"

    edited, refused = set_in_specs(text, ("run",), {0: 2, 1: "c", 2: 3, 3: 4, 4: "d"})

    assert edited == text.replace("run: 1", "run: 2").replace("'b'", "'c'").replace(
        "  tpu: a", "  run: d\n  tpu: a"
    )
    assert refused == {2: "spec.run cannot be changed in place", 3: "the file cannot be read"}


def test_documents_without_a_change_leave_the_text() -> None:
    """Nothing to set is nothing to do."""
    assert set_in_specs("spec: {run: 1}\n", ("run",), {}) == ("spec: {run: 1}\n", {})


NESTED = {
    "nothing is there": (
        "spec: {matrix: {env: {A: [1]}}}\n",
        'spec: {matrix: {runs: {"1": 2}, env: {A: [1]}}}\n',
    ),
    "in a block": (
        "spec:\n  matrix:\n    # axes\n    env: {A: [1]}\n",
        'spec:\n  matrix:\n    # axes\n    runs: {"1": 2}\n    env: {A: [1]}\n',
    ),
    "another entry is there": (
        "spec:\n  matrix:\n    runs:\n      b: 3 # again\n",
        'spec:\n  matrix:\n    runs:\n      "1": 2\n      b: 3 # again\n',
    ),
    "it is there": ("spec: {matrix: {runs: {'1': 1}}} # x\n", "spec: {matrix: {runs: {'1': 2}}} # x\n"),
}


@pytest.mark.parametrize("where", NESTED)
def test_value_deeper_in_a_spec_is_set_with_the_mappings_around_it(where: str) -> None:
    """What is missing of a path is written as one line; a key that reads as a number is quoted."""
    before, after = NESTED[where]

    assert (after, {}) == set_in_specs(before, ("matrix", "runs", "1"), {0: 2})
