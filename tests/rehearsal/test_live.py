"""What a terminal shows while a rehearsal plays."""

from __future__ import annotations

import os

import pytest

from slicewright.cli.report.live import fitting

LINES = ["c1  1m00s at 60x", "  · default/a  queued", "  · default/b  queued"]


@pytest.mark.parametrize(
    ("columns", "rows", "shown"),
    [
        (80, 24, LINES),
        (80, 4, LINES),
        (80, 3, [LINES[0], "    and 2 more"]),
        (80, 1, ["    and 3 more"]),
        (12, 24, ["c1  1m00s …", "  · defaul…", "  · defaul…"]),
        (1, 24, ["…", "…", "…"]),
    ],
)
def test_picture_fits_the_terminal(columns: int, rows: int, shown: list[str]) -> None:
    """A line that wraps, or scrolls away, would stay there when the next picture is drawn over this one."""
    assert shown == fitting(LINES, os.terminal_size((columns, rows)))
