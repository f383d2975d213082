"""`slicewright doctor` where things are missing or broken: an answer to each, and never a traceback."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from click.testing import CliRunner

from slicewright import machine
from slicewright.binaries.pins import tools
from slicewright.cli.main import cli
from slicewright.version import __version__
from slicewright.workspace.package import data_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Repo

SCHEMA = json.loads((data_folder("schemas") / "slicewright" / "doctor.json").read_text(encoding="utf-8"))
Checks = dict[tuple[str, str], tuple[str, str, str]]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand on a machine with nothing: no program on PATH, an empty home, no cache, no git, no repository."""
    for name in os.environ:
        if name.startswith(("SLICEWRIGHT_", "XDG_", "KUBECONFIG", "GIT_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(home)
    return home


def examined(code: int) -> Checks:
    """Return state, detail and mend by topic and name; the JSON is of the schema, and the text has each."""
    done = CliRunner().invoke(cli, ["doctor", "-o", "json"], prog_name="slicewright", catch_exceptions=False)
    record: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(record, SCHEMA)
    assert (code, "") == (done.exit_code, done.stderr)
    return {
        (one["topic"], one["name"]): (one["state"], one["detail"], one["mend"]) for one in record["checks"]
    }


def states(checks: Checks, state: str) -> set[tuple[str, str]]:
    """Return what has a state."""
    return {place for place, (found, _, _) in checks.items() if found == state}


def test_machine_with_nothing_has_nothing_wrong(bare: Path) -> None:
    """What is missing is needed by some commands only: exit 0, each with the command that brings it."""
    checks = examined(0)

    programs = {("program", tool.title) for tool in tools().values()}
    others = {("git", "program"), ("repository", ""), ("kubectl", "context")}
    assert programs | others == states(checks, "missing") - {("machine", "memory"), ("machine", "disk")}
    assert "slicewright tools build" == checks["program", tools()["etcd"].title][2]
    assert "slicewright tools build argocd" == checks["program", tools()["argocd"].title][2]
    assert ("ok", "empty", "") == checks["cache", str(bare / ".cache" / "slicewright")]


def test_text_lists_each_command_once(bare: Path) -> None:
    """A table of what was found, then what mends it and for what, and the numbers."""
    del bare
    done = CliRunner().invoke(cli, ["doctor"], prog_name="slicewright", catch_exceptions=False)
    head, mends, numbers = done.stdout.split("\n\n")

    built = [tool.name for tool in tools().values() if not tool.asked]
    assert f"missing  program {built[0]} " in head
    assert 1 == mends.count("  slicewright tools build  ")
    assert ", ".join(built) in mends
    assert numbers.endswith("missing, 0 wrong\n")


def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user have neither HOME nor an entry in the user database, as in many containers."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)


@pytest.mark.parametrize("line", ["tools build kind", "cluster up", "cluster status"])
def test_command_that_needs_a_home_says_so(bare: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """Without a home there is no cache: a problem with what to do, as text and as JSON, and exit 3."""
    del bare
    homeless(monkeypatch)
    text, record = (
        CliRunner().invoke(cli, [*line.split(), *more], catch_exceptions=False) for more in ([], ["-ojson"])
    )

    said = "TOOL009 the user has no home folder, and HOME does not name one"
    assert (3, said) == (text.exit_code, text.stderr.splitlines()[0])
    (problem,) = json.loads(record.stdout)["problems"]
    assert (3, "TOOL009") == (record.exit_code, problem["id"])


def test_user_without_a_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No HOME, and no entry of the user: what lies in the home is wrong, the rest is said."""
    del bare
    homeless(monkeypatch)
    checks = examined(1)

    assert {"program", "cache", "kubectl", "machine", "test cluster"} == {
        topic for topic, _ in states(checks, "wrong")
    }
    assert "export SLICEWRIGHT_CACHE=/path/of/a/folder" == checks["cache", ""][2]
    assert ("terminal", "encoding") in checks


def test_cache_that_is_a_file(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be written there."""
    path = bare / "cache"
    path.touch()
    monkeypatch.setenv("SLICEWRIGHT_CACHE", str(path))

    assert ("wrong", "cannot be written by this user") == examined(1)["cache", str(path)][:2]


def test_folder_that_is_closed_to_us(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own words are the reason, and all other topics are there."""

    def refuse() -> list[Any]:
        raise PermissionError(13, "Permission denied", "/secret")

    del bare
    monkeypatch.setitem(machine._LOOKS, "cache", refuse)
    checks = examined(1)

    said = "cannot be examined: [Errno 13] Permission denied: '/secret'"
    assert ("wrong", said, "") == checks["cache", ""]
    assert (
        SCHEMA["properties"]["checks"]["items"]["properties"]["topic"]["enum"][:9]
        == list(dict.fromkeys(topic for topic, _ in checks))[:9]
    )


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"\xff\xff", "not UTF-8: byte 0 is 0xff"),
        (b"a: [", "not valid YAML: while parsing a flow node"),
        (None, "is a folder"),
    ],
    ids=["binary", "yaml", "folder"],
)
def test_broken_kubeconfig(
    bare: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, detail: str
) -> None:
    """The file is named, and what is wrong with it; no command mends it. Entries of no file do not count."""
    path = bare / "config"
    path.mkdir() if content is None else path.write_bytes(content)
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(("", "/nowhere", str(path))))

    state, said, mend = examined(1)["kubectl", "context"]
    assert ("wrong", "") == (state, mend)
    assert said.startswith(f"{path}: ")
    assert detail in said


def test_variable_that_names_another_program(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be used and is refused, so it is wrong; kubectl itself is not said to be missing beside it."""
    monkeypatch.setenv("SLICEWRIGHT_KUBECTL", str(bare))
    checks = examined(1)

    said = f"SLICEWRIGHT_KUBECTL names {bare}, which is not an executable file"
    assert ("wrong", said, "unset SLICEWRIGHT_KUBECTL") == checks["program", tools()["kubectl"].title]
    assert ("kubectl", "program") not in checks


@pytest.mark.parametrize(
    ("settings", "state", "detail"),
    [
        (f"requires: '=={__version__}'", "ok", f"requires =={__version__}"),
        ("{}", "ok", "requires no version"),
        ("", "ok", "requires no version"),
        ("requires: ==9.9", "wrong", f"requires slicewright ==9.9, and this is {__version__}"),
        ("requires: [", "wrong", "slicewright.yaml:"),
        ("requires: nonsense", "wrong", "'nonsense' is not a valid version requirement"),
    ],
)
def test_repository_and_what_it_requires(
    bare: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch, settings: str, state: str, detail: str
) -> None:
    """The settings alone are read, so that a broken workload does not matter."""
    del bare
    repo.write("slicewright.yaml", settings)
    repo.write("workloads/a.yaml", "}")
    repo.write("bases/.slicewright.json", '{"slicewright": "' + __version__ + '", "files": {}}')
    monkeypatch.chdir(repo.root)
    checks = examined(0 if state == "ok" else 1)

    found = checks.get(("repository", str(repo.root)), checks.get(("repository", ""), ("", "", "")))
    assert state == found[0]
    assert detail in found[1]
    if state == "ok":
        assert f"of slicewright {__version__}" == checks["repository", "bases/"][1]


@pytest.mark.slow
def test_repository_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository, one without a commit, one with a commit, and one of another owner."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = []
    for command in ([], ["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "x"]):
        if command:
            subprocess.run([*git, *command], check=True)
        found += [check for check in machine._git() if check.name == "repository"]
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    found += [check for check in machine._git() if check.name == "repository"]

    assert ["missing", "missing", "ok", "wrong"] == [check.state for check in found]
    assert ["git init", "git commit", "", f"git config --global --add safe.directory {tmp_path}"] == [
        check.mend for check in found
    ]


def test_test_clusters_that_were_left(bare: Path) -> None:
    """The folder of a killed supervisor is named; the logs of clusters that failed are not a cluster."""
    root = bare / ".cache" / "slicewright" / "clusters"
    for name in ("lab", ".logs"):
        (root / name).mkdir(parents=True)

    assert [("test cluster", "lab")] == [place for place in examined(0) if place[0] == "test cluster"]


@pytest.mark.slow
def test_folder_that_was_deleted(tmp_path: Path) -> None:
    """Git and the repository cannot be looked at; there is no traceback."""
    code = f"import os; os.chdir({str(tmp_path)!r}); os.rmdir({str(tmp_path)!r})\n"
    code += "from slicewright.cli.main import main; import sys; sys.argv = ['slicewright', 'doctor']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)

    assert (1, "") == (done.returncode, done.stderr)
    assert "wrong    git                " in done.stdout
    assert "wrong    repository         " in done.stdout
