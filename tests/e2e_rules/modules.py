"""Go modules that the tools are built from, where they lie on this machine."""

import json
import subprocess
from functools import cache
from pathlib import Path

from slicewright.programs.find import find_go
from slicewright.programs.pins import tools

ROOT = Path(__file__).resolve().parents[2]


def go() -> Path:
    """Return the Go command that builds the tools."""
    found = find_go((1, 26))
    assert isinstance(found, Path), found
    return found


@cache
def folder(tool: str, module: str) -> Path:
    """Return the folder of a module in the version that a tool is pinned to; Go fetches it if need be."""
    done = subprocess.run(
        [go(), "mod", "download", "-json", module],
        cwd=ROOT / "tools" / tools()[tool].folder,
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert "Error" not in answer, answer
    return Path(answer["Dir"])
