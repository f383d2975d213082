"""The shell of a reader who has rendered and committed a new repository: made once, copied for each test."""

import shutil
from pathlib import Path

import pytest
from tests.docs.transcript import Shell


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Make it."""
    return Shell(tmp_path_factory.mktemp("made") / "home").begin().sample()


@pytest.fixture
def shell(made: Shell, tmp_path: Path) -> Shell:
    """Return a copy of it."""
    copy = Shell(shutil.copytree(made.home, tmp_path / "home", symlinks=True))
    state = made.state.read_text(encoding="utf-8")
    copy.state.write_text(state.replace(str(made.home), str(copy.home)), encoding="utf-8")
    return copy
