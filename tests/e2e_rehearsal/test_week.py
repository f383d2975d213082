"""The week of two teams is rehearsed on the controllers, as its page says."""

from pathlib import Path

import pytest
from tests.docs.transcript import DOCS, Shell

pytestmark = pytest.mark.workflow  # two minutes, nearly all of them on the clock of the rehearsal


def test_week_of_two_teams_is_rehearsed(tmp_path: Path) -> None:
    """The rehearsal before the merge plays what both teams have written, and says what the page quotes."""
    text = (DOCS / "tutorial/first-week.md").read_text(encoding="utf-8")
    before, command, _ = text.partition("slicewright rehearse sample --duration lr=2h\n")
    (tmp_path / "week.md").write_text(before.removesuffix("```sh\n"), encoding="utf-8")
    shell = Shell(tmp_path / "home").begin().sample()
    shell.play(tmp_path / "week.md")

    code, said = shell.run(command)

    assert code == 0, said
    assert "sample: passed; 26 finished" in said
    assert before.rpartition("line for the sweep is `")[2].partition("`")[0] in said.splitlines()
