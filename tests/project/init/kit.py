"""Running init, and looking at what it made."""

from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from slicewright.cli.main import cli


def init(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command and return what it prints on stdout and stderr."""
    done = CliRunner().invoke(cli, ["init", *arguments], prog_name="slicewright", catch_exceptions=False)
    assert code == done.exit_code, done.output
    return done.stdout, done.stderr


def read(path: Path) -> Any:
    """Return the content of a YAML or JSON file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def files(root: Path) -> dict[str, str]:
    """Return every file of a repository but those of git, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git/" not in path.relative_to(root).as_posix()
    }
