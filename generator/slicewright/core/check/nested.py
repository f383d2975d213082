"""The configuration of a controller inside a ConfigMap, which is a mere text to the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Resource
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


def nested(resource: Resource) -> Iterator[Resource | Problem]:
    """Yield the Configuration that a ConfigMap of Kueue or JobSet holds, or why it cannot be read."""
    written = (
        at(resource.data, "data", KEY)
        if resource.kind == "ConfigMap" and resource.name in _CONFIG_MAPS
        else None
    )
    if not isinstance(written, str):
        return
    documents, problems = read_documents(written, resource.file)
    for problem in problems:
        yield outside(resource, problem)
    for document in documents:
        for found in unpack(
            document.data, resource.file, Source(SourceFile(resource.file, written), document)
        ):
            if not isinstance(found, Resource):
                yield outside(resource, found)
            elif found.data["apiVersion"] != BEFORE_V1BETA2:  # of which there is no schema
                yield found


def outside(resource: Resource, problem: Problem) -> Problem:
    """Return a problem of the text as one of the ConfigMap around it; its line is that in the text."""
    within = f", {dotted(problem.path)}" if problem.path else ""
    message = f"{KEY} line {problem.line}{within}: {problem.message}"
    return resource.problem(problem.id, ("data", KEY), message, problem.hint, severity=problem.severity)
