"""Programs on PATH, in folders that it names in full: others lie among the files that we read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def which(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the first program of a name, None where there is none."""
    return next((str(path) for path in on_path((name,), environ)), None)


def on_path(names: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield every program of some names."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names if os.path.isabs(folder) else ():  # noqa: PTH117 - a text
            path = Path(folder) / name
            if executable(path):
                yield path


def executable(path: Path) -> bool:
    """Tell whether a file can be run."""
    return path.is_file() and os.access(path, os.X_OK)
