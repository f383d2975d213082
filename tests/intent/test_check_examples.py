"""Good input has no problem, and bad input one where it is bad, with a way out."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.intent.validate import Schemas
from slicewright.kubernetes.problem import Problem

from .kit import SCHEMAS, examples

POSITIVE = examples("positive")
NEGATIVE = examples("negative")
NO_HINT = {"cluster-environment-unknown-variable"}
"""Nothing is near an unknown key with many others, and the vendored schema describes nothing."""


def _id(value: object) -> str:
    return value.stem if isinstance(value, Path) else ""


@pytest.mark.parametrize(("path", "name", "data"), NEGATIVE, ids=_id)
def test_bad_input_has_problems_where_it_is_bad(path: Path, name: str, data: Any) -> None:
    """Each problem of a bad example is at the place that its first line names, with id, message and hint."""
    place = (
        path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# refused at ").replace("(root)", "")
    )

    problems = list(SCHEMAS.problems(name, data))

    assert False is SCHEMAS.accepts(name, data)
    assert problems != []
    for problem in problems:
        inside = problem.path[:-1] if problem.id == "IN002" else problem.path
        assert place == Problem("", "", path=inside).dotted()
        assert problem.id in {"IN001", "IN002", "IN003", "IN004", "IN005", "IN006"}
        assert (True, path.stem not in NO_HINT) == (bool(problem.message), bool(problem.hint))


@pytest.mark.parametrize(("path", "name", "data"), NEGATIVE, ids=_id)
def test_one_mistake_is_one_problem(path: Path, name: str, data: Any) -> None:
    """The examples have one mistake each, and a person reads about it once."""
    del path

    assert len(list(SCHEMAS.problems(name, data))) == 1


VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**31,
    "",
    "a",
    "A b",
    "x" * 300,
    [],
    ["a", "a"],
    [None],
    {},
    {"a": 1},
)


@pytest.mark.slow
@settings(derandomize=True, max_examples=share(150))
@given(example=st.sampled_from(POSITIVE), data=st.data())
def test_whatever_is_refused_is_explained(example: tuple[Path, str, Any], data: st.DataObject) -> None:
    """However good input is spoilt, what the engine refuses is explained, and nothing else."""
    _, name, document = example
    spoilt = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        _spoil(spoilt, data)

    assert SCHEMAS.accepts(name, spoilt) == (list(SCHEMAS.problems(name, spoilt)) == [])


def _spoil(node: Any, data: st.DataObject) -> None:
    """Change, remove or add something at a random place."""
    while True:
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not places:
            break
        place = data.draw(st.sampled_from(places))
        if isinstance(node[place], dict | list) and data.draw(st.integers(0, 3)):
            node = node[place]
            continue
        if data.draw(st.booleans()):
            del node[place]
        else:
            node[place] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
        return
    if isinstance(node, dict):
        node["surprise"] = 1
    else:
        node.append("surprise")


def test_numbers_without_a_form_in_json() -> None:
    """A number that JSON cannot write is refused, with its own words."""
    schemas = Schemas({"a.json": {"properties": {"a": {"type": "number"}}}})

    (problem,) = schemas.problems("a.json", {"a": float("inf")})

    assert (problem.id, problem.path, bool(problem.message)) == ("IN001", ("a",), True)


def test_numbers_of_any_size_are_checked() -> None:
    """The engine takes numbers that no field holds."""
    schemas = Schemas({"a.json": {"type": "integer", "maximum": 10}})

    for number in (2**63, 10**30, 10**400):
        (problem,) = schemas.problems("a.json", number)
        assert problem.id == "IN005"
