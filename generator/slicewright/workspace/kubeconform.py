"""kubeconform as the engine: its verdict on every object, with the messages and places of our report.

It gets each object as a JSON file of its own, so that both engines judge the same reading of a file, and its
answer leads back to the object. Three of its habits would hide errors, so they are checked: it
skips a schema that does not compile, it accepts an empty input, and its numbers may not add up.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.binaries.find import run
from slicewright.core.schema.kind import LOCATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slicewright.core.check.examine import Checked
    from slicewright.core.problem import Problem

_SECONDS = 600
_NO_SCHEMA = "could not find schema"
"""How it also calls a schema that does not compile. Its other errors are about an object it cannot read."""
_AT = re.compile(r"- at '(?P<path>[^']*)': (?P<said>.*?)(?=\s+- at '|$)", re.DOTALL)
"""One finding in the message that kubeconform passes on from its JSON Schema library."""


class BrokenToolError(Exception):
    """kubeconform did not do what it was asked to."""


class Kubeconform(Struct, frozen=True):
    """A kubeconform program, and the folders of schemas that it reads."""

    program: Path
    folders: tuple[Path, ...]

    def judged(self, objects: Sequence[Checked]) -> tuple[list[Checked], list[Problem]]:
        """Return the objects with kubeconform's verdicts, and its reasons where our engine has none.

        Kinds that have no schema, or whose schema is broken, are not sent: they are problems already.
        Raises BrokenToolError.
        """
        sent = [index for index, one in enumerate(objects) if one.verdict in ("accepted", "refused")]
        answers = self.ask([objects[index].resource.data for index in sent])
        judged = list(objects)
        problems: list[Problem] = []
        for index, said in zip(sent, answers, strict=True):
            one = objects[index]
            if said is None and one.verdict == "refused":
                judged[index] = replace(one, verdict="accepted", clean=False)
            elif said is not None and one.verdict == "accepted":
                problems += [
                    one.resource.problem("SCHEMA007", path, f"kubeconform: {message}")
                    for path, message in said
                ]
        return judged, problems

    def ask(self, documents: Sequence[Any]) -> list[list[tuple[tuple[str | int, ...], str]] | None]:
        """Return the findings for each document, None for one that is valid. Raises BrokenToolError."""
        if not documents:
            return []
        import tempfile  # noqa: PLC0415 - it takes its time to import, and only this engine needs it

        with tempfile.TemporaryDirectory(prefix="slicewright-kubeconform-") as folder:
            for index, document in enumerate(documents):
                (Path(folder) / f"{index}.json").write_text(json.dumps(document), encoding="utf-8")
            report = self._run(folder)
        summary = report["summary"]
        if summary["skipped"]:
            raise BrokenToolError(f"kubeconform skipped {summary['skipped']} objects")
        if summary["valid"] + summary["invalid"] + summary["errors"] != len(documents):
            raise BrokenToolError(f"kubeconform was sent {len(documents)} objects, and counts {summary}")
        answers: list[list[tuple[tuple[str | int, ...], str]] | None] = [None] * len(documents)
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


def _findings(message: str, document: Any) -> Iterable[tuple[tuple[str | int, ...], str]]:
    """Yield place and text of the findings in a message; the whole message where it has another form."""
    found = [(_path(match["path"], document), match["said"].strip()) for match in _AT.finditer(message)]
    inner = [(path, said) for path, said in found if said and "failed" not in said]
    return inner or found or [((), message)]


def _path(text: str, document: Any) -> tuple[str | int, ...]:
    """Return a JSON pointer as a path: an element of a list is an index."""
    path: list[str | int] = []
    value = document
    for token in text.split("/")[1:]:
        key: str | int = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            key = int(key)
            value = value[key] if key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
        path.append(key)
    return tuple(path)
