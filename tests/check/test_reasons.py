"""Findings are ignored with a reason: in ignore files above what is checked, and in comments."""

import os
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, run, write
from tests.conftest import JOB, Repo
from tests.words import places

from slicewright.check.suppress import Entry
from slicewright.kubernetes.problem import Problem

IGNORED = "ignore: [{rule: SCHEMA003, reason: meant}]\n"


def said(folder: Path, *arguments: str) -> list[str]:
    """Return the places and ids of what is reported."""
    found = run(folder, *arguments, "-o", "json").json["problems"]
    return [f"{one['file']}:{one['line']} {one['id']}" for one in found]


@pytest.mark.parametrize("path", [".", "a", "a/b", "a/b/c.yaml"])
def test_ignore_file_is_found_above_what_is_checked(tmp_path: Path, path: str) -> None:
    """It applies to all files below its folder, whatever path is given."""
    write(tmp_path, {".slicewright-ignore.yaml": IGNORED, "a/b/c.yaml": BAD_CONFIG_MAP})

    assert [] == said(tmp_path, path)


def test_ignore_file_is_found_above_the_current_folder(tmp_path: Path) -> None:
    """Up to the top of the git repository, and not beyond it."""
    (tmp_path / "a" / ".git").mkdir(parents=True)
    write(tmp_path, {"a/.slicewright-ignore.yaml": IGNORED, "a/b/c.yaml": BAD_CONFIG_MAP})
    assert [] == said(tmp_path / "a" / "b", ".")

    write(tmp_path, {"a/.slicewright-ignore.yaml": "ignore: []\n", ".slicewright-ignore.yaml": IGNORED})
    assert ["c.yaml:1 SCHEMA003"] == said(tmp_path / "a" / "b", ".")


def test_ignore_files_add_up(tmp_path: Path) -> None:
    """One of a folder adds to those above it."""
    warned = "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: q}}\n"
    write(
        tmp_path,
        {
            ".slicewright-ignore.yaml": IGNORED,
            "a/.slicewright-ignore.yaml": "ignore: [{rule: SCHEMA, object: LocalQueue*, reason: old}]\n",
            "a/c.yaml": f"{BAD_CONFIG_MAP}---\n{warned}",
        },
    )

    assert [] == said(tmp_path, "a")


def test_file_of_an_entry_is_relative_to_its_folder(tmp_path: Path) -> None:
    """An entry moves with its folder."""
    only_c = IGNORED.replace("reason", "file: c.yaml, reason")
    write(
        tmp_path,
        {"a/.slicewright-ignore.yaml": only_c, "a/c.yaml": BAD_CONFIG_MAP, "a/d/c.yaml": BAD_CONFIG_MAP},
    )

    assert ["a/d/c.yaml:1 SCHEMA003"] == said(tmp_path, ".")
    assert ["d/c.yaml:1 SCHEMA003"] == said(tmp_path / "a", ".")


UNUSED = "ignore: [{rule: KQ111, reason: closed}]\n"


def test_unused_entry_is_reported_where_its_whole_folder_is_checked(tmp_path: Path) -> None:
    """A part of the folder does not tell whether the entry is needed elsewhere."""
    good = BAD_CONFIG_MAP.replace("1}", "'1'}")
    write(tmp_path, {"a/.slicewright-ignore.yaml": UNUSED, "a/b/c.yaml": good, "a/d.yaml": good})

    assert ["a/.slicewright-ignore.yaml:1 IGN102"] == said(tmp_path, "a")
    assert ["a/.slicewright-ignore.yaml:1 IGN102"] == said(tmp_path, ".")
    assert [] == said(tmp_path, "a/b")
    assert [] == said(tmp_path, "a/d.yaml")
    assert [] == said(tmp_path, "a", "--exclude", "c.yaml")
    assert [] == said(tmp_path, "a", "--schemas-only")


@pytest.mark.parametrize(
    "text",
    [
        "# slicewright: ignore SCHEMA003 numbers are meant\n{}",
        "# slicewright:ignore SCHEMA numbers are meant\n# and more words\n---\n{}",
        "{} # slicewright: ignore KQ111, SCHEMA003 numbers are meant\n",
    ],
)
def test_comment_ignores_findings_of_its_line(tmp_path: Path, text: str) -> None:
    """Above the object or beside the line, with ids or a family."""
    write(tmp_path, {"a.yaml": text.format(BAD_CONFIG_MAP.strip())})

    assert [] == said(tmp_path, "a.yaml")


def test_comment_does_not_ignore_other_lines(tmp_path: Path) -> None:
    """A comment at one value leaves the next value and the next object alone."""
    lines = "data:\n  a: 1 # slicewright: ignore SCHEMA003 meant\n  b: 2\n"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other}}\n{lines}---\n{BAD_CONFIG_MAP}"
    write(tmp_path, {"a.yaml": text})

    assert ["a.yaml:6 SCHEMA003", "a.yaml:8 SCHEMA003"] == said(tmp_path, ".")


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("SCHEMA003", "a.yaml:1:75: warning: IGN101"),
        ("SCHEMA03 meant", "a.yaml:1:75: warning: IGN103"),
        ("", "a.yaml:1:75: warning: IGN103"),
        ("SCHEMA003,KQ111 meant", "a.yaml:1:75: warning: IGN102"),
    ],
)
def test_comment_needs_an_id_a_reason_and_a_finding(
    tmp_path: Path, comment: str, expected: list[str]
) -> None:
    """A comment that ignores nothing is reported at its place."""
    write(tmp_path, {"a.yaml": f"{BAD_CONFIG_MAP.strip()}      # slicewright: ignore {comment}\n"})

    assert [expected] == places(run(tmp_path, ".", "--only", "IGN").out).splitlines()[:-1]


