"""From a document back to the file that it stands in."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem

TEXT = """\
kind: TPUCluster
---
kind: TPUWorkload
metadata:
  name: train
spec:
  slcies: 2
"""


def _source(text: str, index: int = 0) -> Source:
    documents, _ = read_documents(text, "")
    return Source(SourceFile("workloads/a.yaml", text), documents[index])


def test_problems_have_their_place() -> None:
    """A problem at a path has file, line, column and the name of the document."""
    expected = Problem(
        "IN002",
        "unknown",
        "look",
        file="workloads/a.yaml",
        line=7,
        column=11,
        object="TPUWorkload default/train",
        path=("spec", "slcies"),
    )
    assert expected == _source(TEXT, 1).problem("IN002", ("spec", "slcies"), "unknown", "look")


def test_problems_point_at_keys_and_may_be_warnings() -> None:
    """Where the key is what is wrong, the place is that of the key; a warning stops nothing."""
    problem = _source(TEXT, 1).problem("IN002", ("spec", "slcies"), "unknown", key=True, warning=True)

    assert ((problem.line, problem.column), problem.severity, problem.hint) == ((7, 3), "warning", "")


def test_problems_of_the_data_are_placed() -> None:
    """What was found in plain data gets its place afterwards, and stays the same otherwise."""
    found = Problem("IN003", "'tpu' is missing", "add it", severity="warning", path=("spec",))

    expected = "workloads/a.yaml:7:3: warning: IN003 'tpu' is missing\n  hint: add it"
    assert expected == _source(TEXT, 1).placed(found).text()
    assert _source(TEXT, 1).placed(found).object == "TPUWorkload default/train"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: TPUWorkload\nmetadata: {name: a, namespace: n}\n", "TPUWorkload n/a"),
        ("kind: TPUWorkload\nmetadata: {name: a}\n", "TPUWorkload default/a"),
        ("kind: TPUWorkload\nmetadata: {name: a, namespace: }\n", "TPUWorkload default/a"),
        ("kind: TPUCluster\nmetadata: {name: a}\n", "TPUCluster a"),
        ("kind: TPUCluster\nmetadata:\n", "TPUCluster"),
        ("kind: TPUCluster\nmetadata: {name: }\n", "TPUCluster"),
        ("kind: TPUCluster\nmetadata: [a]\n", "TPUCluster"),
        ("kind:\nmetadata: {name: a}\n", "a"),
        ("metadata: {name: a}\n", "a"),
        ("a: 1\n", ""),
        ("- kind\n", ""),
    ],
)
def test_subject(text: str, expected: str) -> None:
    """A document is called by its kind, namespace and name, as far as it has them."""
    assert expected == _source(text).subject


def test_data_is_that_of_the_document() -> None:
    """The source of the second document of a file has its data, not that of the first."""
    assert _source(TEXT, 0).data == {"kind": "TPUCluster"}
    assert _source(TEXT, 1).data["metadata"]["name"] == "train"


LAYER = """\
kind: TPUDefaults
metadata: {name: d}
spec: {container: {env: [{name: A, value: x}]}, clusters: [c]}
"""


def test_values_of_a_layer_are_placed_in_it() -> None:
    """What a merged document has from another file is placed there; elements are known by name or value."""
    own, layer = _source(TEXT, 1), _source(LAYER)
    merged = {"kind": "TPUWorkload", "spec": {"slcies": 2, **layer.data["spec"], "list": [{"value": 1}]}}
    source = replace(own, document=replace(own.document, data=merged), layers=(own, layer))
    path = ("spec", "container", "env", 0, "value")

    assert own.origin(path) == (own, path)
    assert source.place(path) == layer.place(path) == (3, 43)
    assert source.place(("spec", "list", 0, "value")) == own.place(("spec",))
    found = Problem("A", "b", path=path)
    assert source.placed(found).text() == layer.placed(found).text()
    assert source.placed(Problem("A", "b", path=("spec", "slcies"))).line == 7
