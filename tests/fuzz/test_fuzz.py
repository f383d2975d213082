"""The fuzzer runs, and finds what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fuzz import __main__ as fuzz
from tests.fuzz import targets

if TYPE_CHECKING:
    from random import Random

pytestmark = pytest.mark.untraced


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executions change the current folder."""
    monkeypatch.chdir(Path.cwd())


@pytest.mark.slow
def test_every_target_is_executed(tmp_path: Path) -> None:
    """The first case of each target finds nothing."""
    for name in targets.TARGETS:
        assert ({name: 1}, {}) == fuzz.play(600, 12, [name], tmp_path, at=0)


def test_failure_is_made_smaller_saved_and_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is raised, and one that writes elsewhere."""

    def draw(draw: Random) -> targets.Files:
        return {"a": "x" * draw.randrange(10, 20) + "!" + "y" * 20, "b": "c"}

    def breaks(folder: Path, _: Random) -> None:
        targets.hold("!" not in (folder / "a").read_text(encoding="utf-8"), "exclaims")

    def leaves(folder: Path, _: Random) -> None:
        (folder.parent / "elsewhere").touch()

    monkeypatch.setattr(fuzz, "TARGETS", {"breaks": (draw, breaks), "leaves": (draw, leaves)})
    counts, failures = fuzz.play(60, 7, ["breaks"], tmp_path, at=3)
    assert ({"breaks": 1}, {"breaks: Wrong exclaims": 1}) == (dict(counts), dict(failures))
    assert {"a": b"!"} == targets.stamps(tmp_path / "breaks-3/files")
    how = json.loads((tmp_path / "breaks-3/how.json").read_text(encoding="utf-8"))
    assert {"seed": "7:breaks:3", "failure": "Wrong  exclaims"} == how
    assert ["leaves: Wrong a"] == list(fuzz.play(60, 7, ["leaves"], tmp_path, at=1)[1])