@pytest.mark.tools
def test_comment_in_a_kustomization_ignores_findings_about_it(tmp_path: Path) -> None:
    """Comments of a kustomization work; values of the files that it builds from have no line any more."""
    pods = "{spec: {restartPolicy: Never, containers: [{name: a, image: 'python:3.12.1'}]}}"
    job = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: a}}, spec: {{template: {pods}}}}}\n"
    labels = "resources: [a.yaml]\ncommonLabels: {a: b}"
    write(tmp_path, {"a.yaml": job, "kustomization.yaml": f"{labels}\n"})
    assert ["kustomization.yaml:2 KUS106"] == said(tmp_path, ".")

    write(
        tmp_path, {"kustomization.yaml": f"{labels} # slicewright: ignore KUS106 the label never changes\n"}
    )
    assert [] == said(tmp_path, ".")


@pytest.mark.parametrize(("tag", "expected"), [("3.12", []), ("3.12.1", ["workloads/a.yaml:1 IGN102"])])
def test_comment_in_a_workload_ignores_warnings(repo: Repo, tag: str, expected: list[str]) -> None:
    """As an annotation of the workload does, also for what is rendered from it; an unused one is reported."""
    repo.cluster("c1")
    repo.workload("a", JOB.replace("3.12", tag))
    comment = "# slicewright: ignore GIT120 a run of one day\n"
    repo.write("workloads/a.yaml", comment + (repo.root / "workloads/a.yaml").read_text())
    assert 0 == repo.run("render").code

    assert expected == said(repo.root)


def test_comment_in_a_workload_ignores_no_error(repo: Repo) -> None:
    """Who writes a workload cannot let an error pass."""
    repo.cluster("c1")
    text = (repo.root / "workloads/a.yaml").read_text()
    repo.write("workloads/a.yaml", f"# slicewright: ignore IN meant\n{text}  slcies: 1\n")

    assert "IN002" in repo.run("validate", code=1).out


def test_a_comment_is_compared_with_its_own_lines_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many documents have a comment, a problem is compared with those of its place."""
    compared: list[int] = []
    suppresses = Entry.suppresses

    def counting(entry: Entry, problem: Problem) -> bool:
        compared.append(problem.line)
        return suppresses(entry, problem)

    monkeypatch.setattr(Entry, "suppresses", counting)
    one = f"# slicewright: ignore SCHEMA003 meant\n{BAD_CONFIG_MAP}---\n"
    write(tmp_path, {"a.yaml": 50 * one})

    assert not any("SCHEMA003" in one for one in said(tmp_path, "a.yaml"))
    assert 50 == len(compared)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("disable SCHEMA003", ["a.yaml:1 IGN103"]),
        ("ingore SCHEMA a reason", ["a.yaml:1 IGN103"]),
        ("ignore-next-line: SCHEMA003", ["a.yaml:1 IGN103"]),
        ("these numbers are meant", []),
    ],
)
def test_comment_with_another_word_is_reported(tmp_path: Path, comment: str, expected: list[str]) -> None:
    """Comments of other linters ignore nothing, nor do misspelt ones; prose is left alone."""
    write(tmp_path, {"a.yaml": f"# slicewright: {comment}\n{BAD_CONFIG_MAP}"})

    assert expected == [one for one in said(tmp_path, ".") if "IGN" in one]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("object: ConfigMap b", "no SCHEMA003 problem is about an object 'ConfigMap b'"),
        ("file: b.yaml", "no SCHEMA003 problem is in a file 'b.yaml'"),
        (
            "object: ConfigMap b, file: x/*",
            "no SCHEMA003 problem is about an object 'ConfigMap b' in a file 'x/*'",
        ),
    ],
)
def test_unused_entry_says_what_it_is_about(tmp_path: Path, entry: str, expected: str) -> None:
    """Others of its rule may be found beside it."""
    ignore = f"ignore: [{{rule: SCHEMA003, {entry}, reason: r}}]\n"
    write(tmp_path, {".slicewright-ignore.yaml": ignore, "a.yaml": BAD_CONFIG_MAP})

    problems = run(tmp_path, ".", "-o", "json").json["problems"]
    assert [expected] == [one["message"] for one in problems if one["id"] == "IGN102"]


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to nothing"])
def test_ignore_file_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    """Its entries would otherwise not apply, and nobody knew why."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    file = tmp_path / ".slicewright-ignore.yaml"
    if kind == "a folder":
        file.mkdir()
    elif kind == "a pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("nothing")

    assert [".slicewright-ignore.yaml:0 FILE001", "a.yaml:1 SCHEMA003"] == said(tmp_path, "a.yaml")
