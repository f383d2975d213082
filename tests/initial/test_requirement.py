"""The slicewright that people and CI of a new repository install."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from tests.initial.kit import init, read

from slicewright.initial.files import specifier
from slicewright.version import __version__
from slicewright.workspace.repository_reader import satisfies

if TYPE_CHECKING:
    from pathlib import Path


def test_requirement_is_what_everybody_installs(tmp_path: Path) -> None:
    """By default the versions that render the repository alike; one line, and no option of pip."""
    init(str(tmp_path / "a"))
    init(str(tmp_path / "b"), "--slicewright-requirement", "slicewright==0.1.0")
    series = ".".join(__version__.split(".")[:2]) + ".0"

    assert f"\nslicewright~={series}\n" in (tmp_path / "a/requirements.txt").read_text(encoding="utf-8")
    assert "\nslicewright==0.1.0\n" in (tmp_path / "b/requirements.txt").read_text(encoding="utf-8")
    assert f"~={series}" == read(tmp_path / "a/slicewright.yaml")["requires"]
    for wrong in ("a\nb", "-r other.txt"):
        _, said = init(str(tmp_path / "c"), "--slicewright-requirement", wrong, code=2)
        assert "is one line" in said
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("version", "wanted", "no_longer"),
    [("0.1.7", "~=0.1.0", "0.2.0"), ("0.12.0", "~=0.12.0", "0.13.0"), ("1.2.3", "~=1.2", "2.0.0")],
)
def test_requirement_ends_where_versions_may_break(version: str, wanted: str, no_longer: str) -> None:
    """Before 1.0 that is the second number, from then on the first."""
    assert wanted == specifier(version)
    assert [True, False] == [satisfies(other, wanted) for other in (version, no_longer)]


FROM_AN_INDEX = "; to install a wheel, write its path into requirements.txt"
FROM_A_FILE = """ from an index, but this slicewright was installed from a file
if the index does not have it, choose one:
  copy the wheel into wheels/, and write ./wheels/NAME.whl into requirements.txt
  use the installed program: make SLICEWRIGHT=slicewright"""


@pytest.mark.parametrize(
    ("recorded", "way"),
    [
        (None, FROM_AN_INDEX),
        (
            '{"url": "file:///x.whl", "archive_info": {}}',
            FROM_A_FILE,
        ),
        (PackageNotFoundError(), FROM_AN_INDEX),
    ],
    ids=["from an index", "from a wheel", "from nowhere"],
)
def test_last_words_name_what_make_installs_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str | Exception | None, way: str
) -> None:
    """Where no index has slicewright, as where this one came from none; who named a requirement knows it."""

    def distribution(_name: str) -> Mock:
        if isinstance(recorded, Exception):
            raise recorded
        return Mock(read_text={"direct_url.json": recorded}.__getitem__)

    monkeypatch.setattr("slicewright.cli.init.distribution", distribution)

    printed, _ = init(str(tmp_path / "a"))
    named, _ = init(str(tmp_path / "b"), "--slicewright-requirement", "slicewright==0.1.0")

    assert printed.endswith(f"make installs slicewright{specifier(__version__)}{way}\n")
    assert "make installs" not in named


@pytest.mark.parametrize(
    "path", ["./wheels/s.whl", "s.whl", "../s.whl[testbed]", "/nowhere/s ; python_version > '3'"]
)
def test_requirement_that_is_not_there_is_refused(tmp_path: Path, path: str) -> None:
    """A path is relative to the new repository, where pip would look for it only at the first make."""
    _, said = init(str(tmp_path / "a"), "--slicewright-requirement", path, code=2)

    assert said.startswith(
        f"Error: --slicewright-requirement {path.partition('[')[0].partition(' ;')[0]}: there is no /"
    )
    assert "hint: a path is relative to the new repository" in said
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "path", ["./wheels/s.whl", "wheels/s.whl[testbed]", "../s.whl", "s @ https://x.test/s.whl"]
)
def test_requirement_that_is_there_or_elsewhere_is_taken(tmp_path: Path, path: str) -> None:
    """As it was written; what is behind a URL is not looked at."""
    (tmp_path / "s.whl").touch()
    if "wheels" in path:
        (tmp_path / "a/wheels").mkdir(parents=True)
        (tmp_path / "a/wheels/s.whl").touch()

    init(str(tmp_path / "a"), "--slicewright-requirement", path)

    assert f"\n{path}\n" in (tmp_path / "a/requirements.txt").read_text(encoding="utf-8")
