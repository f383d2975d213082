"""Whatever stands in a file, `validate` ends with a report, and the rest is still checked."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.document.kit import LINES
from tests.properties import share
from tests.words import places

from slicewright.check.io import discovery, load
from slicewright.check.units import Unit
from slicewright.document import io as text_file
from slicewright.document.document import MAX_VALUES
from slicewright.kubernetes.problem import Problem

BOMB = "apiVersion: v1\nkind: A\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{above}'] * 9)}]\n"
    for above, name in zip("abcdef", "bcdefg", strict=True)
)


def test_bad_files_are_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    """No YAML, a bomb, 100 MB, no UTF-8, a pipe: a clear problem each, in a blink."""
    write(
        tmp_path,
        {
            "a.yaml": "kind: A\napiVersion: [",
            "b.yaml": BOMB,
            "e.yaml": BAD_CONFIG_MAP,
            "y.yaml": "kind: yes\nspec: {}\n",
        },
    )
    with (tmp_path / "c.yaml").open("wb") as huge:
        huge.write(b"apiVersion: v1\n")
        huge.truncate(100_000_000)
    (tmp_path / "d.yaml").write_bytes(b"apiVersion: \xff\n")
    os.mkfifo(tmp_path / "f.yaml")
    (tmp_path / "g.yaml").symlink_to("nowhere.yaml")
    done = run(tmp_path, ".", "-o", "json", "--schemas-only")
    assert sorted((problem["file"], problem["id"]) for problem in done.json["problems"]) == [
        ("a.yaml", "YAML001"),
        ("b.yaml", "YAML004"),
        ("c.yaml", "FILE005"),
        ("d.yaml", "FILE002"),
        ("e.yaml", "SCHEMA003"),
        ("f.yaml", "FILE001"),
        ("y.yaml", "SCHEMA002"),
        ("y.yaml", "YAML007"),
    ]
    huge_one = next(problem for problem in done.json["problems"] if problem["id"] == "FILE005")
    assert huge_one["message"] == "the file has 95 MiB; the limit is 16 MiB"


def test_large_stdin_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped in is read up to the limit."""
    monkeypatch.setattr(text_file, "LARGEST", 10)
    assert run(tmp_path, "-", "-o", "json", stdin="a" * 11).ids == ["FILE005"]
    assert run(tmp_path, "-", "-o", "json", stdin=b"\xff").ids == ["FILE002"]


def test_paths_that_cannot_be_read_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that does not exist, a folder without permission: said, and the rest is checked."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP, "locked/b.yaml": CONFIG_MAP})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    done = run(tmp_path, "nowhere", ".", "-o", "json")
    assert [(problem["file"], problem["id"], problem["message"]) for problem in done.json["problems"]] == [
        ("a.yaml", "SCHEMA003", "'a' must be a string, not an integer (1)"),
        ("locked", "FILE001", "the path cannot be read: Permission denied"),
        ("nowhere", "FILE001", "no such file or folder"),
    ]


def test_path_through_a_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that the system refuses to look at is reported as it says."""
    monkeypatch.setattr(
        Path, "is_dir", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    found = discovery.Discovery(base=tmp_path).find([str(tmp_path / "a")])
    assert [(problem.id, problem.file) for problem in found.problems] == [("FILE001", "a")]


def test_closed_stdin_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no stdin where the caller closed it."""
    monkeypatch.setattr("sys.stdin", None)

    assert "stdin: FILE001" == places(load.load(Unit("stdin", "", "stdin")).problems[0])


