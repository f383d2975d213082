"""Whatever stands in a TPUWorkload or TPUCluster: a tree or problems, never a traceback."""

import json
import posixpath
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.files import read_text
from tests.properties import share

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import errors
from slicewright.rendering.changes import render
from slicewright.rendering.io.package_data import package
from slicewright.rendering.rendering import Rendering
from slicewright.rendering.repository import Settings, read_repository

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
SCHEMAS = PROJECT / "schemas"
Schema = dict[str, Any]


def rendered(*documents: Any) -> Rendering:
    """Render some documents into an empty tree."""
    files = [
        SourceFile(f"workloads/{number}.yaml", json.dumps(document))
        for number, document in enumerate(documents)
    ]
    repository = read_repository(files, Settings(), package(), read_text)
    return render(repository, {})


@cache
def load(file: str) -> Schema:
    """Read a schema."""
    found: Schema = json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
    return found


def resolve(file: str, schema: Schema) -> tuple[str, Schema]:
    """Follow a `$ref` to the file and the schema that it names."""
    while "$ref" in schema:
        target, _, pointer = schema["$ref"].partition("#")
        if target:
            file = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        schema = load(file)
        for key in pointer.split("/")[1:]:
            schema = schema[key]
    return file, schema


NONSENSE: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        "a",
        "../x",
        "/",
        "a/b",
        "-",
        "A",
        "é",
        "\x00",
        "x" * 70,
        "0",
        None,
        True,
        0,
        -1,
        2**70,
        1.5,
        [],
        {},
        [[]],
        "1e3",
        "on",
    ]
)
WORDS = st.sampled_from(
    [
        "a",
        "b",
        "c1",
        "main",
        "v5litepod-8",
        "v5e-16",
        "v6e-8",
        "v4-8",
        "2x4",
        "4x4",
        "v5e",
        "slice",
        "worker",
        "cpu",
    ]
)


def values(file: str, schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Return values of a schema's form, most of them such that it accepts them; made when first drawn."""
    return st.deferred(lambda: _values(*resolve(file, schema), depth))


def _values(file: str, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", "object")
    choices = [_of_type(file, schema, kind, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return st.one_of(*choices)


def _of_type(file: str, schema: Schema, kind: str, depth: int) -> st.SearchStrategy[Any]:
    if kind == "boolean":
        return st.booleans()
    if kind in {"integer", "number"}:
        return st.one_of(st.integers(0, 5), st.integers(-(2**40), 2**40))
    if kind == "array":
        return st.lists(values(file, schema.get("items", {"type": "string"}), depth + 1), max_size=2)
    if kind == "object":
        return _mapping(file, schema, depth)
    examples = [st.sampled_from(schema["examples"])] if schema.get("examples") else []
    return st.one_of(*examples, WORDS)


def _mapping(file: str, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    if not properties:
        return st.dictionaries(WORDS, WORDS, max_size=2)
    required = {key: values(file, properties[key], depth + 1) for key in schema.get("required", [])}
    optional = {
        key: values(file, value, depth + 1) for key, value in properties.items() if key not in required
    }
    if depth > 6:
        optional = {}

    @st.composite
    def some(draw: st.DrawFn) -> dict[str, Any]:
        keys = draw(st.lists(st.sampled_from(sorted(optional)), max_size=4, unique=True)) if optional else []
        return {
            key: draw(value) for key, value in {**required, **{key: optional[key] for key in keys}}.items()
        }

    return some()


def documents(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return documents of a kind, now and then with nonsense somewhere in them."""
    name = f"slicewright/{kind.lower()}.json"
    sound = values(name, load(name))

    @st.composite
    def one(draw: st.DrawFn) -> dict[str, Any]:
        document: dict[str, Any] = draw(sound)
        if draw(st.integers(0, 9)) == 7:
            _spoil(draw, document)
        return document

    return one()


def _spoil(draw: st.DrawFn, document: Any) -> None:
    """Put nonsense at some place of a document."""
    while isinstance(document, dict | list) and document:
        keys: list[Any] = sorted(document) if isinstance(document, dict) else list(range(len(document)))
        key = draw(st.sampled_from(keys))
        below = document[key]
        if not isinstance(below, dict | list) or not below or draw(st.booleans()):
            document[key] = draw(NONSENSE)
            return
        document = below


CLUSTER = {
    "apiVersion": "slicewright.dev/v1alpha1",
    "kind": "TPUCluster",
    "metadata": {"name": "c1"},
    "spec": {"managed": False, "pools": [{"name": "cpu", "machineType": "n2-standard-8"}]},
}
PROFILE = settings(max_examples=share(150), suppress_health_check=list(HealthCheck), derandomize=True)


def holds(rendering: Rendering) -> None:
    """There are problems or files, and every file stays in the tree."""
    assert bool(errors(rendering.problems)) != bool(rendering.writes) or not rendering.planned
    for problem in rendering.problems:
        assert problem.text()
        assert json.dumps(problem.record())
    for path in rendering.writes:
        assert posixpath.normpath(path) == path
        assert path.startswith(("overlays/", "provision/"))
        assert "\x00" not in path


@PROFILE
@given(documents("TPUWorkload"), st.sampled_from(["", "v5e-8", "v5e-16", "v6e-4", "v6e-16", "v4-8"]))
def test_any_workload_gives_a_tree_or_problems(document: dict[str, Any], tpu: str) -> None:
    """Random values of every field of a TPUWorkload never raise."""
    spec = document.get("spec")
    if isinstance(spec, dict):
        # Towards what can be rendered: the random rest is wrong often enough.
        spec["clusters"] = ["c1"]
        spec["tpu"] = tpu or spec.get("tpu")
        spec.setdefault("container", {"image": "x"})
        spec.pop("rehearsal", None)

    holds(rendered(CLUSTER, document))


@PROFILE
@given(documents("TPUCluster"), st.booleans())
def test_any_cluster_gives_a_tree_or_problems(document: dict[str, Any], managed: bool) -> None:
    """Random values of every field of a TPUCluster never raise, with a workload that names it."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else "c1"
    spec = document.get("spec")
    if isinstance(spec, dict):
        spec["managed"] = managed
        spec.setdefault("location", "us-west4-a")
    workload = {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUWorkload",
        "metadata": {"name": "a"},
        "spec": {"clusters": [name], "tpu": "v5e-8", "container": {"image": "x"}},
    }

    holds(rendered(document, workload))


@PROFILE
@given(st.one_of(st.text(), NONSENSE), st.one_of(st.text(), NONSENSE), st.one_of(st.text(), NONSENSE))
def test_no_name_leaves_the_tree(cluster: object, namespace: object, name: object) -> None:
    """Random names of clusters, namespaces and workloads are refused, or stand below overlays/."""
    workload = {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUWorkload",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusters": [cluster], "tpu": "v5e-8", "container": {"image": "x"}},
    }

    holds(rendered({**CLUSTER, "metadata": {"name": cluster}}, workload))
