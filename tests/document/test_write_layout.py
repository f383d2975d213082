"""What a written document looks like."""

import math
from typing import Any

import pytest

from slicewright.document.read import read_documents
from slicewright.document.write import write_document, write_documents

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "labels": {}},
    "spec": {
        "suspend": True,
        "completions": 2,
        "template": {
            "spec": {
                "containers": [
                    {"name": "main", "args": ["--lr", "1e-3"], "command": []},
                    {"name": "sidecar", "env": [{"name": "A", "value": None}]},
                ]
            }
        },
        "script": "set -eu\n\npython3 train.py\n",
        "matrix": [[1, 2], [], [{"a": 0.5}]],
    },
}
EXPECTED = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {}
spec:
  suspend: true
  completions: 2
  template:
    spec:
      containers:
      - name: main
        args:
        - --lr
        - "1e-3"
        command: []
      - name: sidecar
        env:
        - name: A
          value: null
  script: |
    set -eu

    python3 train.py
  matrix:
  -
    - 1
    - 2
  - []
  -
    - a: 0.5
"""


def test_block_style() -> None:
    """Keys keep their order, lists stand under their key, and scripts stay readable."""
    assert write_document(JOB) == EXPECTED


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "{}\n"),
        ([], "[]\n"),
        (None, "null\n"),
        (False, "false\n"),
        (-7, "-7\n"),
        ("no", '"no"\n'),
        ([None], "- null\n"),
        ({"a": "x\ny"}, "a: |-\n  x\n  y\n"),
        (["x\ny\n"], "- |\n  x\n  y\n"),
        ([{"a": "x\n  y\n"}], "- a: |\n    x\n      y\n"),
        ({"a": "x\n\n"}, 'a: "x\\n\\n"\n'),
        ({"a": " x\ny\n"}, 'a: " x\\ny\\n"\n'),
        ({"a": "x \ny\n"}, 'a: "x \\ny\\n"\n'),
        ({"a": "\tx\ny\n"}, 'a: "\\tx\\ny\\n"\n'),
        ({"a": "x\u2028\n"}, 'a: "x\\u2028\\n"\n'),
        ({"on": 1}, '"on": 1\n'),
    ],
)
def test_small_documents(data: object, expected: str) -> None:
    """Each kind of value has one form: empty ones inline, texts of several lines as a literal or quoted."""
    assert expected == write_document(data)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.1, "0.1"), (1.0, "1.0"), (1e-5, "1.0e-05"), (1.5e300, "1.5e+300"), (1e22, "1.0e+22"), (-0.0, "-0.0")],
)
def test_floats_have_a_point(number: float, expected: str) -> None:
    """YAML 1.1 takes `1e-05` for a string, so that a float is never written without its point."""
    assert f"{expected}\n" == write_document(number)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_no_number_of_json(number: float) -> None:
    """What JSON cannot hold is refused, before some reader makes a string of it."""
    with pytest.raises(ValueError, match="has no place in JSON"):
        write_document({"a": number})


def test_long_lines_are_not_folded() -> None:
    """A long string stays on one line: folding it would change what `git diff` shows and what YAML reads."""
    text = "word " * 1000 + "end"

    assert f"a: {text}\n" == write_document({"a": text})


@pytest.mark.parametrize("value", ["x", {"b": "x"}, ["x"], "x\ny\n", None])
def test_long_keys_are_announced(value: Any) -> None:
    """A key beyond the 1024 characters that parsers look ahead is written with `?`, which they all read."""
    data = {"k" * 2000: value, "after": [{"m" * 1000: value}]}

    text = write_document(data)

    assert text.startswith("? kkk")
    assert data == read_documents(text, "")[0][0].data


def test_documents_are_separated() -> None:
    """Several documents are one text with `---` between them, and none before the first."""
    assert write_documents([{"a": 1}, {"b": 2}, []]) == "a: 1\n---\nb: 2\n---\n[]\n"
    assert write_documents([]) == ""
