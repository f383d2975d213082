"""The patch between two objects: exact, and guarded against a base that moved."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.document import json_patch as patch
from slicewright.document.json_patch import PatchError
from slicewright.kubernetes.merge import copied

keys = st.sampled_from(["a", "b", "name", "a/b", "m~n", "~1", "", "-", "0"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, 0.5]), keys)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)
mappings = st.dictionaries(keys, values, max_size=4)
QUIETLY = settings(derandomize=True, max_examples=share(150))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}], id="a value"),
        pytest.param(
            {"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}], id="true is not 1"
        ),
        pytest.param(
            {"a": 0}, {"a": 0.0}, [{"op": "replace", "path": "/a", "value": 0.0}], id="0.0 is not 0"
        ),
        pytest.param({}, {"a/b": {}}, [{"op": "add", "path": "/a~1b", "value": {}}], id="a new key"),
        pytest.param({"m~n": 1}, {}, [{"op": "remove", "path": "/m~0n"}], id="a key less"),
        pytest.param(
            {"a": []}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}], id="an empty list"
        ),
        pytest.param(
            {"a": [1]}, {"a": {}}, [{"op": "replace", "path": "/a", "value": {}}], id="another type"
        ),
        pytest.param(
            {"a": [1, 2]}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}], id="a shorter list"
        ),
        pytest.param(
            {"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 2}], id="a longer list"
        ),
        pytest.param(
            {"a": [{"name": "x", "v": 1}, {"name": "y"}]},
            {"a": [{"name": "x", "v": 2}, {"name": "y"}]},
            [
                {"op": "test", "path": "/a/0/name", "value": "x"},
                {"op": "replace", "path": "/a/0/v", "value": 2},
            ],
            id="an element with a name",
        ),
        pytest.param(
            {"a": [1, 2]},
            {"a": [1, 3]},
            [{"op": "test", "path": "/a/1", "value": 2}, {"op": "replace", "path": "/a/1", "value": 3}],
            id="an element without one",
        ),
        pytest.param(
            {"a": [{"name": "x", "env": [{"name": "E", "value": "1"}]}]},
            {"a": [{"name": "x", "env": [{"name": "E", "value": "2"}]}]},
            [
                {"op": "test", "path": "/a/0/name", "value": "x"},
                {"op": "test", "path": "/a/0/env/0/name", "value": "E"},
                {"op": "replace", "path": "/a/0/env/0/value", "value": "2"},
            ],
            id="an element of an element",
        ),
        pytest.param(
            {"a": [{"name": "x"}]},
            {"a": [{"name": "y"}]},
            [
                {"op": "test", "path": "/a/0/name", "value": "x"},
                {"op": "replace", "path": "/a/0/name", "value": "y"},
            ],
            id="a name",
        ),
    ],
)
def test_shape(before: dict[str, Any], after: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    """A patch changes what differs and nothing around it; tests stand before what is below an element."""
    assert _exact(expected) == _exact(patch.difference(before, after))


@pytest.mark.slow
@settings(QUIETLY)
@given(before=mappings, after=mappings)
def test_leads_exactly_from_one_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Applied to the one, the patch gives the other, to the types of the numbers; its inputs stay."""
    copies = copied(before), copied(after)
    operations = patch.difference(before, after)

    made = patch.apply(operations, copied(before))

    assert _exact(after) == _exact(made)
    assert copies == (before, after)


@pytest.mark.slow
@settings(QUIETLY)
@given(before=mappings, after=mappings)
def test_every_change_in_an_element_is_guarded(before: dict[str, Any], after: dict[str, Any]) -> None:
    """An operation below a list element comes after a test of that element, by name or whole."""
    tested: set[str] = set()
    for operation in patch.difference(before, after):
        if operation["op"] == "test":
            tested.add(operation["path"].removesuffix("/name"))
            tested.add(operation["path"])
            continue
        for element in _elements(before, operation["path"]):
            assert element in tested


@pytest.mark.slow
@settings(QUIETLY)
@given(before=mappings, after=mappings, name=st.sampled_from(["x", "y", 3]))
def test_a_base_that_moved_fails(before: dict[str, Any], after: dict[str, Any], name: object) -> None:
    """Where an element that the patch reaches into has another name in the base, the patch fails."""
    operations = patch.difference(before, after)
    for operation in operations:
        if operation["op"] == "test":
            moved = patch.apply([{**operation, "op": "replace", "value": name}], copied(before))
            with pytest.raises(PatchError):
                patch.apply(operations, moved)


def _elements(document: Any, path: str) -> list[str]:
    """Return the paths of the list elements that a path of a document leads through or to."""
    found: list[str] = []
    at = ""
    for token in path.split("/")[1:]:
        at += f"/{token}"
        if isinstance(document, list):
            if token == "-":  # noqa: S105 - the end of a list
                return found
            found.append(at)
            document = document[int(token)]
        elif isinstance(document, dict):
            document = document.get(token.replace("~1", "/").replace("~0", "~"))
    return found


def _exact(value: object) -> str:
    """Return data as JSON, in which true, 1 and 1.0 differ."""
    return json.dumps(value, sort_keys=True)
