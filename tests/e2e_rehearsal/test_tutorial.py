"""The tutorial is played, command by command, from nothing to runs that are changed and ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.docs.transcript import DOCS, Shell

from slicewright.binaries.find import find

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.ci  # a reader's machine, with clusters of its own


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Return the shell of a reader who has installed slicewright and kubectl."""
    kubectl = find("kubectl")
    assert isinstance(kubectl, Path)
    shell = Shell(tmp_path / "home").begin(kubectl=kubectl)
    yield shell
    shell.run("slicewright cluster down")


def test_pages_of_the_tutorial_show_what_their_commands_print(shell: Shell) -> None:
    """The second page goes on where the first one ends."""
    for name in ("first-rehearsal", "first-run"):
        assert shell.play(DOCS / "tutorial" / f"{name}.md") > 0


def test_page_about_a_stuck_queue_shows_what_kueue_says(shell: Shell) -> None:
    """Its run waits behind the sample, and Kueue gives the reason that the page explains."""
    assert shell.sample().play(DOCS / "how-to/read-a-stuck-queue.md") > 0


def test_page_about_what_runs_shows_what_status_says(shell: Shell) -> None:
    """A run waits behind the sample, and the commands that read the cluster say so."""
    assert shell.sample().play(DOCS / "how-to/see-what-runs.md") > 0
