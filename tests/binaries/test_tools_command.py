"""`slicewright tools`: the list of programs, and which of them `tools build` builds."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from slicewright.binaries import pins
from slicewright.binaries.find import cached
from slicewright.cli.main import cli
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.binaries.pins import Tool

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

    listed = CliRunner().invoke(cli, ["tools"])
    records = {
        one["name"]: one
        for one in json.loads(CliRunner().invoke(cli, ["tools", "-o", "json"]).stdout)["tools"]
    }
    lines = {line.split()[0]: line.split(maxsplit=3)[2:] for line in listed.stdout.splitlines()}

    version = pins.tools()["kind"].version
    wrong = f"SLICEWRIGHT_KIND names {own}, which is v0.0.1; kind {version} is needed"
    expected = {
        "kind": ("variable", "", wrong),
        "kwok": ("variable", str(right), ""),
        "tofu": ("cache", str(kept), ""),
        "etcd": ("missing", "", f"{old} is v3.0.0"),
        "jobset": ("missing", "", ""),
    }
    assert expected == {
        name: (records[name]["origin"], records[name]["path"], records[name]["message"]) for name in expected
    }
    assert ["variable", wrong] == lines["kind"]
    assert ["missing", "-"] == lines["jobset"]
    assert (0, "slicewright tools build builds those that are missing\n") == (listed.exit_code, listed.stderr)


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
