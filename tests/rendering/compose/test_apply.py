"""JSON Patch (RFC 6902): each operation, and what it refuses."""

from typing import Any

import pytest

from slicewright.document import json_patch as patch
from slicewright.document.json_patch import PatchError
from slicewright.kubernetes.merge import copied


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        pytest.param({"a": 1}, [], {"a": 1}, id="no operation"),
        pytest.param({}, [{"op": "add", "path": "/", "value": 1}], {"": 1}, id="the empty key"),
        pytest.param({}, [{"op": "add", "path": "", "value": [1]}], [1], id="add the whole document"),
        pytest.param(
            {"-": 1}, [{"op": "replace", "path": "/-", "value": 2}], {"-": 2}, id="a key that is a dash"
        ),
        pytest.param(
            {"0": 1}, [{"op": "replace", "path": "/0", "value": 2}], {"0": 2}, id="a key that is a number"
        ),
        pytest.param(
            {"a": 1}, [{"op": "replace", "path": "", "value": 2}], 2, id="replace the whole document"
        ),
        pytest.param({"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}, id="move nowhere"),
        pytest.param({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/a"}], {"a": 1}, id="move up"),
        pytest.param(
            {"a": 1}, [{"op": "copy", "from": "", "path": "/b"}], {"a": 1, "b": {"a": 1}}, id="copy all"
        ),
        pytest.param(
            {"a": 1}, [{"op": "test", "path": "", "value": {"a": 1}}], ..., id="test the whole document"
        ),
        pytest.param({"~1": 1}, [{"op": "test", "path": "/~01", "value": 1}], ..., id="an escaped escape"),
        pytest.param(
            {"a": 1}, [{"op": "remove", "path": "/a", "value": 9, "x": 9}], {}, id="other members are nothing"
        ),
    ],
)
def test_operations(document: Any, operations: list[dict[str, Any]], expected: Any) -> None:
    """Each operation does what the standard says; test_apply_as_kustomize.py has the others."""
    expected = copied(document) if expected is ... else expected

    assert expected == patch.apply(operations, document)


@pytest.mark.parametrize(
    ("document", "operation", "message"),
    [
        (
            {"a": [1, 2]},
            {"op": "test", "path": "/a", "value": [2, 1]},
            "test /a: expected [2, 1], found [1, 2]",
        ),
        ({}, {"op": "move", "from": "/a", "path": "/b"}, "move /b: nothing is at this path"),
        ([1], {"op": "add", "path": "/2", "value": 1}, "add /2: index 2 is beyond the end of a list of 1"),
        ([1], {"op": "remove", "path": "/" + "9" * 5000}, None),
        ([1], {"op": "test", "path": "/²", "value": 1}, "test /²: '²' is not a valid index of a list"),
        ({}, {"op": "remove", "path": ""}, "remove : the whole document cannot be removed"),
        (
            {"a": [{}, {}]},
            {"op": "move", "from": "/a/0", "path": "/a/0/b"},
            "move /a/0/b: a value cannot be moved into itself",
        ),
        ({"a": 1}, {"op": "add", "path": "/b"}, "add /b: 'value' is missing"),
        (
            {"a": 1},
            {"op": "move", "path": "/a"},
            "move /a: an operation needs 'from', a string; this is {'op': 'move', 'path': '/a'}",
        ),
        ({"a": 1}, {"op": "merge", "path": "/a"}, "merge /a: 'merge' is not a JSON 6902 operation"),
        (
            {"a": 1},
            {"op": "remove", "path": 1},
            "an operation needs 'path', a string; this is {'op': 'remove', 'path': 1}",
        ),
        ({"a": 1}, "remove /a", "an operation needs 'op', a string; this is 'remove /a'"),
        (
            {"a": 1},
            {"op": "add", "path": "a", "value": 1},
            "add a: 'a' is not a JSON pointer: it must begin with '/'",
        ),
        (
            {"a": 1},
            {"op": "remove", "path": "/~"},
            "remove /~: '/~' is not a JSON pointer: '~' is written ~0 and '/' in a key ~1",
        ),
    ],
)
def test_what_does_not_fit(document: Any, operation: Any, message: str | None) -> None:
    """An operation that is malformed, leads nowhere or finds something else is a PatchError that says so."""
    with pytest.raises(PatchError) as raised:
        patch.apply([operation], document)

    assert message is None or message == str(raised.value)


def test_long_values_are_cut_in_messages() -> None:
    """A message shows the begin of what was found, not a whole container."""
    with pytest.raises(PatchError) as raised:
        patch.apply([{"op": "test", "path": "/a", "value": 1}], {"a": ["word"] * 1000})

    assert len(str(raised.value)) < 200


def test_a_patch_keeps_its_values_to_itself() -> None:
    """What is added is a copy: a later operation, or another object, does not change the patch."""
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a", "value": {"b": [1]}},
        {"op": "add", "path": "/a/b/-", "value": 2},
    ]

    first, second = patch.apply(operations, {}), patch.apply(operations, {})

    assert (first, second) == ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 2]}})
    assert operations[0]["value"] == {"b": [1]}


def test_copies_share_nothing() -> None:
    """A moved or copied value is its own, so that changing one place leaves the other."""
    operations: list[dict[str, Any]] = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/-", "value": 2},
    ]

    assert patch.apply(operations, {"a": [1]}) == {"a": [1], "b": [1, 2]}


def nested(levels: int) -> Any:
    """Return mappings and lists in one another."""
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


GROWING: dict[str, tuple[Any, list[patch.Operation], str]] = {
    "a copy bomb": (
        {"a": [1, 2]},
        [{"op": "copy", "from": "/a", "path": "/a/-"} for _ in range(30)],
        "copy /a/-: the object would have more than 200,000 values",
    ),
    "copies of a long text": (
        {"a": {"b": "x" * 1_000_000}},
        [{"op": "copy", "from": "/a", "path": f"/{number}"} for number in range(100)],
        "copy /11: the object would have more than 200,000 values",
    ),
    "copies of long keys": (
        {"a": {"x" * 1_000_000: 1}},
        [{"op": "copy", "from": "/a", "path": f"/{number}"} for number in range(100)],
        "copy /11: the object would have more than 200,000 values",
    ),
    "a deep value": (
        {},
        [{"op": "add", "path": "/a", "value": nested(60)}],
        "add /a: the object would have more than 60 levels of nesting",
    ),
    "a deep value at a deep place": (
        {"b": nested(40)},
        [{"op": "replace", "path": "/b/0/a/0/a/0", "value": nested(55)}],
        "replace /b/0/a/0/a/0: the object would have more than 60 levels of nesting",
    ),
    "a move below": (
        {"a": nested(41), "b": nested(40)},
        [{"op": "move", "from": "/a", "path": "/b/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0"}],
        "move /b/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0/a/0: the object would have more than 60 levels of nesting",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", GROWING)
def test_object_cannot_grow_without_end(what: str) -> None:
    """A patch is no way around the limits of a document: neither of its size nor of its depth."""
    document, operations, expected = GROWING[what]

    with pytest.raises(PatchError) as raised:
        patch.apply(operations, document)

    assert str(raised.value) == expected


@pytest.mark.slow
def test_object_may_grow_up_to_the_limits() -> None:
    """Depth counts from the root of the object, and copies of moderate size pass."""
    made = patch.apply([{"op": "add", "path": "/a", "value": nested(59)}], {})
    copies = [{"op": "copy", "from": "/a", "path": f"/{number}"} for number in range(1000)]

    assert made == {"a": nested(59)}
    assert len(patch.apply(copies, {"a": {"b": "c"}})) == 1001
