"""Problems as data: their two forms, their order, and hints for misspelt words."""

import itertools

import pytest
from msgspec.structs import replace

from slicewright.kubernetes.problem import (
    MOST,
    Edit,
    Fix,
    Path,
    Problem,
    did_you_mean,
    dotted,
    errors,
    foremost,
    in_order,
    nearest,
    tallied,
)

FULL = Problem(
    "IN002",
    "unknown key 'slcies'",
    "did you mean 'slices'?",
    file="workloads/a.yaml",
    line=7,
    column=3,
    object="TPUWorkload default/a",
    path=("spec", "slcies"),
)
WARNING = Problem("A1", "x", severity="warning")
NOTE = Problem("A1", "x", severity="note")


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (FULL, "workloads/a.yaml:7:3: IN002 unknown key 'slcies'\n  hint: did you mean 'slices'?"),
        (Problem("A1", "no"), "A1 no"),
        (Problem("A1", "no", line=3, column=4), "A1 no"),
        (Problem("A1", "no", file="a"), "a: A1 no"),
        (Problem("A1", "no", file="a", line=3), "a:3: A1 no"),
        (Problem("A1", "no", severity="warning", file="a"), "a: warning: A1 no"),
        (Problem("A1", "no", "try", severity="warning"), "warning: A1 no\n  hint: try"),
        (Problem("A1", "no", severity="note", file="a"), "a: note: A1 no"),
    ],
)
def test_text(problem: Problem, expected: str) -> None:
    """A terminal shows place, severity if it is only a warning, id and message, and the hint below."""
    assert expected == problem.text()


def test_record() -> None:
    """The JSON form has every field, with the path as people write it."""
    expected = {
        "id": "IN002",
        "severity": "error",
        "file": "workloads/a.yaml",
        "line": 7,
        "column": 3,
        "object": "TPUWorkload default/a",
        "path": "spec.slcies",
        "message": "unknown key 'slcies'",
        "hint": "did you mean 'slices'?",
    }
    assert expected == FULL.record()


def test_record_of_a_fix() -> None:
    """The fix of a finding is a JSON 6902 patch of the document that holds the object."""
    edits = (
        Edit("move", ("spec", "slices"), source=("spec", "slcies")),
        Edit("add", ("metadata", "labels", "a/b"), {"c": 1}),
        Edit("remove", ("spec", "run")),
    )
    problem = replace(FULL, fix=Fix("Rename it", edits).within(2, ("items", 0)))

    expected = {
        "title": "Rename it",
        "safe": True,
        "document": 2,
        "edits": [
            {"op": "move", "from": "/items/0/spec/slcies", "path": "/items/0/spec/slices"},
            {"op": "add", "path": "/items/0/metadata/labels/a~1b", "value": {"c": 1}},
            {"op": "remove", "path": "/items/0/spec/run"},
        ],
    }
    assert [expected] == problem.record()["fixes"]


def test_at_moves_a_problem() -> None:
    """A problem found without a place gets one, and stays the same otherwise."""
    moved = Problem("A1", "no", "try", path=("a",)).at("f.yaml", 2, 5)

    assert Problem("A1", "no", "try", file="f.yaml", line=2, column=5, path=("a",)) == moved


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), ""),
        (("spec",), "spec"),
        (("spec", "replicatedJobs", 0, "name"), "spec.replicatedJobs[0].name"),
        ((0, "a"), "[0].a"),
        (("a", 0, 1), "a[0][1]"),
        (("metadata", "labels", "kueue.x-k8s.io/queue-name"), "metadata.labels['kueue.x-k8s.io/queue-name']"),
        (("a", "google.com", "b"), "a['google.com'].b"),
        (("a", ""), "a['']"),
        (("a", "b c"), "a['b c']"),
        (("a", "0"), "a.0"),
    ],
)
def test_dotted(path: Path, expected: str) -> None:
    """A path is written with dots, indexes in brackets, and keys with signs in them quoted."""
    assert expected == dotted(path)
    assert expected == Problem("A1", "no", path=path).dotted()


def test_in_order() -> None:
    """Problems come by file, line, column, id, message and object, each once, in whatever order they came."""
    expected = (
        Problem("A2", "x"),
        Problem("A1", "x", file="a", line=2, column=9),
        Problem("A1", "x", file="a", line=10, column=1),
        Problem("A1", "x", file="a", line=10, column=2),
        Problem("A1", "y", file="a", line=10, column=2, object="Job a", path=("a",)),
        Problem("A1", "y", file="a", line=10, column=2, object="Job a", path=("b",)),
        Problem("A1", "y", file="a", line=10, column=2, object="Job b"),
        Problem("A2", "a", file="a", line=10, column=2),
        Problem("A0", "x", file="b", line=1, column=1),
    )
    for order in itertools.islice(itertools.permutations(expected), 0, None, 5000):
        assert expected == in_order([*order, expected[3]])


def test_errors_leave_out_warnings() -> None:
    """Only errors stop a command."""
    assert errors([WARNING, FULL, WARNING, NOTE]) == (FULL,)
    assert errors([WARNING, NOTE]) == ()


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        ([], "0 errors, 0 warnings"),
        ([FULL, WARNING, WARNING], "1 error, 2 warnings"),
        ([NOTE], "0 errors, 0 warnings, 1 note"),
    ],
)
def test_tallied(problems: list[Problem], expected: str) -> None:
    """Errors and warnings are counted always, notes where there are any."""
    assert expected == tallied(problems)


def test_many_problems_leave_out_notes_first() -> None:
    """Of more problems than are shown, the worst are shown, in their order."""
    shown, more = foremost([WARNING, FULL, *[NOTE] * (MOST - 2), WARNING])

    assert [WARNING, FULL, *[NOTE] * (MOST - 3), WARNING] == shown
    assert "and 1 more problem, which -o json lists" == more


@pytest.mark.parametrize(
    ("word", "count", "expected"),
    [
        ("slcies", 1, ["slices"]),
        ("SLICES", 1, ["slices"]),
        ("spot", 1, ["Spot"]),
        ("zzz", 1, []),
        ("", 1, []),
        ("slice", 2, ["slices", "sliced"]),
    ],
)
def test_nearest(word: str, count: int, expected: list[str]) -> None:
    """The nearest choices come first, whatever the case of letters, and none where nothing is near."""
    assert expected == nearest(word, ["slices", "sliced", "Spot", "run"], count=count)


@pytest.mark.parametrize(
    ("word", "choices", "expected"),
    [
        ("slcies", ["slices", "run"], "did you mean 'slices'?"),
        ("zzz", ["b", "a", "a"], "write one of: a, b"),
        ("zzz", [], ""),
        (
            "zzz",
            [f"c{index:02}" for index in range(12)],
            f"write one of: {', '.join(f'c{i:02}' for i in range(12))}",
        ),
        ("zzz", [f"c{index:02}" for index in range(13)], ""),
    ],
)
def test_did_you_mean(word: str, choices: list[str], expected: str) -> None:
    """A misspelt word gets the nearest choice, else all of them while they are few enough to read."""
    assert expected == did_you_mean(word, choices)
