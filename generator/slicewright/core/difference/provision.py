"""Files that provision a cluster, which people run: compared without their headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from slicewright.core.render.outdated import unified
from slicewright.core.render.platform import PROVISION
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.difference.side import Side

_HEADER = re.compile(rf"\A(#![^\n]*\n)?{re.escape(header.GENERATED)}\n(# inputs: [^\n]*\n)?")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file below provision/ that says something else."""

    effect: Literal["added", "changed", "removed"]
    cluster: str
    path: str
    diff: str

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"effect": self.effect, "cluster": self.cluster, "path": self.path, "diff": self.diff}


def changes(before: Side, after: Side) -> Iterator[FileChange]:
    """Yield the files that differ in more than their headers."""
    for path in sorted(before.paths | after.paths):
        root, _, below = path.partition("/")
        if root != PROVISION:
            continue
        old, new = _body(before, path), _body(after, path)
        if old == new:
            continue
        effect: Literal["added", "changed", "removed"]
        effect = "added" if old is None else "removed" if new is None else "changed"
        yield FileChange(effect, below.partition("/")[0], path, unified(path, old, new))


def _body(side: Side, path: str) -> str | None:
    text = side.read_text(path) if path in side.paths else None
    return None if text is None else _HEADER.sub(r"\1", text.replace("\r\n", "\n"))
