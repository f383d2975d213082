"""The real kustomize, for kustomizations that we do not evaluate ourselves. It gets no network."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any

from slicewright.binaries.find import find
from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 60
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that refuses: whatever a build would still fetch fails at once."""


@cache
def binary() -> Path | Problem:
    """Return the pinned kustomize, or what is missing; it is looked for once."""
    return find("kustomize")


def build(folder: str, name: str) -> tuple[list[Any], tuple[Problem, ...]]:
    """Return what a kustomization builds to, or the problem that stands against it."""
    program = binary()
    if isinstance(program, Problem):
        message = f"the kustomization uses what only kustomize evaluates, and {program.message}"
        return [], (Problem("TOOL001", message, program.hint, file=name),)
    try:
        done = subprocess.run(
            [program, "build", folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env=_offline(),
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return [], (_refused(name, f"kustomize did not finish in {_SECONDS} seconds"),)
    except OSError as error:
        return [], (_refused(name, f"kustomize cannot be started: {error.strerror}"),)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        return [], (_refused(name, f"kustomize: {said[-1].removeprefix('Error: ')[:500]}"),)
    return _documents(done.stdout, name)


def _documents(text: str, name: str) -> tuple[list[Any], tuple[Problem, ...]]:
    """Read the objects one by one: together they may be more than one file may hold."""
    found: list[Any] = []
    problems: list[Problem] = []
    for part in text.split("\n---\n"):
        documents, wrong = read_documents(part, name)
        found += [document.data for document in documents]
        # Lines of what kustomize prints are of no use to anybody.
        problems += [Problem(problem.id, problem.message, problem.hint, file=name) for problem in wrong]
    return found, tuple(problems)


def _refused(name: str, message: str) -> Problem:
    return Problem("KUS011", message, "run kustomize build on the folder", file=name)


def _offline() -> dict[str, str]:
    """Return an environment in which neither kustomize nor the git that it calls reaches anything."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), _NOWHERE)
    kept = {key: value for key, value in os.environ.items() if key.upper() not in {"NO_PROXY", "PATH"}}
    return {**kept, **proxies, "PATH": "", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
