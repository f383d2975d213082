"""Patches do what kustomize does with them; where it is laxer than the standard, we refuse."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.document import json_patch as patch
from slicewright.document.write import write_document

from .kit import built, composed, ordered

pytestmark = pytest.mark.tools

OBJECT = """\
apiVersion: example.com/v1
kind: Holder
metadata: {name: a}
spec:
  list: [1, x, {name: e, v: 1}]
  empty: []
  'k/1~': 1
  nothing: null
  float: 1.0
  yes it is: true
  one: 1
"""


def _tree(*operations: str) -> dict[str, str]:
    return {
        "o/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: Holder}}]\n",
        "o/a.yaml": OBJECT,
        "o/p.yaml": "".join(f"- {operation}\n" for operation in operations),
    }


ALIKE = (
    "{op: add, path: /spec/new, value: {a: [1, 1.5, null, true, text]}}",
    "{op: add, path: /spec/one, value: 2}",
    "{op: add, path: /spec/list/-, value: z}",
    "{op: add, path: /spec/list/1, value: z}",
    "{op: add, path: /spec/list/3, value: z}",
    "{op: add, path: /spec/empty/-, value: [z]}",
    "{op: replace, path: /spec/k~11~0, value: z}",
    "{op: replace, path: /spec/list/2/name, value: z}",
    "{op: remove, path: /spec/list/0}",
    "{op: remove, path: /spec/nothing}",
    "{op: move, from: /spec/one, path: /spec/two}",
    "{op: move, from: /spec/list/0, path: /spec/list/2}",
    "{op: copy, from: /spec/list/2, path: /spec/list/0}",
    "{op: copy, from: /spec/list, path: /spec/empty/0}",
    "{op: test, path: /spec/one, value: 1}",
    "{op: test, path: /spec/float, value: 1}",
    "{op: test, path: /spec/nothing, value: null}",
    "{op: test, path: /spec/list, value: [1, x, {v: 1, name: e}]}",
)
REFUSED_ALIKE = (
    "{op: test, path: /spec/one, value: 2}",
    "{op: test, path: /spec/one, value: true}",
    "{op: test, path: /spec/yes it is, value: 1}",
    "{op: test, path: /spec/one, value: '1'}",
    "{op: test, path: /spec/list/2/name, value: other}",
    "{op: test, path: /spec/missing/deep, value: null}",
    "{op: add, path: /spec/list/4, value: z}",
    "{op: add, path: /spec/nothing/x, value: 1}",
    "{op: add, path: /spec/one/x, value: 1}",
    "{op: remove, path: /spec/missing}",
    "{op: remove, path: /spec/list/-}",
    "{op: replace, path: /spec/list/-, value: 1}",
    "{op: replace, path: /spec/list/x, value: 1}",
    "{op: move, from: /spec/missing, path: /spec/two}",
    "{op: move, from: /spec/list, path: /spec/list/0}",
    "{op: remove, path: ''}",
    "{op: merge, path: /spec/one}",
    "{path: /spec/one, value: 1}",
    "{op: add, value: 1}",
)
STRICTER = (
    "{op: replace, path: /spec/missing, value: 1}",
    "{op: test, path: /spec/missing, value: null}",
    "{op: replace, path: /spec/list/-1, value: 1}",
    "{op: replace, path: /spec/list/01, value: 1}",
    "{op: add, path: spec/new, value: 1}",
    "{op: add, path: /spec/~2, value: 1}",
    "{op: add, path: /spec/new}",
)


@pytest.mark.parametrize("operation", ALIKE)
def test_same_result(operation: str, tmp_path: Path) -> None:
    """What we apply, kustomize applies to the same result."""
    tree = _tree(operation)

    assert built(tree, tmp_path) == ordered(list(composed(tree).objects))


@pytest.mark.parametrize("operation", REFUSED_ALIKE)
def test_same_refusal(operation: str, tmp_path: Path) -> None:
    """What they refuse is a problem with the object and the operation in it."""
    tree = _tree(operation)
    (problem,) = composed(tree).problems

    assert (problem.id, problem.file, problem.object) == ("KUS006", "o/kustomization.yaml", "Holder a")
    assert None is built(tree, tmp_path)


@pytest.mark.parametrize("operation", STRICTER)
def test_stricter_than_kustomize(operation: str, tmp_path: Path) -> None:
    """What the standard refuses and kustomize lets pass is a problem: such a patch hides a mistake."""
    tree = _tree(operation)

    assert [problem.id for problem in composed(tree).problems] == ["KUS006"]
    assert None is not built(tree, tmp_path)


def test_a_row_of_operations(tmp_path: Path) -> None:
    """Operations are applied in their order, each to what the one before has made."""
    tree = _tree(
        "{op: add, path: /spec/list/1, value: z}",
        "{op: test, path: /spec/list/3/name, value: e}",
        "{op: replace, path: /spec/list/3/name, value: f}",
        "{op: move, from: /spec/list/3, path: /spec/element}",
        "{op: copy, from: /spec/element, path: /spec/list/-}",
        "{op: remove, path: /spec/list/0}",
    )

    expected = built(tree, tmp_path)
    assert expected == ordered(list(composed(tree).objects))
    assert composed(tree).objects[0]["spec"]["list"] == ["z", "x", {"name": "f", "v": 1}]


keys = st.sampled_from(["a", "b", "name", "a/b", "m~n", "-", "0"])
values = st.recursive(
    st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from(["", "x", "on", "1"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)
mappings = st.dictionaries(keys, values, max_size=3)


@settings(derandomize=True, max_examples=share(20), suppress_health_check=list(HealthCheck))
@given(pairs=st.lists(st.tuples(mappings, mappings), min_size=1, max_size=8))
def test_our_differences_work_in_kustomize(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]], tmp_path: Path
) -> None:
    """The patch that slicewright computes between two objects leads there in kustomize as well."""
    expected, tree, patches = [], {}, []
    for index, (before, after) in enumerate(pairs):
        head = {"apiVersion": "example.com/v1", "kind": "Holder", "metadata": {"name": f"a{index}"}}
        base, wanted = {**head, "spec": before}, {**head, "spec": after}
        tree[f"o/{index}.yaml"] = write_document(base)
        operations = patch.difference(base, wanted)
        if operations:
            tree[f"o/{index}.patch.yaml"] = write_document(operations)
            patches.append({"path": f"{index}.patch.yaml", "target": {"name": f"a{index}"}})
        expected.append(wanted)
    resources = [f"{index}.yaml" for index in range(len(pairs))]
    tree["o/kustomization.yaml"] = write_document({"resources": resources, "patches": patches})

    assert ordered(expected) == built(tree, tmp_path)
    assert ordered(expected) == ordered(list(composed(tree).objects))
