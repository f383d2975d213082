"""`-C DIR`, before the command and after it: as git has it."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.conftest import Repo

from slicewright.cli.main import _COMMANDS, cli


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command line, which must come back to where it was started."""
    here = Path.cwd()
    done = CliRunner().invoke(cli, arguments, prog_name="slicewright", catch_exceptions=False)
    assert code == done.exit_code, done.output
    assert here == Path.cwd()
    return done.stdout, done.stderr


def test_folder_stands_before_or_after_the_command(repo: Repo) -> None:
    """Both mean the same, and both together are one way."""
    root = str(repo.root)
    expected = run("-C", root, "explain", "a")

    assert expected == run("explain", "-C", root, "a")
    assert expected == run("-C", str(repo.root.parent), "explain", "a", "-C", repo.root.name)


def test_every_folder_is_relative_to_the_one_before(repo: Repo) -> None:
    """As git does: `-C a -C b` is a/b, an absolute path starts anew, and an empty one changes nothing."""
    (repo.root / "one" / "two").mkdir(parents=True)
    root = str(repo.root)
    expected = run("-C", root, "explain", "a")

    assert expected == run("-C", root, "-C", "one", "-C", "two", "explain", "a")
    assert expected == run("-C", root, "-C", "one", "explain", "-C", "..", "-C", "", "a")
    assert expected == run("-C", "/", "-C", root, "explain", "a")


@pytest.mark.parametrize("name", sorted(set(_COMMANDS) - {"cluster", "completion", "tools"}))
def test_every_command_has_it(name: str) -> None:
    """It is one option with one meaning: each help says it in the same words."""
    assert "-C DIR" in run(name, "--help")[0]
    assert "Run as if started in DIR." in run(name, "--help")[0]


def test_files_are_looked_for_there(repo: Repo) -> None:
    """Other arguments that name files are relative to the folder, wherever they stand."""
    repo.write("sub/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}\n")
    root = str(repo.root)

    before = run("-C", f"{root}/sub", "validate", "a.yaml", "--schema", ".")
    after = run("validate", "--schema", ".", "a.yaml", "-C", f"{root}/sub")

    assert before == after == ("1 object in 1 file or folder: 0 errors, 0 warnings\n", "")


def test_folder_that_is_not_there_is_a_usage_error(repo: Repo) -> None:
    """Whichever of several it is, and in whichever place; the command then works nowhere."""
    repo.write("file", "")
    root = str(repo.root)

    assert (
        "Invalid value for '-C': cannot go to 'x': No such file or directory"
        in run("-C", root, "-C", "x", "render", code=2)[1]
    )
    assert "cannot go to 'file': Not a directory" in run("render", "-C", root, "-C", "file", code=2)[1]
    assert not (repo.root / "overlays").exists()


@pytest.mark.slow
def test_folder_that_was_deleted_can_be_left(repo: Repo, tmp_path: Path) -> None:
    """Where the current folder is gone, -C leads out of it, and without it the message is not a traceback."""
    line = f'mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m slicewright "$@"'
    command = ["bash", "-c", line, "bash"]
    there = ["-C", str(repo.root), "explain", "a"]

    left = subprocess.run([*command, *there], cwd=tmp_path, check=False, capture_output=True, text=True)
    stayed = subprocess.run([*command, "render"], cwd=tmp_path, check=False, capture_output=True, text=True)

    assert (left.returncode, left.stderr) == (0, "")
    assert stayed.returncode == 2
    assert "Traceback" not in stayed.stderr
