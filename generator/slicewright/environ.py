"""What the environment of the process says: the home folder of the user, and programs on PATH."""

import os
import pwd
from collections.abc import Iterator, Mapping
from pathlib import Path


class NoHomeError(Exception):
    """The user has no home folder."""


def home(environ: Mapping[str, str]) -> Path:
    """Return what HOME says, else the user database; a relative folder may lie among the files that we read.

    Raises NoHomeError.
    """
    folder = Path(environ.get("HOME", ""))
    if folder.is_absolute():
        return folder
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise NoHomeError("the user has no home folder, and HOME does not name one") from None


def which(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of the first program of a name on PATH, or None."""
    return next((str(path) for path in on_path((name,), environ)), None)


def on_path(names: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the programs of some names on PATH, each file once.

    Relative folders of PATH are left out: they may lie among the files that we read.
    """
    seen: set[Path] = set()
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder):  # noqa: PTH117 - a text
            continue
        for name in names:
            path = Path(folder) / name
            if executable(path) and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def executable(path: Path) -> bool:
    """Tell whether a file can be run."""
    return path.is_file() and os.access(path, os.X_OK)
