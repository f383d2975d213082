"""docs/reference/diff.md shows what the command prints."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.conftest import PROJECT, Repo
from tests.diff.kit import commit

pytestmark = pytest.mark.slow


class Samples(Repo):
    """A repository as init makes it."""

    def __init__(self, root: Path) -> None:
        """Make it, render it and commit it."""
        self.root = root
        self.run("init")
        self.run("render")
        commit(self)


def test_session_of_the_page_is_what_the_command_prints(tmp_path: Path) -> None:
    """After the edit that the page shows: another image, and one slice more of workload and pool."""
    repo = Samples(tmp_path)
    page = (PROJECT / "docs/reference/diff.md").read_text(encoding="utf-8")
    (edit,) = re.findall(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=edit, check=True, text=True)
    repo.run("render")
    (shown,) = re.findall(r"^```console\n\$ slicewright diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert shown == repo.run("diff").out[: len(shown)]
