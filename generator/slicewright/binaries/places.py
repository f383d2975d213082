"""Where things lie: the cache that all checkouts of a user share, and this checkout's wrapper modules."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.binaries.pins import Tool

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return the cache: SLICEWRIGHT_CACHE, else `slicewright` below XDG_CACHE_HOME, else below ~/.cache."""
    own = environ.get("SLICEWRIGHT_CACHE", "")
    if own:
        return Path(own).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, or relative, which the XDG specification says to ignore
        base = Path(environ.get("HOME") or Path.home()) / ".cache"
    return base / "slicewright"


def platform_name() -> str:
    """Return this machine as Go names it: linux-amd64, darwin-arm64."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{_ARCHITECTURES.get(machine, machine)}"


def cached(tool: Tool, environ: Mapping[str, str]) -> Path:
    """Return where the cache keeps a program, whether it is there or not."""
    folder = cache_root(environ) / "tools" / tool.name
    return folder / f"{tool.version}-{platform_name()}" / tool.binary


def tools_folder() -> Path | None:
    """Return tools/ of this checkout; none where the package was installed from a wheel."""
    folder = Path(__file__).resolve().parents[3] / "tools"
    return folder if (folder / "kustomize" / "go.mod").is_file() else None
