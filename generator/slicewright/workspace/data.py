"""The folders of data that come along with slicewright."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
"""The folder of the package."""


def data_folder(name: str) -> Path:
    """Return a folder of data: inside the package when it is installed, else beside it in a checkout."""
    installed = HERE / "_data" / name
    return installed if installed.is_dir() else HERE.parents[1] / name
