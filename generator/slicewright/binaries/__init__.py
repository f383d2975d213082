"""Find and build the pinned programs that tests and rehearsals run: `find("kustomize")`, `make tools`."""

from __future__ import annotations

from slicewright.binaries.find import find
from slicewright.binaries.pins import tools, versions

__all__ = ["find", "tools", "versions"]
