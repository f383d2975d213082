"""`python -m bench.fresh DIST [SECONDS]`: how long the first rehearsal takes on a new machine. Prints JSON.

DIST has the wheels of `make wheels`. Other packages come from the package registry, before the clock starts.
Then a user with an empty home, without a registry and with nothing but Python on PATH installs slicewright,
makes a repository and rehearses it. With SECONDS it fails if that takes longer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slicewright.version import __version__

AIM_SECONDS = 120
"""What it may take on two processors that do nothing else."""


def main(dist: str, seconds: str = "inf") -> None:
    """Measure, print, and fail if a command fails or all of them take too long."""
    with tempfile.TemporaryDirectory() as scratch:
        index, user = Path(scratch, "index"), Path(scratch, "user")
        user.mkdir()
        wanted = f"slicewright[testbed]=={__version__}"
        _run(
            sys.executable, "-m", "pip", "download", "--quiet", "--find-links", dist, "--dest", index, wanted
        )
        environ = {
            "HOME": str(user),
            "PATH": str(user / "venv" / "bin"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(index),
        }
        environ |= {name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ}
        _run(sys.executable, "-m", "venv", "venv", cwd=user, environ=environ)
        commands = {
            "install": ("venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", wanted),
            "init": ("venv/bin/slicewright", "init", "training"),
            "render": ("venv/bin/slicewright", "render", "-C", "training"),
            "rehearse": ("venv/bin/slicewright", "rehearse", "-C", "training"),
        }
        took = {name: _run(*command, cwd=user, environ=environ) for name, command in commands.items()}
        used = sorted(path.name for path in user.glob(".cache/slicewright/*"))
    total = round(sum(took.values()), 1)
    measured = {"seconds": total, "aimSeconds": AIM_SECONDS, "steps": took, "cache": used}
    print(json.dumps(measured, indent=2))  # noqa: T201 - the result
    if total > float(seconds):
        sys.exit(f"the first rehearsal took {total:.0f} s, more than {seconds} s")


def _run(*command: str | Path, cwd: Path | None = None, environ: dict[str, str] | None = None) -> float:
    """Run a command, whose output goes to stderr, and return its seconds. Leave where it fails."""
    started = time.monotonic()
    code = subprocess.run(command, cwd=cwd, env=environ, stdout=sys.stderr, check=False).returncode
    if code:
        sys.exit(f"{' '.join(map(str, command))} exited {code}")
    return round(time.monotonic() - started, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
