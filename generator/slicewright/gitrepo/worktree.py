"""The files on disk as one side of a difference."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slicewright.core.difference.tree_version import TreeVersion
from slicewright.core.problem import Problem
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "working tree"
_FOLDERS = ("overlays", "provision")


def read(root: Path) -> TreeVersion:
    """Return the tree on disk; links that lead out of it are not followed."""
    texts: dict[str, str | None] = {}
    within = os.path.realpath(root)

    def read_text(path: str) -> str | None:
        if path not in texts:
            texts[path] = _text(within, path)
        return texts[path]

    return TreeVersion(NAME, frozenset(_files(within)), read_text)


def _files(root: str) -> Iterator[str]:
    for folder in _FOLDERS:
        for base, folders, names in os.walk(f"{root}/{folder}"):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = f"{base}/{name}"
                if path.isprintable() and not os.path.islink(path):  # noqa: PTH114 - thousands of files, and a Path takes its time
                    yield path.removeprefix(f"{root}/")


def _text(root: str, path: str) -> str | None:
    target = f"{root}/{path}"
    if not os.path.isfile(target):  # noqa: PTH113
        return None
    if not os.path.realpath(target).startswith(f"{root}/"):
        return None
    text = read_file(target, path)
    return None if isinstance(text, Problem) else text
