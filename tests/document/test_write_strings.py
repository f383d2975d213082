"""Strings that readers misread keep their value, whoever reads what slicewright wrote."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.files import program

from slicewright.document.read import read_documents
from slicewright.document.scalar import write_string
from slicewright.document.write import write_document

from .kit import NASTY, READERS, as_go_reads, exact

SHAPES: dict[str, Any] = {
    "values": {f"key-{index}": text for index, text in enumerate(NASTY)},
    "keys": {text: index for index, text in enumerate(NASTY)},
    "keys of mappings": {text: {"a": "b"} for text in NASTY},
    "keys of lists": {text: ["a"] for text in NASTY},
    "keys of scripts": dict.fromkeys(NASTY, "a\nb\n"),
    "elements": list(NASTY),
    "keys in elements": [{text: text} for text in NASTY],
    "elements of elements": [[text, [text]] for text in NASTY],
}

BEYOND_KUSTOMIZE = {"\x7f", "\ufffe", "\x85", "a\x85b", "1e400"}
"""Read by kustomize, but not written: it stops at the first two, and writes the others without quotes."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_same_strings(reader: str, shape: str) -> None:
    """In each place where a string can stand, readers of YAML 1.1 and 1.2 find it as it is."""
    actual = READERS[reader](write_document(SHAPES[shape]))

    assert exact(SHAPES[shape]) == exact(actual)


@pytest.mark.parametrize("shape", SHAPES)
def test_our_own_reader_finds_the_same_strings(shape: str) -> None:
    """What is written is read back as it was."""
    documents, problems = read_documents(write_document(SHAPES[shape]), "a.yaml")

    assert problems == ()
    assert exact(SHAPES[shape]) == exact(documents[0].data)


@pytest.mark.tools
@pytest.mark.parametrize("shape", SHAPES)
def test_go_finds_the_same_strings(shape: str) -> None:
    """The reader of kubectl, kubeconform and Argo CD finds the same, byte for byte."""
    (actual,) = as_go_reads([SHAPES[shape]])

    expected = SHAPES[shape]
    assert expected == actual


@pytest.mark.tools
def test_kustomize_passes_the_strings_on(tmp_path: Path) -> None:
    """A ConfigMap of such strings comes out of a real build, with a patch applied, as it went in."""
    data = {f"key-{index}": text for index, text in enumerate(NASTY) if text not in BEYOND_KUSTOMIZE}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    operations = [{"op": "add", "path": f"/data/new-{key}", "value": text} for key, text in data.items()]
    patch = {"path": "patch.yaml", "target": {"kind": "ConfigMap"}}
    tree = {
        "config-map.yaml": config_map,
        "patch.yaml": operations,
        "kustomization.yaml": {"resources": ["config-map.yaml"], "patches": [patch]},
    }
    for name, document in tree.items():
        (tmp_path / name).write_text(write_document(document), encoding="utf-8", newline="")

    built = subprocess.run([program("kustomize"), "build", tmp_path], capture_output=True, check=True)

    documents, problems = read_documents(built.stdout.decode(), "")
    assert problems == ()
    assert {**data, **{f"new-{key}": text for key, text in data.items()}} == documents[0].data["data"]


@pytest.mark.parametrize(
    "text",
    [
        *("train", "a b", "it's", "--steps=100", "$(NODE_NAME)", "gs://bucket/path", "/bin/sh", "-c", "4x4"),
        *("us-docker.pkg.dev/a/b:1.0", "google.com/tpu", "a:b", "x=y", "v6e-4", "_train", "10Gi", 'say "x"'),
        *("2x2x2", "e1", "yesterday", "a, b", "$HOME", "node-1", "tpu7x"),
    ],
)
def test_plain_words_stay_plain(text: str) -> None:
    """A string that nobody misreads is written as it is, so that people can read the files."""
    assert text == write_string(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on", '"on"'),
        ("1e3", '"1e3"'),
        ('say "no": never', '"say \\"no\\": never"'),
        ("a\tb", '"a\\tb"'),
        ("\x85", '"\\u0085"'),
        ("\u2028", '"\\u2028"'),
        ("\ufeff", '"\\ufeff"'),
        ("\x7f", '"\\u007f"'),
        ("é", '"é"'),
        ("😀", '"😀"'),
    ],
)
def test_others_are_quoted(text: str, expected: str) -> None:
    """Everything else stands in double quotes; letters stay letters, invisible characters are escaped."""
    assert expected == write_string(text)
