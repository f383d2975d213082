"""docs/diff.md shows what the command prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.conftest import PROJECT, Repo
from tests.difference.kit import commit

if TYPE_CHECKING:
    from pathlib import Path


class Samples(Repo):
    """A repository as init makes it."""

    def __init__(self, root: Path) -> None:
        """Make it, render it and commit it."""
        self.root = root
        self.run("init")
        self.run("render")
        commit(self)

    def replace(self, path: str, old: str, new: str) -> None:
        """Edit a file."""
        text = self.read(path)
        assert old in text
        self.write(path, text.replace(old, new))


def test_session_of_the_page_is_what_the_command_prints(tmp_path: Path) -> None:
    """A workload of the samples with another image and one slice more, and a cluster with one slice more."""
    repo = Samples(tmp_path)
    repo.replace("workloads/hello.yaml", "python:3.12.11", "python:3.13.7")
    repo.replace("workloads/hello.yaml", "  queueName: team\n", "  slices: 2\n  queueName: team\n")
    repo.replace("clusters/sample.yaml", "slices: 2", "slices: 3")
    repo.run("render")
    page = (PROJECT / "docs/diff.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```console\n\$ slicewright diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert shown == repo.run("diff").out[: len(shown)]
