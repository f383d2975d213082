"""A git repository with a past, and what `validate --changed` reports of it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.check.kit import run, write

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, and return what it prints."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *who, *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit(folder: Path, files: dict[str, str]) -> None:
    """Write files and commit all that is there."""
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "m")


def found(folder: Path, *arguments: str, rev: str = "main") -> list[str]:
    """Return file and id of what is reported of the change since a revision."""
    report = run(folder, *(arguments or (".",)), "--changed", rev, "-o", "json").json
    return [f"{one['file']} {one['id']}" for one in report["problems"]]
