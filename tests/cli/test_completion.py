"""Completion: a real bash asks for it; of zsh and fish, the scripts are printed and not run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from slicewright.cli.command import COMPLETION
from slicewright.cli.main import cli


def words(*line: str) -> list[str]:
    """Return what the last word of a command line can become."""
    *before, word = line
    complete = ShellComplete(cli, {}, "slicewright", COMPLETION)
    return [item.value for item in complete.get_completions(before, word)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["ca"], ["catalog", "capacity"]),
        (["render", "--end"], ["--end-runs"]),
        (["new", "x", "--provisioning", "Flex"], ["FlexStart", "FlexStartQueued"]),
        (["tools", "build", "kubect"], ["kubectl"]),
        (["-C", "/", "explain", "l"], []),
    ],
    ids=" ".join,
)
def test_commands_options_and_values_complete(line: list[str], expected: list[str]) -> None:
    """Those that begin with the word; names of a repository are not read."""
    assert expected == words(*line)


def test_commands_complete_without_being_imported() -> None:
    """It takes as long as `slicewright --version`."""
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom slicewright.cli.main import cli\n"
        "found = ShellComplete(cli, {}, 'slicewright', 'X').get_completions([], 'ren')\n"
        "print([item.value for item in found], 'slicewright.cli.render' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert "['render'] False\n" == done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed_for_each_shell(shell: str) -> None:
    """It asks this command, by the variable that click reads; zsh and fish themselves are not run here."""
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="slicewright")

    assert done.exit_code == 0
    assert f"{COMPLETION}={shell}_complete" in done.stdout


def test_other_shell_is_refused() -> None:
    """With those that there are."""
    done = CliRunner().invoke(cli, ["completion", "tcsh"], prog_name="slicewright")

    assert done.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr


@pytest.mark.slow
def test_bash_completes(tmp_path: Path) -> None:
    """A real bash reads the script and asks; names of a repository, here none, complete to nothing."""
    script = Path(sys.executable).with_name("slicewright")
    lines = ["slicewright ren", "slicewright new x --provisioning Sp", "slicewright -C none explain l"]
    asked = [f"COMP_WORDS=({line}) COMP_CWORD={len(line.split()) - 1}; {COMPLETE}" for line in lines]
    setup = f'eval "$({shlex.quote(str(script))} completion bash)"'
    done = subprocess.run(
        ["bash", "--norc", "-euc", "\n".join([setup, *asked])],
        env={**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert ["render", "Spot", ""] == done.stdout.splitlines()


COMPLETE = '_slicewright_completion slicewright; echo "${COMPREPLY[*]}"; COMPREPLY=()'


@pytest.mark.slow
def test_error_of_a_completion_is_not_shown(tmp_path: Path) -> None:
    """Even a defect leaves the prompt as it is."""
    code = (
        "from slicewright.cli import main\n"
        "def broken(word): raise ZeroDivisionError\n"
        "main.Commands.get_command = broken\n"
        "main.main()\n"
    )
    environ = {COMPLETION: "bash_complete", "COMP_WORDS": "slicewright explain x", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (1, "", "") == (done.returncode, done.stdout, done.stderr)
