"""Many files: a bar on a terminal that waits, and standard input beside them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write


def test_progress_is_shown_on_a_terminal_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar appears on stderr when it takes more than a second, and only on a terminal."""
    write(tmp_path, {f"{number}.yaml": CONFIG_MAP for number in range(3)})
    module = sys.modules["slicewright.cli.validate"]
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_PATIENCE", -1)
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_is_terminal", lambda: True)
    assert "checking" in run(tmp_path, ".").err


@pytest.mark.slow
def test_stdin_is_read_beside_many_files(tmp_path: Path) -> None:
    """What is piped in is read beside the files of a folder."""
    write(tmp_path, {f"{number}.yaml": CONFIG_MAP for number in range(3)})
    done = subprocess.run(
        [sys.executable, "-m", "slicewright", "validate", "-", ".", "-o", "json", "--schemas-only"],
        cwd=tmp_path,
        input=BAD_CONFIG_MAP,
        capture_output=True,
        text=True,
        check=False,
    )

    assert [problem["file"] for problem in json.loads(done.stdout)["problems"]] == ["stdin"]
