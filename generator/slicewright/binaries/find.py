"""Find a pinned program: named by its environment variable, in the cache, or on PATH, in this order."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.binaries import buildinfo, places
from slicewright.binaries.path import executable, on_path
from slicewright.binaries.pins import Tool, tools
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+\.\d+(?:[-+][\w.+-]+)?)")
"""The first version in what a program prints; `go1.26.8` is none."""

_ANSWER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Found:
    """A program of the pinned version, and which of the three ways led to it."""

    path: Path
    origin: str


def find(name: str, environ: Mapping[str, str] = os.environ) -> Path | Problem:
    """Return the path of a pinned program, or what is missing and what to do about it."""
    found = locate(tools()[name], environ)
    return found if isinstance(found, Problem) else found.path


def locate(tool: Tool, environ: Mapping[str, str] = os.environ) -> Found | Problem:
    """Return a program of exactly the pinned version.

    A variable is an order: what it names must fit, nothing else is tried. The cache is trusted, because only
    `make tools` writes there and it asks each new program. Copies on PATH of other versions are passed over.
    """
    if environ.get(tool.variable):
        return _named(tool, Path(environ[tool.variable]))
    kept = places.cached(tool, environ)
    if executable(kept):
        return Found(kept, "in the cache")
    others: list[str] = []
    for path in _on_path(tool, environ):
        version = version_of(tool, path)
        if version == tool.version:
            return Found(path, "on PATH")
        others.append(f"{path} is {version}" if version else f"{path} does not say its version")
    return Problem(
        id="TOOL001",
        message="; ".join((f"{tool.title} is missing", *others)),
        hint=f"{_get(tool)}, or set {tool.variable} to the path of {tool.title}",
    )


def version_of(tool: Tool, binary: Path) -> str:
    """Return the version of a program, always with the `v`; empty where it does not tell."""
    if not tool.ask:
        return buildinfo.module_version(binary, tool.module)
    try:
        answer = subprocess.run(
            [binary, *tool.ask],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_ANSWER_SECONDS,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(answer.stdout + answer.stderr)
    return f"v{match[1]}" if match and answer.returncode == 0 else ""


def _named(tool: Tool, path: Path) -> Found | Problem:
    instead = f"set it to the path of {tool.title}, or unset it"
    if not executable(path):
        return Problem(
            id="TOOL002",
            message=f"{tool.variable} names {path}, which is not an executable file",
            hint=instead,
        )
    version = version_of(tool, path)
    if version != tool.version:
        has = f"is {version}" if version else "does not say its version"
        return Problem(
            id="TOOL003",
            message=f"{tool.variable} names {path}, which {has}; {tool.title} is needed",
            hint=instead,
        )
    return Found(path.absolute(), f"named by {tool.variable}")


def _on_path(tool: Tool, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield every candidate on PATH, each file once: the right version may stand behind another one."""
    seen: set[Path] = set()
    for path in on_path(tool.path_names, environ):
        if path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def _get(tool: Tool) -> str:
    if places.tools_folder() is None:
        return f"put {tool.title} on PATH"
    return f"run 'python -m slicewright.binaries --only {tool.name}'" if tool.asked else "run 'make tools'"
