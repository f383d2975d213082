"""Nothing that somebody else wrote is obeyed by what shows it."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.check.kit import run, write
from tests.conftest import Repo
from tests.diff.kit import commit

from slicewright.kubernetes import problem as problems
from slicewright.kubernetes.problem import Problem, foremost
from slicewright.kubernetes.visible import in_json, shown, visible
from slicewright.rendering.folder import SETTINGS

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
COMMAND = re.compile(r"^\s*(::|```|~~~)|##\[", re.MULTILINE)
TEXT = st.text("a:#[`~ \t\n\r\x1b\x85\u202e\u2028\xa0é")
EVIL = "x\n::stop-commands::y\r\n ~~~\n```\u202e\x1b[31m##[error]"


@pytest.mark.slow
@given(TEXT)
def test_lines_are_not_obeyed(text: str) -> None:
    """No control character, no command of GitHub's runner, no end of a fence; the number of lines stays."""
    safe = shown(text)
    assert not OBEYED.search(safe)
    assert not COMMAND.search(safe)
    assert text.count("\n") == safe.count("\n")
    assert safe == shown(safe)


@given(TEXT)
def test_text_becomes_one_line(text: str) -> None:
    """Whatever a name holds, it is shown on the line of its message."""
    assert "\n" not in visible(text)
    assert not OBEYED.search(visible(text))


@given(TEXT)
def test_json_means_the_same(text: str) -> None:
    """A program reads what was written."""
    safe = in_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert {text: [text]} == json.loads(safe)
    assert not OBEYED.search(safe)
    assert "##[" not in safe


def test_problem_has_one_line_and_one_for_its_hint() -> None:
    """Keys and values of strangers stand in messages and hints."""
    text = Problem("IN002", EVIL, EVIL, file=f"a{EVIL}", line=1).text()
    assert 2 == len(text.splitlines())
    assert not OBEYED.search(text.replace("\n", ""))


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_no_report_is_forged(tmp_path: Path, form: str) -> None:
    """Names, keys, kinds and values in any form of the report."""
    name = json.dumps(EVIL)
    write(
        tmp_path,
        {
            SETTINGS: "",  # in a repository of ours objects of all kinds are judged
            "a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
            f"{name}: 1\ndata: {{{name}: 1}}\n",
            "b.yaml": f"apiVersion: a/b\nkind: {name}\nmetadata: {{name: a}}\n",
            "c.yaml": f"apiVersion: v1\nkind: ConfigMap\n{name}: [\n",
            "::warning::d.yaml": "apiVersion: v1\nkind: ConfigMap\na: [\n",
        },
    )
    out = run(tmp_path, ".", "-o", form).out
    ours = r"^::(error|warning|notice) (file=[^\n:]*,|)[^\n]*$"
    lines = re.sub(ours, "", out, flags=re.MULTILINE) if form == "github" else out
    assert not OBEYED.search(out)
    assert not COMMAND.search(lines)
    assert out.count("d.yaml") > 0


def test_diff_is_not_forged(repo: Repo) -> None:
    """What stands in objects and scripts closes no fence of the summary that shows it."""
    repo.run("render")
    commit(repo)
    repo.workload(
        "a", f"clusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: x, script: {json.dumps(EVIL)}}}\n"
    )
    repo.run("render")
    assert not COMMAND.search(repo.run("diff").out)
    assert not OBEYED.search(repo.run("diff").out)
    repo.workload(
        "b", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\n" + json.dumps(EVIL) + ": 1\n"
    )
    done = repo.run("render", code=1)
    assert not OBEYED.search(done.err)
    assert not COMMAND.search(done.err)


def test_people_are_shown_so_many_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors come first; the rest is counted, and a program gets all of them."""
    monkeypatch.setattr(problems, "MOST", 2)
    few = [Problem("A", str(number), severity="warning") for number in range(3)] + [Problem("B", "x")]
    assert ([few[0], few[3]], "and 2 more problems, which -o json lists") == foremost(few)
    assert ([few[0], few[3]], "and 1 more problem, which -o json lists") == foremost([few[0], *few[2:]])
    write(
        tmp_path,
        {
            SETTINGS: "",
            "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1, b: 2, c: 3}\n",
        },
    )
    for form in ("text", "github"):
        assert "and 1 more problem, which -o json lists\n" in run(tmp_path, ".", "-o", form).out
    assert 3 == len(run(tmp_path, ".", "-o", "json").ids)
