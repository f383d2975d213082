"""Files that are long in another way than manifests are, and JSON as other programs write it."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.check.kit import run, write
from tests.conftest import Repo
from tests.words import places

from slicewright.document import scalar
from slicewright.document.read import paired, read_documents, read_manifests
from slicewright.kubernetes.quantity import without_days


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    [
        "--- a\n",
        *(pytest.param(text, marks=pytest.mark.workflow) for text in ("--- {}\n", "---\n", "--- !!str a\n")),
    ],
)
def test_file_has_not_a_million_documents(document: str) -> None:
    """The first that is too many is named, whichever reader comes to it."""
    documents, (problem,) = read_documents(document * 100_001, "a.yaml")
    assert () == documents
    assert problem.line in (100_001, 100_002)  # of an empty one, where it ends
    assert "YAML010" in places(problem.text())
    assert () == read_documents(document * 1000, "a.yaml")[1]


@pytest.mark.ci
@pytest.mark.slow
def test_mistakes_of_a_document_are_counted_up_to_a_number(tmp_path: Path, repo: Repo) -> None:
    """Each unknown key would have its nearest word looked for."""
    keys = "".join(f"  k{number}: 1\n" for number in range(30_000))
    write(tmp_path, {"a.yaml": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n{keys}"})
    began = time.process_time()
    ids = run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids
    assert (1001, 1) == (len(ids), ids.count("FILE020"))
    repo.workload("b", keys.replace("  k", "k"))
    done = repo.run("render", code=1)
    assert "more than 1,000 errors; the others are not listed" in done.err
    assert time.process_time() - began < 10


@given(st.text(st.sampled_from(["\\", "u", "a", "\U0001f389", "é", '"']), max_size=12))
def test_json_of_ascii_is_read_as_it_was_meant(text: str) -> None:
    """Python and Java write two escapes for one character; kubectl reads them."""
    written = json.dumps({"a": text}, ensure_ascii=True)
    ((document,), problems) = read_documents(paired(written), "a.json")
    assert ({"a": text}, ()) == (document.data, problems)


def test_half_a_pair_is_refused(repo: Repo) -> None:
    """It stands for no character."""
    assert read_documents(paired('{"a": "\\ud83c"}'), "a.json")[1]
    assert "a: \\ud83c\\udf89" == paired("a: \\ud83c\\udf89")
    spec = {"clusters": ["c1"], "tpu": "v5litepod-8", "container": {"image": "x", "args": ["\U0001f389"]}}
    head = {"apiVersion": "slicewright.dev/v1alpha1", "kind": "TPUWorkload", "metadata": {"name": "b"}}
    repo.write("workloads/b.yaml", json.dumps({**head, "spec": spec}))
    repo.run("render")
    assert "\U0001f389" in repo.run("render", "b", "--stdout").out


@pytest.mark.parametrize("part", ["{", " "])
def test_long_lines_take_no_time(part: str) -> None:
    """A line in which something is wrong is looked at for a template; a time span for days."""
    began = time.process_time()
    _, (problem,) = read_documents(f"? [a]\n: 1\n{part * 300_000}: [\n", "a.yaml")
    _, (template,) = read_documents(f"? 1\n: '{part * 300_000}'\n1: {part * 3}'{part * 300_000}'\n", "a.yaml")
    assert {"YAML001", "YAML003"} >= {problem.id, template.id}
    assert "0" * 100_000 + "h" == without_days("0" * 100_000 + "h")
    assert "36.0h" == without_days("1.5d")
    assert time.process_time() - began < 2


def test_memory_for_known_scalars_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of different scalars they are read without being remembered."""
    monkeypatch.setattr(scalar, "_MOST", 0)

    (document,), _ = read_documents("[never-seen-before]", "")

    assert (["never-seen-before"], False) == (document.data, "never-seen-before" in scalar.MEANINGS)


def test_json_on_one_line_takes_no_time() -> None:
    """Many objects of JSON may follow one another without a line break."""
    began = time.process_time()
    documents, problems = read_manifests('{"a": 1}' * 10_000, "a.json")
    assert (10_000, ()) == (len(documents), problems)
    assert time.process_time() - began < 1
