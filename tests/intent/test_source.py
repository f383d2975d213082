"""From a document back to the file that it stands in."""

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
