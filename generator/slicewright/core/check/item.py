"""An object under examination, and the way back to where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slicewright.core.problem import Path, Problem, Severity

if TYPE_CHECKING:
    from slicewright.core.intent.source import Source


@dataclass(frozen=True)
class Item:
    """One Kubernetes object.

    `file` is the file in which it stands, or the overlay folder from which it was composed; `source` gives
    line and column, and is None for a composed object.
    """

    data: dict[str, Any]
    file: str
    source: Source | None = None

    @cached_property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return str(self.data.get("apiVersion", "")).rpartition("/")[0]

    @cached_property
    def version(self) -> str:
        """The API version without its group."""
        return str(self.data.get("apiVersion", "")).rpartition("/")[2]

    @cached_property
    def kind(self) -> str:
        """The kind."""
        return str(self.data.get("kind", ""))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The metadata; empty where there is none."""
        found = self.data.get("metadata")
        return found if isinstance(found, dict) else {}

    @cached_property
    def name(self) -> str:
        """The name."""
        return str(self.metadata.get("name", ""))

    @cached_property
    def namespace(self) -> str:
        """The namespace as written; empty where none is."""
        return str(self.metadata.get("namespace", ""))

    @property
    def subject(self) -> str:
        """What a report calls the object: `Kind namespace/name`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()

    def problem(
        self, ident: str, path: Path, message: str, hint: str = "", *, severity: Severity = "error"
    ) -> Problem:
        """Return a problem at a path of this object."""
        line, column = self.source.places.of(path) if self.source else (0, 0)
        return Problem(ident, message, hint, severity, self.file, line, column, self.subject, path)
