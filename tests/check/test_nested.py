"""The configuration of a controller inside a ConfigMap is checked as the controller reads it."""

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.check.kit import engine, run, write

from slicewright.check.engine import Engine, SkipKind
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.kubernetes.problem import Problem
from slicewright.objects import Resource
from slicewright.programs.find import find

KEY = "controller_manager_config.yaml"
KUEUE = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
JOBSET = "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n"
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "current-context": "a",
    "users": [{"name": "a", "user": {}}],
}


def config_map(text: Any, *, name: str = "kueue-manager-config", key: str = KEY) -> dict[str, Any]:
    """Return a ConfigMap that holds a text."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}


def said(data: dict[str, Any], checks: Engine | None = None) -> list[tuple[str, str, str]]:
    """Return (id, message, hint) of what is said of an object; every path is that of the text."""
    asked, item = checks or engine(), Resource(data, "file.yaml")
    found = [one for one in asked.object_problems(item, asked.verdict(item)) if one.path[-1:] == (KEY,)]
    assert {one.path for one in found} <= {("data", KEY)}
    return [(one.id, one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            f"{KUEUE}waitForPodReady: {{timeout: 1h}}\n",
            "line 3, waitForPodReady: unknown key 'waitForPodReady'",
            "did you mean 'waitForPodsReady'?",
        ),
        (
            f"{KUEUE}health: {{healthProbeBindAddress: 8081}}\n",
            "line 3, health.healthProbeBindAddress: 'healthProbeBindAddress' must be a string, not an ",
            "write it in quotes",
        ),
        (f"{KUEUE}a: [\n", "line 4: not valid YAML: ", ""),
        ("kind: Configuration\n", "line 1, apiVersion: 'apiVersion' is missing", "every Kubernetes object "),
        (
            KUEUE.replace("v1beta2", "v1beta3"),
            "line 2, kind: no schema for config.kueue.x-k8s.io/v1beta3 Configuration",
            "known versions: v1beta2; or ",
        ),
    ],
)
def test_what_the_controller_would_refuse(text: str, message: str, hint: str) -> None:
    """Key, place in the text, message and hint are those that the Configuration alone would have."""
    ((_, found, its_hint),) = said(config_map(text))

    head = f"{KEY} {message}"
    assert (head, hint) == (found[: len(head)], its_hint[: len(hint)])


@pytest.mark.parametrize(
    "data",
    [
        config_map(KUEUE),
        config_map(f"{KUEUE}a: 1\n", name="kueue-settings"),
        config_map(f"{KUEUE}a: 1\n", key="other.yaml"),
        config_map(KUEUE.replace("v1beta2", "v1beta1") + "queueVisibility: {}\n"),
        config_map(JOBSET, name="jobset-manager-config"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}},
        {**config_map(f"{KUEUE}a: 1\n"), "kind": "Secret"},
    ],
)
def test_what_is_right_or_another_text_is_let_be(data: dict[str, Any]) -> None:
    """A ConfigMap of another name, another key and a version without a schema are nobody's business."""
    assert said(data) == []


@pytest.mark.parametrize("kind", ["ConfigMap", "Configuration"])
def test_skipped_kinds_are_not_opened(kind: str) -> None:
    """Whoever lets ConfigMaps pass, or Configurations, is not told of what is in them."""
    skipping = Engine(kind_schemas(), skip=[SkipKind(kind)])

    assert said(config_map(f"{KUEUE}a: 1\n"), skipping) == []


def test_place_is_that_of_the_text(tmp_path: Path) -> None:
    """`validate` points into the ConfigMap of a file, and into a JobSet's likewise."""
    text = textwrap.indent(f"{JOBSET}leaderElections: {{}}\n", "    ")
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: jobset-manager-config}\ndata:\n"
    write(tmp_path, {"a.yaml": f"{head}  {KEY}: |\n{text}"})

    done = run(tmp_path, "a.yaml", "-o", "json")

    (problem,) = done.json["problems"]
    assert ("SCHEMA004", 5, 35) == (problem["id"], problem["line"], problem["column"])
    assert "did you mean 'leaderElection'?" == problem["hint"]


@pytest.mark.tools
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("kueue", f"{KUEUE}waitForPodReady: {{timeout: 1h}}\n"),
        ("kueue", f"{KUEUE}waitForPodsReady: {{timeout: 1h}}\n"),
        ("kueue", f"{KUEUE}waitForPodsReady: {{requeuingStrategy: {{backoffBaseSeconds: soon}}}}\n"),
        ("kueue", f"{KUEUE}integrations: {{frameworks: pod}}\n"),
        ("kueue", f"{KUEUE}resources: {{quotaCheckStrategy: IgnoreUndeclared}}\n"),
        ("jobset", f"{JOBSET}leaderElections: {{leaderElect: true}}\n"),
        ("jobset", f"{JOBSET}leaderElection: {{leaderElect: true}}\n"),
        ("jobset", f"{JOBSET}clientConnection: {{qps: fast}}\n"),
    ],
)
def test_verdict_is_that_of_the_controller(tmp_path: Path, tool: str, text: str) -> None:
    """The real managers of Kueue and JobSet load what passes, and refuse to start with what does not."""
    program = find(tool)
    assert not isinstance(program, Problem)
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    # Kueue loads its configuration before it looks for a cluster, JobSet after.
    kubeconfig = {} if tool == "kueue" else KUBECONFIG
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
    done = subprocess.run(
        [str(program), "--config=config.yaml"],
        cwd=tmp_path,
        env={"KUBECONFIG": str(tmp_path / "kubeconfig")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    refused = bool(said(config_map(text, name=f"{tool}-manager-config")))

    assert refused == ("Unable to load the configuration" in done.stderr)
    assert refused != ("onfiguration loaded" in done.stderr or "loaded configuration" in done.stderr)