def test_hint_is_about_what_is_wrong_with_the_path(tmp_path: Path) -> None:
    """What is not there, below a file, a folder or a pipe has a hint of its own."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    said = [text_file.read_file(tmp_path / name, name) for name in ("gone", "file/a", ".", "pipe")]

    assert [(problem.message, problem.hint) for problem in said if isinstance(problem, Problem)] == [
        ("no such file or folder", "check the spelling; paths are relative to the current folder"),
        ("the path cannot be read: Not a directory", "check the path"),
        ("the path is a folder", "name a file in it"),
        ("the path is not a regular file", "name a regular file"),
    ]


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_names_that_cannot_be_printed_are_escaped(tmp_path: Path, form: str) -> None:
    """A line break in a name must not forge a line of a report, and bytes that are no UTF-8 end none."""
    for name in (b"a\n::error::b.yaml", b"c\xff.yaml"):
        path = os.fsencode(tmp_path) + b"/" + name
        Path(os.fsdecode(path)).write_text(BAD_CONFIG_MAP, encoding="utf-8")
    out = run(tmp_path, ".", "-o", form).out

    assert out.isascii()
    assert [line for line in out.splitlines() if line.startswith("::error::b")] == []
    assert ("c%FF.yaml" if form == "sarif" else "udcff.yaml") in out


def test_terminal_is_told_nothing_by_an_object(tmp_path: Path) -> None:
    """Escape sequences in a name are shown, not obeyed."""
    write(tmp_path, {"a.yaml": 'apiVersion: v1\nkind: "A\\e[2J"\nmetadata: {name: a}\n'})
    out = run(tmp_path, "a.yaml").out

    assert "no schema for v1 A\\x1b[2J: 1 object is checked by no schema\n" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("kind", ["v1 " + "K" * 300, "g" * 300 + "/v1 Pod", "v1 a/b"])
def test_kind_that_no_file_could_be_called_after_has_no_schema(tmp_path: Path, kind: str) -> None:
    """The system refuses names beyond 255 bytes, and an object must not end the check."""
    api_version, _, name = kind.partition(" ")
    data = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}}
    write(tmp_path, {"a.yaml": json.dumps(data)})

    assert run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids == ["SCHEMA001"]


LONG = "1" * 5000
"""More digits than Python makes a number of."""
LWS = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": f"{LONG}%"}}


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"name": "a", "labels": {"kueue.x-k8s.io/max-exec-time-seconds": LONG}}},
        {"metadata": {"name": "a", "annotations": {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": LONG}}},
        {"spec": {"parallelism": LONG}},
        {
            "kind": "LeaderWorkerSet",
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "spec": {"rolloutStrategy": LWS},
        },
    ],
    ids=["label", "annotation", "field", "percentage"],
)
def test_text_of_many_digits_is_no_number(tmp_path: Path, change: dict[str, object]) -> None:
    """A rule that reads numbers in texts takes it for another text."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1.0.0"}]}
    selector = {"nodeSelector": {"cloud.google.com/gke-flex-start": "true"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    job |= {"spec": {"template": {"spec": pod | selector}}}
    (tmp_path / "a.yaml").write_text(json.dumps(job | change), encoding="utf-8")

    assert run(tmp_path, "a.yaml").code in (0, 1)


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced  # a large file: tracing makes it twice as slow
def test_many_documents_are_no_bomb(tmp_path: Path) -> None:
    """The limit of values is one of a document; what aliases add is counted for the whole file."""
    data = "data:\n" + "".join(f"  k{key}: v\n" for key in range(5_000))
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a"
    many = "---\n".join(f"{head}{number}\n{data}" for number in range(50))
    assert MAX_VALUES < 50 * 5_000
    report = run(tmp_path, "-", "-o", "json", "--schemas-only", stdin=many).json
    assert (report["problems"], report["summary"]["objects"]) == ([], 50)

    bombs = "---\n".join([f"{head}\na: &a [1,2,3,4,5,6,7,8]\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"] * 3_000)
    write(tmp_path, {"b.yaml": bombs})
    ids = run(tmp_path, ".", "-o", "json", "--schemas-only").ids
    assert (1, 5_000) == (ids.count("YAML004"), ids.count("SCHEMA004"))


@pytest.mark.slow
@settings(max_examples=share(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(), LINES.map("\n".join), st.binary()))
def test_never_a_traceback(tmp_path: Path, content: str | bytes) -> None:
    """Whatever stands in a file, the command ends with a report and 0 or 1."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (tmp_path / "a.yaml").write_bytes(data)
    done = run(tmp_path, "a.yaml", "-o", "json")
    assert done.code in (0, 1)
    assert set(done.json) == {"problems", "summary"}
