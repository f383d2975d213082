"""Whatever patches and components of a workload hold: files or problems, never a traceback."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.files import read_text
from tests.rendering.test_properties import CLUSTER, PROFILE, holds, rendered

from slicewright.intent.source import SourceFile
from slicewright.rendering.changes import render
from slicewright.rendering.io.package_data import package
from slicewright.rendering.repository import Settings, read_repository

WORKLOAD: dict[str, Any] = {
    "apiVersion": "slicewright.dev/v1alpha1",
    "kind": "TPUWorkload",
    "metadata": {"name": "a"},
    "spec": {"clusters": ["c1"], "tpu": "v5e-8", "container": {"image": "x"}},
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["a", "JobSet", "/spec", "/metadata", "/metadata/name", "", "/", "~", "-"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
POINTERS = st.sampled_from(
    [
        "",
        "/",
        "/metadata",
        "/metadata/name",
        "/metadata/labels",
        "/metadata/labels/a~1b",
        "/metadata/namespace",
        "/apiVersion",
        "/kind",
        "/spec",
        "/spec/replicatedJobs",
        "/spec/replicatedJobs/0",
        "/spec/replicatedJobs/-",
        "/spec/replicatedJobs/0/template/spec/template/spec/containers/0",
        "/spec/a",
        "spec",
        "/spec/~2",
    ]
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": POINTERS},
    optional={"from": POINTERS, "value": JSON},
)


@pytest.mark.slow
@PROFILE
@given(
    st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), max_size=3), st.sampled_from(["Fixed", "Hashed"])
)
def test_any_patch_gives_a_tree_or_problems(patches: list[list[dict[str, Any]]], naming: str) -> None:
    """Random JSON patches of a workload never raise, in live and in frozen runs."""
    entries = [{"target": {"kind": "JobSet"}, "ops": operations} for operations in patches]
    spec = {**WORKLOAD["spec"], "naming": naming, "patches": entries}

    holds(rendered(CLUSTER, {**WORKLOAD, "spec": spec}))


@pytest.mark.slow
@PROFILE
@given(JSON, JSON, JSON)
def test_any_component_gives_a_tree_or_problems(one: Any, other: Any, patch: Any) -> None:
    """Random objects and patches of a component never raise."""
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["o.yaml"],
        "patches": [{"target": {"kind": "JobSet"}, "patch": json.dumps(patch)}],
    }
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": one}, "data": other}
    texts = {"comp/kustomization.yaml": json.dumps(component), "comp/o.yaml": json.dumps(item)}
    workload = {**WORKLOAD, "spec": {**WORKLOAD["spec"], "naming": "Fixed", "components": ["comp"]}}
    files = [SourceFile("workloads/a.yaml", f"{json.dumps(CLUSTER)}\n---\n{json.dumps(workload)}")]

    repository = read_repository(
        files, Settings(), package(), lambda path: texts.get(path) or read_text(path)
    )
    holds(render(repository, {}))


@pytest.mark.parametrize("marked", ["labels", "annotations", "data"])
def test_marked_object_of_a_component_may_be_odd(marked: str) -> None:
    """What a component gives our name to is filled in only where it has the form of an object."""
    metadata: dict[str, Any] = {"name": "replaced-by-slicewright"}
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": ["x"]}
    if marked != "data":
        metadata[marked] = ["x"]
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["o.yaml"],
    }
    texts = {"comp/kustomization.yaml": json.dumps(component), "comp/o.yaml": json.dumps(item)}
    workload = {**WORKLOAD, "spec": {**WORKLOAD["spec"], "components": ["comp"]}}
    files = [SourceFile("workloads/a.yaml", f"{json.dumps(CLUSTER)}\n---\n{json.dumps(workload)}")]
    repository = read_repository(
        files, Settings(), package(), lambda path: texts.get(path) or read_text(path)
    )

    made = render(repository, {})

    expected = {"data": [], "labels": ["BASE001"], "annotations": ["KUS007"]}
    assert expected[marked] == [problem.id for problem in made.problems if problem.severity == "error"]
