"""`make tools` of the checkout leaves nothing of a rehearsal missing."""

import subprocess
from pathlib import Path

from tests.conftest import PROJECT


def test_make_tools_installs_what_a_rehearsal_imports(tmp_path: Path) -> None:
    """BED008 names it as the way to get `cryptography`, with Go on PATH or without."""
    command = ("make", "--dry-run", "--always-make", f"VENV={tmp_path / 'none'}", "tools")
    said = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout

    assert "slicewright tools build" in said
    assert "-r requirements/dev.txt" in said
