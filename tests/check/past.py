"""A git repository with a past, and what `validate --changed` reports of it."""

from pathlib import Path

from tests.check.kit import run, write
from tests.files import git


def commit(folder: Path, files: dict[str, str]) -> None:
    """Write files and commit all that is there."""
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "m")


def found(folder: Path, *arguments: str, rev: str = "main") -> list[str]:
    """Return file and id of what is reported of the change since a revision."""
    report = run(folder, *(arguments or (".",)), "--changed", rev, "-o", "json").json
    return [f"{one['file']} {one['id']}" for one in report["problems"]]
