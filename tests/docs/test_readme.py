"""The README is executed: what it shows is what a new user sees."""

import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.files import copy_project

from slicewright.check.rules.every import RULES
from slicewright.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [text for found, text in _BLOCK.findall(README) if found == language]


def session(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that it shows."""
    for part in text.split("$ ")[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh copy of what is under version control, as it stands in the working tree."""
    folder = tmp_path_factory.mktemp("clone")
    copy_project(folder)
    return folder


def run(command: str, folder: Path) -> str:
    """Run one of our commands in a folder, and return what it prints on stdout."""
    name, *arguments = shlex.split(command)
    with chdir(folder):
        done = CliRunner().invoke(cli, arguments, prog_name=name, catch_exceptions=False)
    assert ("slicewright", 0, "") == (name, done.exit_code, done.stderr)
    return done.stdout


@pytest.mark.slow
def test_console_session_prints_what_the_readme_shows(clone: Path) -> None:
    """Each command of the README's session prints exactly what is written below it."""
    for command, output in session(blocks("console")[0]):
        assert output == run(command, clone), command


def test_first_block_is_the_two_make_targets() -> None:
    """The two commands of the first screen are what CI runs on a machine that has nothing."""
    commands = [line.split("#")[0].strip() for line in blocks("sh")[0].splitlines()]
    proof = (ROOT / ".ci" / "from-nothing").read_text(encoding="utf-8").splitlines()

    assert ["make render", "make test"] == commands
    assert commands == [line.removeprefix("first ") for line in proof if line.startswith("first ")]
    for script in (".ci/run", ".github/workflows/ci.yaml"):
        assert ".ci/from-nothing " in (ROOT / script).read_text(encoding="utf-8")


def test_number_of_rules_is_that_of_the_rules() -> None:
    """The README counts the rules of `validate`, and the objects that webhooks have judged."""
    corpus = (ROOT / "tests" / "check" / "rules" / "corpus.yaml").read_text(encoding="utf-8")

    assert f"- **{len(RULES)} rules** " in README
    assert f"a corpus of {len(re.findall('^- ', corpus, re.MULTILINE)):,} objects" in README


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`slicewright (\w+)", README))))
def test_commands_in_the_text_exist(command: str) -> None:
    """Every command that the README names has a help page."""
    assert CliRunner().invoke(cli, [command, "--help"]).exit_code == 0
