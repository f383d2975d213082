"""`slicewright tools`: the list of programs and of the machine, and what `tools build` builds."""

import json
import os
import pwd
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slicewright.cli.main import cli
from slicewright.kubernetes.problem import Problem
from slicewright.programs import pins
from slicewright.programs.find import cached
from slicewright.programs.pins import Tool

from .conftest import Script


@pytest.mark.usefixtures("no_wheels")
def test_the_list_shows_what_is_there(
    environ: dict[str, str], script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`slicewright tools` builds nothing and shows where each program is from, or why there is none."""
    own, old = script("kind", "echo kind v0.0.1"), script("bin/etcd", "echo etcd Version: 3.0.0")
    right = script("kwok", f"echo kwok version {pins.tools()['kwok'].version}")
    for name in [name for name in os.environ if name.startswith("SLICEWRIGHT_")]:
        monkeypatch.delenv(name)
    kept = cached(pins.tools()["tofu"], environ)
    script(str(kept), "exit 1")
    variables = {"PATH": str(old.parent), "SLICEWRIGHT_KIND": str(own), "SLICEWRIGHT_KWOK": str(right)}
    for name, value in {**environ, **variables}.items():
        monkeypatch.setenv(name, value)

    done = CliRunner().invoke(cli, ["tools"])
    records = {
        one["name"]: one
        for one in json.loads(CliRunner().invoke(cli, ["tools", "-o", "json"]).stdout)["tools"]
    }
    lines = {line.split()[0]: line for line in done.stdout.partition("\n\n")[0].splitlines()}

    version = pins.tools()["kind"].version
    wrong = f"SLICEWRIGHT_KIND names {own}, which is v0.0.1; kind {version} is needed"
    expected = {
        "kind": ("variable", "", wrong),
        "kwok": ("variable", str(right), ""),
        "tofu": ("cache", str(kept), ""),
        "etcd": ("missing", "", f"{old} is v3.0.0"),
        "jobset": ("missing", "", ""),
        "argocd": ("not built", "", ""),
    }
    assert expected == {
        name: (records[name]["origin"], records[name]["path"], records[name]["message"]) for name in expected
    }
    assert lines["kind"].endswith(wrong)
    assert ["jobset", pins.tools()["jobset"].version, "missing", "rehearse,", "cluster", "-"] == lines[
        "jobset"
    ].split()
    assert (1, "") == (done.exit_code, done.stderr), "the variable is wrong"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand on a machine with nothing: no program on PATH, an empty home, no cache."""
    for name in os.environ:
        if name.startswith(("SLICEWRIGHT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "home"


def listed(code: int = 0) -> dict[str, Any]:
    """Return the JSON form of the list."""
    done = CliRunner().invoke(cli, ["tools", "-o", "json"], prog_name="slicewright", catch_exceptions=False)
    assert (code, "") == (done.exit_code, done.stderr)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


@pytest.mark.usefixtures("no_wheels", "bare")
def test_what_is_missing_is_not_wrong() -> None:
    """Only some commands need it: exit 0. Each of these commands is named once, with what it lacks."""
    done = CliRunner().invoke(cli, ["tools"], prog_name="slicewright", catch_exceptions=False)
    missing = done.stdout.partition("\nMissing:\n")[2].splitlines()

    bed = "etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, jobset, kueue"
    assert 0 == done.exit_code
    assert ["rehearse, cluster", bed] == [part.strip() for part in missing[3].split("  ") if part]
    assert not any(name in line for line in missing for name in ASKED)
    assert "slicewright tools build builds the pinned programs that are missing." == missing[-1]


def test_cache_that_cannot_be_written_is_wrong(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands in its place."""
    bare.touch()
    monkeypatch.setenv("SLICEWRIGHT_CACHE", str(bare))

    assert (str(bare), False) == tuple(listed(1)["machine"]["cache"][key] for key in ("path", "writable"))
    assert "set SLICEWRIGHT_CACHE" in CliRunner().invoke(cli, ["tools"]).stdout


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [("max", "5", 7 << 20), ("3145728", "1048576", 2 << 20), (None, None, 7 << 20)],
)
def test_memory_of_a_container_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str | None, used: str | None, expected: int
) -> None:
    """A container may have less than its machine; too little is printed with what a rehearsal needs."""
    files = {
        "_MEMORY_FREE": "MemTotal: 9999 kB\nMemAvailable: 7168 kB\n",
        "_MEMORY_LIMIT": limit,
        "_MEMORY_USED": used,
    }
    for name, text in files.items():
        monkeypatch.setattr(f"slicewright.cli.tools.{name}", tmp_path / name)
        if text is not None:
            (tmp_path / name).write_text(text, encoding="ascii")

    assert expected == listed()["machine"]["memoryBytes"]
    said = CliRunner().invoke(cli, ["tools"]).stdout
    assert "A rehearsal needs 2.0 GiB of memory and 1.0 GiB of disk." in said


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("line", ["tools", "tools build kind", "cluster up", "cluster status"])
def test_command_that_needs_a_home_says_so(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """The user has neither HOME nor an entry in the user database, as in many containers: exit 3."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    text, record = (
        CliRunner().invoke(cli, [*line.split(), *more], catch_exceptions=False) for more in ([], ["-ojson"])
    )

    said = "TOOL009 the user has no home folder, and HOME does not name one"
    assert (3, said) == (text.exit_code, text.stderr.splitlines()[0])
    (problem,) = json.loads(record.stdout)["problems"]
    assert (3, "TOOL009") == (record.exit_code, problem["id"])


ASKED = ("kustomize-oldest", "kind", "tofu", "lws", "trainer", "kuberay", "argocd")


@pytest.mark.parametrize("named", [(), ("argocd",), ("kuberay", "lws")])
def test_what_is_asked_for_is_built_only_where_it_is_named(
    named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`slicewright tools build` builds all but controllers that few tests need; with names, these alone."""
    wanted: list[str] = []

    def note(tools: Sequence[Tool], *_: object, **__: object) -> tuple[Problem, ...]:
        wanted.extend(tool.name for tool in tools)
        return ()

    monkeypatch.setattr("slicewright.cli.tools.build_all", note)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    done = CliRunner().invoke(cli, ["tools", "build", *named])

    assert set(ASKED) == {tool.name for tool in pins.tools().values() if tool.asked}
    everything = [name for name in pins.tools() if name not in ASKED]
    assert (0, [*named] or everything) == (done.exit_code, wanted)


def test_form_of_the_list_is_the_form_of_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-o json` before `build` is that of `build`; a problem is one record, and exits 3."""
    problem = Problem("TOOL004", "no Go")
    monkeypatch.setattr("slicewright.cli.tools.build_all", lambda *_, **__: (problem,))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    done = CliRunner().invoke(cli, ["tools", "-o", "json", "build", "jobset"])

    assert (3, [problem.record()]) == (done.exit_code, json.loads(done.stdout)["problems"])
