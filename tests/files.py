"""Files of this repository, and of trees that tests write."""

import os
import shutil
import subprocess
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find

PROJECT = Path(__file__).resolve().parents[1]


@cache
def read_text(path: str) -> str | None:
    """Return a file of this repository; None where there is none."""
    file = PROJECT / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write the files of a tree, by path."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="")


def cluster_text(spec: str, *, name: str = "c1", first: str = "") -> str:
    """Return a TPUCluster whose spec begins with some lines, on line 5."""
    head = f"apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {{name: {name}}}\nspec:\n"
    fields = textwrap.dedent(first).strip("\n") + "\n" + textwrap.dedent(spec).strip("\n")
    return head + textwrap.indent(fields.lstrip("\n"), "  ") + "\n"


def git(root: Path, *arguments: str) -> str:
    """Run git in a folder as somebody, and return what it prints."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "init.defaultBranch=main"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *identity, *arguments]
    done = subprocess.run(
        command, cwd=root, env=environ, check=False, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_project(target: Path) -> None:
    """Copy what is under version control, as it is in the working tree."""
    for name in git(PROJECT, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0"):
        if name and (PROJECT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target / name)


@cache
def program(name: str) -> Path:
    """Return a pinned program that `make tools` has built."""
    path = find(name)
    assert not isinstance(path, Problem), path.text()
    return path
