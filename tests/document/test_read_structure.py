"""Mappings, lists, anchors and merges."""

from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.words import places

from slicewright.document.read import MAX_DEPTH, MAX_VALUES, read_documents

from .kit import exact


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: [1, 2]}\nc: *x\n",
        "a: &x 1\nb: [*x, *x]\n",
        "&k key: *k\n",
        "base: &base {a: 1, b: 2}\nc: {<<: *base, b: 3}\n",
        "base: &base {a: 1, b: 2}\nc: {b: 3, <<: *base}\n",
        "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\n",
        "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n",
        "c: {<<: {x: 1}}\n",
        "c: {<<: []}\nd: {<<: {}}\n",
        "'<<': 1\n",
        "a: {'<<': {b: 1}}\n",
        "? a\n: b\n",
        "a:\n- b\n-\n  - c\n",
        "{a, b: }",
        "[a, {b: c}, [d]]",
    ],
)
def test_agrees_with_ruamel(text: str) -> None:
    """Anchors, aliases, merges and both styles mean what they mean to ruamel.yaml."""
    documents, problems = read_documents(text, "")

    assert problems == ()
    expected: Any = YAML(typ="safe", pure=True).load(text)
    assert expected == documents[0].data


def test_own_keys_win_over_merged_ones() -> None:
    """Own keys win wherever they stand and come after the merged ones; of several mappings the first wins."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {own: 0, <<: [*a, *b], x: 3}\n"

    documents, _ = read_documents(text, "")

    assert exact({"y": 1, "z": 2, "x": 3, "own": 0}) == exact(documents[0].data["c"])


def test_a_name_can_be_given_to_another_anchor() -> None:
    """An alias means the last anchor of its name before it."""
    documents, _ = read_documents("a: &x [1]\nb: [*x, &x 2, *x]\n", "")

    assert documents[0].data == {"a": [1], "b": [[1], 2, 2]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\na: 2\n", "a.yaml:2:1: YAML002"),
        ("{a: 1, 'a': 2}", "a.yaml:1:8: YAML002"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", ("a.yaml:4:3: YAML002")),
        ("1: a\n", "a.yaml:1:1: YAML003"),
        ("a:\n  true: b\n", "a.yaml:2:3: YAML003"),
        ("a: &x 1\n*x : b\n", "a.yaml:2:1: YAML003"),
        ("? \n: b\n", "a.yaml:1:2: YAML003"),
        ("{[a]: b}", ("a.yaml:1:2: YAML003")),
        ("image: {{ image }}\n", ("a.yaml:1:9: YAML003")),
        ("{% if a %}\na: b\n", ("a.yaml:1:2: YAML001")),
        ("a: *x\n", "a.yaml:1:4: YAML005"),
        ("a: &x [*x]\n", "a.yaml:1:8: YAML005"),
        ("a: &x 1\nb: &x {c: *x}\n", "a.yaml:2:11: YAML005"),
        ("--- &x 1\n---\na: *x\n", "a.yaml:3:4: YAML005"),
        ("<<: 1\n", "a.yaml:1:5: YAML005"),
        ("<<: [{a: 1}, b]\n", "a.yaml:1:15: YAML005"),
        ("a: !!int 1\n", ("a.yaml:1:4: YAML005")),
        ("a: !Ref {b: 1}\n", ("a.yaml:1:4: YAML005")),
    ],
)
def test_what_has_no_meaning_is_refused_where_it_stands(text: str, expected: str) -> None:
    """Duplicate keys, keys that are no strings, loops and tags are problems with place and advice."""
    documents, problems = read_documents(text, "a.yaml")

    assert ((), [expected]) == (documents, places([*problems]))


DEEP = {
    "flow lists": "[" * 10_000,
    "flow mappings": "{a: " * 10_000,
    "block lists": "\n".join(" " * depth + "-" for depth in range(10_000)),
    "block mappings": "\n".join(" " * depth + "a:" for depth in range(10_000)),
    "lists in a line": "- " * 10_000,
    "aliases of aliases": "".join(
        f"a{n}: &a{n} {'[' * 60}{f'*a{n - 1}' if n else ''}{']' * 60}\n" for n in range(200)
    ),
}


@pytest.mark.parametrize("kind", DEEP)
def test_depth_is_bounded(kind: str) -> None:
    """Ten thousand levels, in a row or through aliases, are a problem and no crash here or further on."""
    documents, (problem,) = read_documents(DEEP[kind], "a.yaml")

    assert (documents, problem.id, problem.message) == (
        (),
        "YAML004",
        "the document has more than 64 levels of nesting",
    )


@pytest.mark.parametrize(("levels", "accepted"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_the_deepest_level(levels: int, *, accepted: bool) -> None:
    """Exactly as many levels are read as the limit says."""
    documents, problems = read_documents("[" * levels + "]" * levels, "")

    assert (accepted, not accepted) == (bool(documents), bool(problems))


def test_aliases_cannot_explode() -> None:
    """A few lines that would expand to billions of values are refused, before the memory is full."""
    text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    text += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))

    documents, (problem,) = read_documents(text, "a.yaml")

    expected = "a.yaml:6:15: YAML004"
    assert ((), expected) == (documents, places(problem))


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced
def test_the_largest_file() -> None:
    """Exactly as many values are read as the limit says, the collections among them."""
    values = ", ".join(["1"] * (MAX_VALUES - 1))

    assert read_documents(f"[{values}]", "")[1] == ()
    assert read_documents(f"[{values}, 1]", "")[1][0].id == "YAML004"
