"""kubeconform as the engine: its verdict on every object, with the messages and places of our report.

It gets each object as a JSON file of its own, so that both engines judge the same reading of a file, and its
answer leads back to the object. Three of its habits would hide errors, so they are checked: it
skips a schema that does not compile, it accepts an empty input, and its numbers may not add up.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.check.units import Checked
from slicewright.document.json_patch import parse_pointer
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.problem import Path as FieldPath
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import run
from slicewright.schema.kind import LOCATION

_SECONDS = 600
_NO_SCHEMA = "could not find schema"
"""Its error for a schema that does not compile, among others; the rest are about unreadable objects."""
_AT = re.compile(r"- at '(?P<path>[^']*)': (?P<finding>.*?)(?=\s+- at '|$)", re.DOTALL)
"""One finding in the message that kubeconform passes on from its JSON Schema library."""


class BrokenToolError(Exception):
    """kubeconform failed, or its output is not a report."""


class Kubeconform(Struct, frozen=True):
    """A kubeconform program, and the folders of schemas that it reads."""

    program: Path
    folders: tuple[Path, ...]

    def judged(self, objects: Sequence[Checked]) -> tuple[list[Checked], list[Problem]]:
        """Return the objects with kubeconform's verdicts, and its reasons if our engine has none.

        Kinds that have no schema, or whose schema is broken, are not sent: they are problems already.
        Raises BrokenToolError.
        """
        sent = [index for index, checked in enumerate(objects) if checked.verdict in ("accepted", "refused")]
        answers = self.ask([objects[index].resource.data for index in sent])
        judged = list(objects)
        problems: list[Problem] = []
        for index, findings in zip(sent, answers, strict=True):
            checked = objects[index]
            if findings is None and checked.verdict == "refused":
                judged[index] = replace(checked, verdict="accepted", clean=False)
            elif findings is not None and checked.verdict == "accepted":
                problems += [
                    checked.resource.problem("SCHEMA007", path, f"kubeconform: {message}")
                    for path, message in findings
                ]
        return judged, problems

    def ask(self, documents: Sequence[Any]) -> list[list[tuple[FieldPath, str]] | None]:
        """Return the findings for each document, None for one that is valid. Raises BrokenToolError."""
        if not documents:
            return []
        with tempfile.TemporaryDirectory(prefix="slicewright-kubeconform-") as folder:
            for index, document in enumerate(documents):
                (Path(folder) / f"{index}.json").write_text(json.dumps(document), encoding="utf-8")
            report = self._run(folder)
        summary = report["summary"]
        if summary["skipped"]:
            raise BrokenToolError(f"kubeconform skipped {summary['skipped']} objects")
        if summary["valid"] + summary["invalid"] + summary["errors"] != len(documents):
            raise BrokenToolError(f"kubeconform was sent {len(documents)} objects, and counts {summary}")
        answers: list[list[tuple[FieldPath, str]] | None] = [None] * len(documents)
        for resource in report["resources"]:
            message = str(resource.get("msg", ""))
            if message.startswith(_NO_SCHEMA):
                raise BrokenToolError(f"kubeconform: {message}")
            index = int(Path(resource["filename"]).stem)
            answers[index] = list(_findings(message, documents[index]))
        if sum(answer is not None for answer in answers) != summary["invalid"] + summary["errors"]:
            raise BrokenToolError("kubeconform names fewer objects than it refuses")
        return answers

    def _run(self, folder: str) -> dict[str, Any]:
        options = ["-strict", "-summary", "-output", "json", "-n", "8"]
        for schemas in self.folders:
            options += ["-schema-location", f"{schemas.absolute()}/{LOCATION}"]
        try:
            done = run(self.program, *options, folder, seconds=_SECONDS)
            report = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise BrokenToolError(f"kubeconform gave no report: {error}") from error
        if not isinstance(report, dict) or not {"summary", "resources"} <= report.keys():
            raise BrokenToolError(f"kubeconform gave no report: {done.stderr.strip()[:500]}")
        return report


def _findings(message: str, document: Any) -> Iterable[tuple[FieldPath, str]]:
    """Yield the path and text of each finding in a message, or the whole message if it names no path."""
    findings = [(_path(match["path"], document), match["finding"].strip()) for match in _AT.finditer(message)]
    inner = [(path, text) for path, text in findings if text and "failed" not in text]
    return inner or findings or [((), message)]


def _path(pointer: str, document: Any) -> FieldPath:
    """Return a JSON pointer as a path: an element of a list is an index."""
    path: FieldPath = ()
    for token in parse_pointer(pointer):
        is_index = isinstance(at(document, *path), list)
        path = (*path, int(token) if is_index else token)
    return path
