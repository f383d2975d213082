"""An object under examination, and the way back to where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import GROUP_OF
from slicewright.core.kubernetes.pods import Pods, pods_of
from slicewright.core.kubernetes.read import texts
from slicewright.core.problem import Path, Problem, Severity

if TYPE_CHECKING:
    from slicewright.core.intent.source import Source


@dataclass(frozen=True)
class Item:
    """One Kubernetes object.

    `file` is the file in which it stands, or the overlay folder from which it was composed; `source` gives
    line and column, and is None for a composed object. `at` is the way from the root of the document to the
    object, for one that stands in a List.
    """

    data: dict[str, Any]
    file: str
    source: Source | None = None
    at: Path = ()

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

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels that are strings."""
        return texts(self.metadata.get("labels"))

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The annotations that are strings."""
        return texts(self.metadata.get("annotations"))

    @cached_property
    def is_known(self) -> bool:
        """Whether the kind is of the API group that rules mean by it."""
        if self.kind in ("Kustomization", "Component") and "apiVersion" not in self.data:
            return True
        return GROUP_OF.get(self.kind, self.group) == self.group

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pod templates of the object."""
        return pods_of(self.data, self.kind) if self.is_known else ()

    @property
    def subject(self) -> str:
        """What a report calls the object: `Kind namespace/name`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()

    def problem(
        self,
        ident: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        severity: Severity = "error",
        key: bool = False,
    ) -> Problem:
        """Return a problem at a path of this object; `key` points at the key instead of the value."""
        line, column = self.source.places.of((*self.at, *path), key=key) if self.source else (0, 0)
        return Problem(ident, message, hint, severity, self.file, line, column, self.subject, path)

    def placed(self, problem: Problem) -> Problem:
        """Return a problem found in this object's data with its place in the file."""
        return self.problem(
            problem.id,
            problem.path,
            problem.message,
            problem.hint,
            severity=problem.severity,
            key=problem.is_about_key,
        )
