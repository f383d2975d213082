"""With --helm charts are rendered by the helm on PATH, and what they make is checked by its template."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write

from slicewright.check.io import kustomizations as kustomize
from slicewright.check.io import load

_RENDERED = f"""\
---
# Source: train/templates/a.yaml
{BAD_CONFIG_MAP}---
# Source: train/charts/sub/templates/b.yaml
{CONFIG_MAP}---
# Source: train/templates/empty.yaml
"""
_CHART = {
    "charts/train/Chart.yaml": "apiVersion: v2\nname: train\n",
    "charts/train/templates/a.yaml": "{{- a }}",
}


def _fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a helm that runs a script on PATH, and nothing else."""
    write(folder, {"bin/helm": f"#!/bin/sh\n{script}\n"})
    (folder / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"))


def test_chart_is_checked_as_it_renders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem is of the template, also in the forms that name a file for a place."""
    _fake(tmp_path, f"while read -r line; do echo \"$line\"; done <<'END'\n{_RENDERED}END", monkeypatch)
    write(tmp_path / "here", _CHART)
    done = run(tmp_path / "here", ".", "--helm", "-o", "json", "--schemas-only").json
    (problem,) = done["problems"]

    assert ("SCHEMA003", "charts/train/templates/a.yaml", "ConfigMap a") == (
        problem["id"],
        problem["file"],
        problem["object"],
    )
    assert (2, []) == (done["summary"]["objects"], done["summary"]["passedBy"])
    github = run(tmp_path / "here", ".", "--helm", "-o", "github", "--schemas-only").out
    assert github.startswith("::error file=charts/train/templates/a.yaml,title=SCHEMA003")


def test_nothing_is_run_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helm on PATH is not called without --helm, nor for a library of templates."""
    _fake(tmp_path, f"echo called > {tmp_path}/called", monkeypatch)
    write(tmp_path / "here", {**_CHART, "a.yaml": CONFIG_MAP})
    run(tmp_path / "here", ".")
    write(tmp_path / "here", {"charts/train/Chart.yaml": "apiVersion: v2\nname: train\ntype: library\n"})
    passed = run(tmp_path / "here", ".", "--helm", "-o", "json").json["summary"]["passedBy"]

    assert not (tmp_path / "called").exists()
    assert [("charts/train", "Helm chart")] == [(one["path"], one["reason"]) for one in passed]


def test_helm_knows_nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called without a shell, without settings, plugins, a cluster or the network."""
    monkeypatch.setenv("HELM_PLUGINS", "/plugins")
    monkeypatch.setenv("KUBECONFIG", "/kubeconfig")
    _fake(tmp_path, f'/usr/bin/env > {tmp_path}/environ; echo "$*" > {tmp_path}/called', monkeypatch)
    load.template("/charts/a b", "a b")
    environ = dict(line.partition("=")[::2] for line in (tmp_path / "environ").read_text().splitlines())

    assert "template release /charts/a b --include-crds\n" == (tmp_path / "called").read_text()
    assert "HELM_PLUGINS" not in environ
    assert environ["KUBECONFIG"] == f"{environ['HELM_CONFIG_HOME']}/none"
    assert environ["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert not Path(environ["HOME"]).exists()


@pytest.mark.parametrize(
    ("script", "message", "hint"),
    [
        ("echo 'Error: a: b' >&2; exit 1", "helm: a: b", "run helm template on the chart"),
        ("exit 1", "helm: it says nothing", "run helm template on the chart"),
        (
            "echo 'Error: found in Chart.yaml, but missing in charts/ directory: a' >&2; exit 1",
            "helm: found in Chart.yaml, but missing in charts/ directory: a",
            "get its dependencies first: helm dependency build",
        ),
    ],
)
def test_chart_that_does_not_render_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str, hint: str
) -> None:
    """The last line of helm says why."""
    _fake(tmp_path, script, monkeypatch)
    objects, (problem,) = load.template("/a", "a")

    assert ([], "FILE032", message, hint) == (objects, problem.id, problem.message, problem.hint)


def test_helm_that_does_not_end_or_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit of time, and a file that is no program is named."""
    _fake(tmp_path, "", monkeypatch)
    said = []
    for error in (subprocess.TimeoutExpired("helm", 60), OSError(8, "Exec format error")):

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(kustomize, "run", fail)
        said.append(load.template("/a", "a")[1][0].message)

    assert ["helm did not finish in 60 seconds", "helm cannot be started: Exec format error"] == said


def test_template_that_is_not_yaml_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of what is rendered is no line of the template."""
    _fake(tmp_path, "printf -- '---\\n# Source: a/templates/b.yaml\\na: [\\n'", monkeypatch)
    _, (problem,) = load.template("/a", "charts/a")

    assert ("YAML001", "charts/a/templates/b.yaml", 0) == (problem.id, problem.file, problem.line)


def test_missing_helm_ends_with_the_code_of_missing_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a chart would make is not checked, so the check is broken."""
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path, _CHART)
    done = run(tmp_path, ".", "--helm", "-o", "json")

    assert (3, ["TOOL001"]) == (done.code, [one["id"] for one in json.loads(done.out)["problems"]])


@pytest.mark.parametrize("head", ["", "# Source: c/../../../out/victim.yaml\n"], ids=["none", "up"])
def test_objects_of_no_template_are_the_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    """A chart names no file outside of it, and hides no object before the first template."""
    _fake(
        tmp_path,
        f"while read -r line; do echo \"$line\"; done <<'END'\n{head}{BAD_CONFIG_MAP}END",
        monkeypatch,
    )
    write(tmp_path / "here", _CHART)
    (problem,) = run(tmp_path / "here", ".", "--helm", "-o", "json", "--schemas-only").json["problems"]

    assert ("SCHEMA003", "charts/train") == (problem["id"], problem["file"])
