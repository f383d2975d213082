"""The configuration of a controller inside a ConfigMap, which is a mere text to the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.item import Item
from slicewright.core.check.unpack import unpack
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.kubernetes.read import at
from slicewright.core.platform.kueue_configuration import BEFORE_V1BETA2, KEY, NAME
from slicewright.core.problem import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.problem import Problem

_CONFIG_MAPS = (NAME, "jobset-manager-config")
"""Both keep their configuration under the key that kubebuilder chose."""


def nested(item: Item) -> Iterator[Item | Problem]:
    """Yield the Configuration that a ConfigMap of Kueue or JobSet holds, or why it cannot be read."""
    written = at(item.data, "data", KEY) if item.kind == "ConfigMap" and item.name in _CONFIG_MAPS else None
    if not isinstance(written, str):
        return
    documents, problems = read_documents(written, item.file)
    for problem in problems:
        yield outside(item, problem)
    for document in documents:
        for found in unpack(document.data, item.file, Source(SourceFile(item.file, written), document)):
            if not isinstance(found, Item):
                yield outside(item, found)
            elif found.data["apiVersion"] != BEFORE_V1BETA2:  # of which there is no schema
                yield found


def outside(item: Item, problem: Problem) -> Problem:
    """Return a problem of the text as one of the ConfigMap around it; its line is that in the text."""
    within = f", {dotted(problem.path)}" if problem.path else ""
    message = f"{KEY} line {problem.line}{within}: {problem.message}"
    return item.problem(problem.id, ("data", KEY), message, problem.hint, severity=problem.severity)
