"""Run git: arguments are a list, nothing in the repository is changed, and no object is fetched."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from slicewright.binaries.find import which
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 120
"""Seconds for one answer of git."""


class GitError(Exception):
    """Git is missing, or gave no answer; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class NoGitRepositoryError(Exception):
    """The folder belongs to no git repository."""


_OF_A_HOOK = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
"""What git sets for its hooks: relative to another folder, and perhaps of another repository."""


def environment() -> dict[str, str]:
    """Return the environment of git: it takes no lock, asks nobody, and speaks English."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    return {**{name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}, **quiet}


def program() -> str:
    """Return the git on PATH. Raises GitError."""
    found = which("git")
    if found is None:
        hint = "install git, or put it on PATH"
        raise GitError(Problem("GIT001", "git is missing", hint))
    return found


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder and return what it did, right or wrong. Raises GitError."""
    command = [program(), *arguments]
    try:
        return subprocess.run(
            command,
            cwd=root,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(broken(arguments[0], str(error))) from error


def answer(root: Path, *arguments: str) -> bytes:
    """Return what git prints. Raises GitError where it fails."""
    done = run(root, *arguments)
    if done.returncode:
        raise GitError(broken(arguments[0], done.stderr.decode(errors="replace")))
    return done.stdout


def broken(command: str, said: str) -> Problem:
    """Return the problem of a git that gave no answer."""
    lines = [line for line in said.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("fatal: ")]
    why = (fatal or lines[-1:] or ["it said nothing"])[0]
    hint = "see what git fsck says; in a shallow or partial clone, fetch what is missing"
    if "dubious ownership" in why:
        hint = "another user owns the folder: git config --global --add safe.directory DIR, for its folder"
    return Problem("GIT002", f"git {command} failed: {why.removeprefix('fatal: ')}", hint)
