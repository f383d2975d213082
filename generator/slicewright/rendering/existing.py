"""The existing tree: the files that slicewright wrote, the frozen runs, and the live runs."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from slicewright.document.read import read_documents
from slicewright.kubernetes.labels import SWEEP
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.compose.kustomization import FILE_NAME
from slicewright.rendering.run import header
from slicewright.rendering.run.folder import run_folder
from slicewright.rendering.run.header import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.rendering.plans import Planned

PATCH = ".patch.yaml"
"""Suffix of the patches of a Fixed overlay."""

_SWEEP = re.compile(
    rf"{re.escape(SWEEP).replace('/', '(?:/|~1)')}(?:|\n +value): \"?([-a-z0-9]+)\"?$", re.MULTILINE
)
"""The label of an entry of a sweep, in an object and in a patch as we write them."""
_BROKEN = header.Frozen(tool="", intact=False)
"""A frozen run with a broken header: it is still a run, and no render may write it again."""


class Existing:
    """The files under overlays/ and provision/, read for what slicewright wrote there."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the text of every file by its path from the root."""
        self.texts = texts
        self.folders: dict[str, list[str]] = defaultdict(list)
        """The files that are ours, by folder."""
        self.frozen: dict[str, header.Frozen] = {}
        """The frozen runs, live or not."""
        for path, text in texts.items():
            if not header.is_ours(text):
                continue
            folder, name = posixpath.split(path)
            self.folders[folder].append(path)
            if name not in (FILE_NAME, FILES) and not name.endswith(PATCH) and run_folder(folder):
                self.frozen[path] = header.read_frozen(text) or _BROKEN

    def is_ours(self, path: str) -> bool:
        """Tell whether slicewright wrote the file at a path."""
        return path in self.folders.get(posixpath.dirname(path), ())

    def is_foreign(self, path: str) -> bool:
        """Tell whether a file is there that slicewright did not write."""
        return path in self.texts and not self.is_ours(path)

    def body(self, path: str) -> str | None:
        """Return the content of a file below its header, or None."""
        text = self.texts.get(path, "")
        return header.body_of(text) if text.count("\n") > 1 else None

    def sweep_of(self, folder: str) -> str:
        """Return the sweep of which a workload's folder holds an entry, as its runs say; '' for others."""
        labels = (_SWEEP.search(self.texts[path]) for path in self.folders.get(folder, ()))
        return next((label[1] for label in labels if label), "")

    def is_overlay(self, folder: str) -> bool:
        """Tell whether a folder holds a Fixed workload's overlay: then its kustomization names a base."""
        return any(entry.startswith("../") for entry in self._resources(folder) or ())

    def live_runs(self, folder: str) -> list[str]:
        """Return the files of the runs that a folder lists.

        A frozen run that the list does not name was left by a render that was interrupted: it never was
        live. Where the list is missing, or cannot be read (markers of a merge conflict), all of them are.
        """
        resources = self._resources(folder)
        if resources is None:
            return sorted(path for path in self.folders.get(folder, ()) if path in self.frozen)
        runs = (entry for entry in resources if not entry.startswith("../") and entry != FILES)
        return sorted(f"{folder}/{entry}" for entry in runs)

    def _resources(self, folder: str) -> list[str] | None:
        documents, problems = read_documents(self.texts.get(f"{folder}/{FILE_NAME}", ""), "")
        if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
            return None
        entries = documents[0].data.get("resources") or []
        return [str(entry) for entry in entries] if isinstance(entries, list) else None


def reused(existing: Existing, path: str, entry: Planned) -> Iterator[Problem]:
    """Yield a problem where the frozen run at a path was rendered from another intent with the same id."""
    frozen = existing.frozen[path]
    if frozen.intent and frozen.intent != entry.plan.intent:
        message = f"this intent has the id of the run in {path}, which was rendered from another intent"
        hint = "write another value of 'run': slicewright rerun NAME"
        yield entry.workload.source.problem("RUN007", ("spec",), message, hint, key=True)


def missing(path: str) -> Problem:
    """Return the problem of a live run without a file.

    No render writes it again: the run of this name in the cluster may be a different one.
    """
    hint = "restore it (git checkout, git add), or start a new run: slicewright rerun NAME"
    return Problem("RUN005", "the file of a live run is missing", hint, file=path)


def foreign(path: str) -> Problem:
    """Return the problem of a file that is in the place of one of ours."""
    message = "this file is in the place of a generated file, but slicewright did not write it"
    return Problem("TREE001", message, "move it to custom/, or delete it", file=path)


def lost(existing: Existing, path: str) -> Iterator[Problem]:
    """Yield a problem where a live run has no file, or something else is in its place."""
    if existing.is_foreign(path):
        yield foreign(path)
    elif path not in existing.texts and path in existing.live_runs(posixpath.dirname(path)):
        yield missing(path)
