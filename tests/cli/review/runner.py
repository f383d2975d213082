"""A small runner of GitHub Actions: the steps of a composite action, with the files and variables of a job.

It knows the expressions that our action uses, and fails at any other.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_NAME = re.compile(r"(?:inputs|github|steps)(?:\.[\w-]+)+")
_PYTHON = {"&&": " and ", "!cancelled()": "True", "||": " or "}
_BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]


@dataclass
class Job:
    """A job, its checkout in `workspace`, and what its steps left."""

    root: Path
    workspace: Path
    environ: dict[str, str]
    outcomes: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, list[str]] = field(default_factory=dict)
    log: str = ""

    def __post_init__(self) -> None:
        """Make the files and the folder that a runner makes for each job."""
        self.temp = self.root / "temp"
        self.temp.mkdir()
        self.summary = self.root / "summary"
        self.output = self.root / "output"
        for path in (self.summary, self.output):
            path.touch()

    @property
    def is_green(self) -> bool:
        """Whether no step failed."""
        return "failure" not in self.outcomes.values()

    def uses(self, action: Path, inputs: Mapping[str, str], skip: str = "") -> None:
        """Run the steps of an action, but for one that the test has done before."""
        definition = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
        known = {f"inputs.{name}": str(about["default"]) for name, about in definition["inputs"].items()}
        assert known.keys() >= {f"inputs.{name}" for name in inputs}
        known |= {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"github.action_path": str(action), "github.token": self.environ.pop("TOKEN", "")}
        for step in definition["runs"]["steps"]:
            if step["name"] != skip:
                self._step(step, known)

    def _step(self, step: Mapping[str, Any], known: dict[str, str]) -> None:
        wanted = step.get("if")
        if not (self.is_green if wanted is None else _value(wanted, known)):
            self.outcomes[step["name"]] = "skipped"
            return
        if "uses" in step:
            self._upload({name: str(_value(text, known)) for name, text in step["with"].items()})
            self.outcomes[step["name"]] = "success"
            return
        assert step["shell"] == "bash"
        self.output.write_text("", encoding="utf-8")
        variables = {name: str(_value(text, known)) for name, text in step.get("env", {}).items()}
        files = {"GITHUB_OUTPUT": self.output, "GITHUB_STEP_SUMMARY": self.summary, "RUNNER_TEMP": self.temp}
        done = subprocess.run(
            [*_BASH, step["run"]],
            cwd=self.workspace,
            env={**self.environ, **{name: str(path) for name, path in files.items()}, **variables},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += done.stdout
        self.outcomes[step["name"]] = "failure" if done.returncode else "success"
        for line in self.output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.outputs[name] = known[f"steps.{step['id']}.outputs.{name}"] = value

    def _upload(self, options: dict[str, str]) -> None:
        kept = shutil.copytree(options["path"], self.root / "artifacts" / options["name"], dirs_exist_ok=True)
        self.artifacts[options["name"]] = sorted(path.name for path in kept.iterdir())


def _value(text: object, known: Mapping[str, str]) -> object:
    """Return the value of a text with an expression; an unset output is empty, an unknown name an error."""
    if not isinstance(text, str) or "${{" not in text:
        return text
    found = _EXPRESSION.fullmatch(text)
    assert found, text
    code = _NAME.sub(lambda name: repr(_known(name[0], known)), found[1])
    for expression, python in _PYTHON.items():
        code = code.replace(expression, python)
    return eval(code, {"__builtins__": {}})  # noqa: S307 - of our own action.yml


def _known(name: str, known: Mapping[str, str]) -> str:
    return known.get(name, "") if name.startswith("steps.") else known[name]


def job(root: Path, workspace: Path, variables: Mapping[str, str]) -> Job:
    """Return a job on a checkout, with the variables of a runner and no others of this machine."""
    usual = {name: os.environ[name] for name in ("PATH", "HOME", "SLICEWRIGHT_CACHE") if name in os.environ}
    return Job(root, workspace, {**usual, "GITHUB_ACTIONS": "true", **variables})
