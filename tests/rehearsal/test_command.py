"""`slicewright rehearse` before anything is played."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from slicewright.cli.rehearse import Speed, _unwritable, _write_page
from slicewright.rehearsal.scene import scenes
from slicewright.workspace.read import read_checkout

if TYPE_CHECKING:
    from tests.conftest import Repo


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


def test_page_for_which_there_is_no_room_leaves_no_half(tmp_path: Path) -> None:
    """A full disk is told, and what is half a page does not stand there as one."""
    page = tmp_path / "page.html"
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        (full,) = _write_page([], page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        signal.signal(signal.SIGXFSZ, ignored)
    (device,) = _write_page([], Path("/dev/full"))

    assert "the page cannot be written: File too large" == full.message
    assert ("FILE003", "the page cannot be written: No space left on device") == (device.id, device.message)
    assert [] == list(tmp_path.iterdir())
    assert Path("/dev/full").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mark"], "--context and --mark are about an existing cluster: add --kubeconfig FILE"),
        (["--kubeconfig", "slicewright.yaml"], "--context NAME"),
        (["--deadline", "5"], "'5' is no time span; write for example 90s or 1h30m"),
        (["--deadline", "0s"], "--deadline 0s leaves no time to play"),
        (["--duration", "5"], "'5' is no time span; write for example 90s or my-workload=1h30m"),
        (["--duration", "b=5s"], "no workload 'b' takes part in this rehearsal; one of: a"),
        (["--submit-at", "default/aa=5s"], "takes part in this rehearsal; did you mean 'default/a'?"),
        (["c2"], "there is no cluster 'c2'; one of: c1"),
    ],
)
def test_options_that_mean_nothing_are_wrong_usage(
    arguments: list[str], words: str, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context without a file, a file without a context, a span without a unit, a name that nobody has."""
    monkeypatch.chdir(repo.root)
    done = repo.run("rehearse", *arguments, code=2)

    assert words in " ".join(done.err.split())


def test_name_of_two_workloads_has_to_be_told_apart(repo: Repo) -> None:
    """With both, as they are written."""
    repo.workload("other", metadata=", namespace: team", file="workloads/other.yaml")
    repo.write("workloads/other.yaml", repo.read("workloads/other.yaml").replace("name: other", "name: a"))
    done = repo.run("rehearse", "--duration", "a=5s", code=2)

    assert "'a' may be one of 2 workloads: say which; default/a or team/a" in done.err


def test_workload_whose_run_is_not_rendered_is_told(repo: Repo) -> None:
    """Nothing is left out silently: neither a new workload nor one that has changed since."""
    repo.run("render")
    repo.workload("new")
    repo.write("workloads/a.yaml", repo.read("workloads/a.yaml").replace("train.py", "other.py"))
    done = repo.run("rehearse", code=1)

    assert "REH007 c1 has no overlay of default/new: there is nothing to play" in done.err
    assert "REH007 overlays/c1/default/a does not hold the run a-" in done.err
    assert 2 == done.err.count("hint: run slicewright render first")


def test_overlay_that_is_older_than_its_workload_is_told(empty: Repo) -> None:
    """A Fixed run is called as before: what is played is what stands there, and the report says so."""
    spec = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\ncontainer: {image: python:3.12}"
    empty.cluster()
    for name in ("fixed", "gone", "same"):
        empty.workload(name, spec)
    empty.run("render")
    empty.workload("fixed", spec.replace("3.12", "3.13"))
    (empty.root / "workloads" / "gone.yaml").unlink()
    (scene,), against = scenes(read_checkout(empty.root), ["c1"])

    assert () == against
    assert ["default/fixed", "default/same"] == sorted(part.key for part in scene.parts)
    assert [
        (
            "overlays/c1/default/fixed is not what a render would write now; "
            "default/fixed is played as it stands there"
        ),
        "default/gone is live in overlays/c1/default/gone and is not played: the workload is gone",
    ] == sorted((note.message for note in scene.notes), reverse=True)
    assert {("REH007", "warning", "run slicewright render first")} == {
        (note.id, note.severity, note.hint) for note in scene.notes
    }
