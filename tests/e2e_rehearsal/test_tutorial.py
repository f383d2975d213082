"""The tutorial is played, command by command, from nothing to runs that are changed and ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.transcript import DOCS, Shell

from slicewright.programs.find import find


def reader(home: Path) -> Shell:
    """Return the shell of a reader who has installed slicewright and kubectl."""
    kubectl = find("kubectl")
    assert isinstance(kubectl, Path)
    return Shell(home).begin(kubectl=kubectl)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Return the shell of a reader, whose cluster is stopped at the end."""
    shell = reader(tmp_path / "home")
    yield shell
    shell.run("slicewright cluster down")


@pytest.fixture(scope="module")
def first_page(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Shell]:
    """Return the shell of a reader who has played the first page; the second page goes on there."""
    shell = reader(tmp_path_factory.mktemp("tutorial") / "home")
    page = DOCS / "tutorial/first-rehearsal.md"
    assert shell.play(page, mend=pytestconfig.getoption("--snapshots")) > 0
    yield shell
    shell.run("slicewright cluster down")


@pytest.mark.ci
def test_first_page_shows_what_its_commands_print(first_page: Shell) -> None:
    """From `slicewright init` to a second rehearsal, of a changed cluster; all is committed."""
    assert first_page.run("git status --short") == (0, "")


@pytest.mark.workflow
def test_second_page_shows_what_its_commands_print(first_page: Shell) -> None:
    """It goes on where the first page ends."""
    assert first_page.play(DOCS / "tutorial/first-run.md") > 0


@pytest.mark.workflow
def test_page_about_a_stuck_queue_shows_what_kueue_says(shell: Shell) -> None:
    """Its run waits behind the sample, and Kueue gives the reason that the page explains."""
    assert shell.sample().play(DOCS / "how-to/read-a-stuck-queue.md") > 0


@pytest.mark.workflow
def test_page_about_what_runs_shows_what_status_says(shell: Shell) -> None:
    """A run waits behind the sample, and the commands that read the cluster say so."""
    assert shell.sample().play(DOCS / "how-to/see-what-runs.md") > 0
