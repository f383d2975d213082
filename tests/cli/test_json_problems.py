"""`-o json` where something is wrong: every command says it in one form, on stdout."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.conftest import Repo

from slicewright.cli.main import cli

RECORD = {"id", "severity", "file", "line", "column", "object", "path", "message", "hint"}


def problems(*arguments: str, code: int) -> list[dict[str, Any]]:
    """Run a command that fails, and return the records; there is nothing beside them."""
    done = CliRunner().invoke(cli, arguments, prog_name="slicewright", catch_exceptions=False)
    assert (code, "") == (done.exit_code, done.stderr), done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["problems"]
    assert [RECORD] * len(found) == [set(record) for record in found]
    return found


def right(_repo: Repo) -> None:
    """Leave the repository as it is."""


def broken(repo: Repo) -> None:
    """Write a file that is no YAML."""
    repo.write("workloads/b.yaml", "a: [")


def wrong(repo: Repo) -> None:
    """Write a workload that cannot be planned."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")


def fixed(repo: Repo) -> None:
    """Write a workload without runs."""
    repo.workload("a", "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")


def newer(repo: Repo) -> None:
    """Ask for another version of the tool."""
    repo.write("slicewright.yaml", "requires: '>=99'\n")


def edited(repo: Repo) -> None:
    """Edit a frozen run by hand."""
    repo.run("render")
    (name,) = repo.runs()
    path = f"overlays/c1/default/a/{name}"
    repo.write(path, repo.read(path).replace("replicas: 1", "replicas: 2"))


NEW = ["new", "b", "--tpu", "v5litepod-8", "--image", "x"]
CASES: list[tuple[str, Callable[[Repo], None], list[str], int]] = [
    ("YAML001", broken, ["render"], 1),
    ("YAML001", broken, ["render", "--check"], 1),
    ("YAML001", broken, ["render", "--stdout"], 1),
    ("YAML001", broken, ["render", "b", "--stdout"], 1),
    ("YAML001", broken, ["explain", "b"], 1),
    ("YAML001", broken, ["outdated", "b"], 1),
    ("YAML001", broken, ["rerun", "a"], 1),
    ("YAML001", broken, ["validate"], 1),
    ("TPU005", wrong, ["render"], 1),
    ("TPU005", wrong, ["explain", "a"], 1),
    ("TPU005", right, ["catalog", "v5litepod-7"], 2),
    ("TPU005", right, ["new", "b", "--tpu", "v5litepod-7", "--image", "x"], 1),
    ("FILE007", right, ["new", "a", "--tpu", "v5litepod-8", "--image", "x"], 1),
    ("RUN001", edited, ["render"], 1),
    ("RUN001", edited, ["render", "--stdout"], 1),
    ("RUN001", edited, ["outdated"], 1),
    ("RUN002", fixed, ["rerun", "a"], 1),
    ("FILE001", right, ["validate", "nothing.yaml"], 1),
    ("FILE001", right, ["schema", "nothing.yaml"], 1),
    ("SCHEMA011", right, ["schema", "clusters/c1.yaml"], 1),
    ("USE003", newer, ["render"], 2),
    ("USE003", newer, ["explain", "a"], 2),
    ("USE003", newer, ["validate"], 2),
    ("USE004", right, ["render", "b"], 2),
    ("USE004", right, ["render", "a", "--stdout", "--cluster", "c2"], 2),
    ("USE004", right, ["explain", "b"], 2),
    ("USE004", right, ["outdated", "b"], 2),
    ("USE004", right, ["rerun", "b"], 2),
    ("USE004", right, ["rule", "TPU999"], 2),
    ("USE001", right, ["render", "--chekc"], 2),
    ("USE001", right, ["render", "--check", "--stdout"], 2),
    ("USE001", right, ["explain"], 2),
    ("USE001", right, ["rerun"], 2),
    ("USE001", right, ["schema"], 2),
    ("USE001", right, ["catalog", "--tier", "none"], 2),
    ("USE001", right, ["validate", "--engine", "none"], 2),
    ("USE001", right, [*NEW, "--slices", "0"], 2),
    ("USE001", right, ["rendr"], 2),
    ("USE001", right, ["render", "-C", "nowhere"], 2),
    ("USE001", right, ["cluster", "up", "--nonsense"], 2),
]


@pytest.mark.parametrize(
    ("ident", "prepare", "command", "code"), CASES, ids=[f"{case[0]}-{' '.join(case[2])}" for case in CASES]
)
def test_problems_are_one_record_in_every_command(
    repo: Repo, ident: str, prepare: Callable[[Repo], None], command: list[str], code: int
) -> None:
    """One JSON value on stdout whose `problems` are complete; stderr is empty, the exit code the usual."""
    prepare(repo)

    assert {ident} == {
        found["id"] for found in problems("-C", str(repo.root), *command, "-o", "json", code=code)
    }


@pytest.mark.parametrize("command", ["render", "explain a", "outdated", "rerun a", "validate", " ".join(NEW)])
def test_no_repository_is_a_record_too(tmp_path: Path, command: str) -> None:
    """Outside of a repository the exit code is 2, and the hint says what to do."""
    (found,) = problems("-C", str(tmp_path), *command.split(), "--output=json", code=2)

    hint = "go to the repository, name it with -C, or create one with slicewright init"
    if command == "validate":
        hint = f"to check the manifests here: slicewright validate .; else {hint}"
    assert ("USE002", hint) == (found["id"], found["hint"])


def test_unknown_name_has_its_nearest_in_the_hint(repo: Repo) -> None:
    """Message and hint are apart, as in every record."""
    (found,) = problems("-C", str(repo.root), "explain", "aa", "-ojson", code=2)

    assert (found["message"], found["hint"]) == ("there is no workload 'aa'", "did you mean 'a'?")


def test_json_of_the_containers_command_is_not_ours(repo: Repo) -> None:
    """What stands behind `--` is the container's: the error is text."""
    done = repo.run("new", "b", "--tpu", "v5litepod-8", "--", "python", "-o", "json", code=2)

    assert (done.out, "Missing option '--image'" in done.err) == ("", True)


def test_files_that_are_written_are_listed(repo: Repo) -> None:
    """`schema --output-dir -o json` says which; a folder that cannot be written is a problem."""
    crd = """
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: things.example.test}
        spec:
          group: example.test
          names: {kind: Thing, plural: things}
          scope: Namespaced
          versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
    """
    repo.write("crd.yaml", crd)
    repo.write("file", "")

    done = repo.run("schema", "crd.yaml", "--output-dir", "made", "-o", "json")

    assert done.json == {"problems": [], "written": ["made/example.test/thing_v1.json"]}
    (refused,) = problems(
        *("-C", str(repo.root), "schema", "crd.yaml", "--output-dir", "file/x", "-o", "json"), code=1
    )
    assert (refused["id"], refused["file"]) == ("FILE003", "file/x/example.test/thing_v1.json")


def test_missing_tool_is_in_the_report(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3; in the other machine-readable forms as well."""
    monkeypatch.setenv("SLICEWRIGHT_KUBECONFORM", "/nowhere")
    command = ("-C", str(repo.root), "validate", "--engine", "kubeconform", "-o")

    (found,) = problems(*command, "json", code=3)
    sarif = CliRunner().invoke(cli, [*command, "sarif"])

    assert found["id"] == "TOOL002"
    assert (sarif.exit_code, json.loads(sarif.stdout)["runs"][0]["results"][0]["ruleId"]) == (3, "TOOL002")
