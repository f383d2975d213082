"""Programs that only say a version, a pinned tool that no registry knows, and an environment for them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slicewright.programs.pins import Tool

Script = Callable[[str, str], Path]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Return a function that writes an executable shell script below tmp_path."""

    def write(name: str, body: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def tool() -> Tool:
    """Return a tool that says its version when asked."""
    return Tool(
        name="tiny-tool",
        version="v1.2.3",
        module="example.test/tiny",
        folder="tiny",
        file_name="tiny",
        ask=("--version",),
        seconds=10,
        stamps=(("main.version", "v1.2.3"),),
    )


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a cache of its own and no orders about programs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEWRIGHT_")}
    return {**kept, "SLICEWRIGHT_CACHE": str(tmp_path / "cache")}
