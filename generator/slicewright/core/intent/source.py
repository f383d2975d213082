"""A document that somebody wrote, with the way back to the line that a problem is about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slicewright.core.document.read import Document, Places, read_places
from slicewright.core.problem import Path, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the input: its path from the root of the repository, and its text."""

    path: str
    text: str


@dataclass(frozen=True)
class Source:
    """One document of an input file."""

    file: SourceFile
    document: Document
    renamed: Mapping[Path, Path] = field(default_factory=dict)
    """Keys that are read as others than they are written, and where those stand."""

    @property
    def data(self) -> Any:
        """The document as plain data."""
        return self.document.data

    @cached_property
    def places(self) -> Places:
        """Line and column of every value; the file is read once more for it, so only for problems."""
        return read_places(self.file.text, self.document.index)

    def place(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return line and column of a value (or of its key), else of the nearest value around it."""
        for right, written in self.renamed.items():
            if path[: len(right)] == right:
                path = (*written, *path[len(right) :])
        return self.places.of(path, key=key)

    @property
    def subject(self) -> str:
        """What a report calls the document: `TPUWorkload default/name`."""
        if not isinstance(self.data, dict):
            return ""
        metadata = self.data.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        kind, name = self.data.get("kind") or "", metadata.get("name") or ""
        if kind == "TPUWorkload":
            name = f"{metadata.get('namespace') or 'default'}/{name}"
        return f"{kind} {name}".strip()

    def problem(
        self,
        ident: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        key: bool = False,
        warning: bool = False,
    ) -> Problem:
        """Return a problem at a path of this document; `key` points at the key instead of the value."""
        line, column = self.place(path, key=key)
        return Problem(
            ident,
            message,
            hint,
            severity="warning" if warning else "error",
            file=self.file.path,
            line=line,
            column=column,
            object=self.subject,
            path=path,
        )

    def placed(self, problem: Problem) -> Problem:
        """Return a problem found in this document's data with its place in the file."""
        line, column = self.place(problem.path, key=problem.is_about_key)
        return replace(problem, file=self.file.path, line=line, column=column, object=self.subject)
