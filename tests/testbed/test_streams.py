"""A cluster that is started by a process without stderr."""

import subprocess
import sys
from pathlib import Path

from .kit import assert_nothing_left

HOLD = """
import os, pathlib, sys
from slicewright.cli import streams
from slicewright.testbed.process_group import ProcessGroup
streams.guard()
group = ProcessGroup(pathlib.Path(sys.argv[1]), "lab", 2)
print(len(group.ports))
group.close()
"""


def test_keeper_needs_no_stderr_of_its_holder(tmp_path: Path) -> None:
    """With `2>&-`, as some cron jobs have it, there is nothing that it could inherit."""
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" "$2" 2>&-', sys.executable, HOLD, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )

    assert (0, "2\n") == (done.returncode, done.stdout)
    assert_nothing_left(tmp_path, [])
