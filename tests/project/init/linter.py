"""actionlint, built from its Go module as tests/project/init/actionlint pins it.

Its Python package cannot be pinned: at its installation it fetches the program from elsewhere.
"""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.programs import find
from slicewright.programs.find import cache_root

SOURCE = Path(__file__).with_name("actionlint")
_PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint"


@cache
def actionlint() -> Path:
    """Return the program, built the first time."""
    digest = hashlib.sha256((SOURCE / "go.sum").read_bytes()).hexdigest()[:16]
    folder = cache_root(os.environ) / "tests" / f"actionlint-{digest}"
    program = folder / "actionlint"
    if program.is_file():
        return program
    go = find.find_go(find.needed_go([SOURCE]), os.environ, Path(sys.executable))
    assert not isinstance(go, Problem), go.text()
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"actionlint.{os.getpid()}"
    command: list[str | Path] = [
        go,
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-o",
        part,
        _PACKAGE,
    ]
    environ = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    done = subprocess.run(command, cwd=SOURCE, env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    part.replace(program)
    return program
