"""`slicewright rehearse` before anything is played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from slicewright.cli.rehearse import Speed, _unwritable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("place", "why"),
    [("missing/a.html", "No such file or directory"), ("file/a.html", "Not a directory")],
)
def test_page_that_cannot_be_written_is_told_before_the_play(tmp_path: Path, place: str, why: str) -> None:
    """Minutes of a rehearsal are not played for a page that has no place."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    found = _unwritable(tmp_path / place)

    assert found is not None
    assert ("FILE003", f"the page cannot be written: {why}") == (found.id, found.message)
    assert found.file == str(tmp_path / place)


def test_place_of_a_page_is_as_it_was(tmp_path: Path) -> None:
    """The look leaves no empty page, and keeps an earlier one."""
    earlier = tmp_path / "earlier.html"
    earlier.write_text("page", encoding="utf-8")

    assert [None, None] == [_unwritable(earlier), _unwritable(tmp_path / "new.html")]
    assert {"earlier.html": "page"} == {
        path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("speed", ["0", "0.5", "-1", "inf", "nan", "1e7", "fast"])
def test_speed_is_a_number_that_can_be_played(speed: str) -> None:
    """What is none is wrong usage, and no traceback at the first duration that is told."""
    with pytest.raises(click.BadParameter):
        Speed(min=1, max=1_000_000).convert(speed, None, None)


def test_speed_may_have_a_fraction() -> None:
    """Any number from 1 on is one."""
    assert 1.5 == Speed(min=1, max=1_000_000).convert("1.5", None, None)
