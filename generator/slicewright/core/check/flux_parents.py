"""Flux Kustomizations that another one completes: it patches what it applies."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from slicewright.core.check.model import Resource
from slicewright.core.kubernetes.read import at, entries, text
from slicewright.core.problem import Problem

_GROUP = "kustomize.toolkit.fluxcd.io"
_KIND = "Kustomization"


def completed(problems: Sequence[Problem], resources: Iterable[Resource]) -> tuple[Problem, ...]:
    """Return the problems: a note where a patch of one Flux Kustomization adds what another lacks."""
    if not any(map(_may_be_added, problems)):
        return tuple(problems)
    of_flux = [resource for resource in resources if resource.kind == _KIND and resource.group == _GROUP]
    patches = "\n".join(patch for resource in of_flux for patch in _patches(resource))
    children = {(resource.file, resource.subject) for resource in of_flux}

    def is_added(problem: Problem) -> bool:
        field = problem.message.split("'")[1] if _may_be_added(problem) else ""
        return bool(field) and f"{field}:" in patches and (problem.file, problem.object) in children

    return tuple(replace(problem, severity="note") if is_added(problem) else problem for problem in problems)


def _may_be_added(problem: Problem) -> bool:
    return problem.id == "SCHEMA005" and problem.object.startswith(_KIND) and "'" in problem.message


def _patches(resource: Resource) -> Iterator[str]:
    """Yield the patches for Flux Kustomizations among those of one."""
    for _, patch in entries(at(resource.data, "spec", "patches")):
        written = text(patch.get("patch"))
        if at(patch, "target", "kind") == _KIND or f"apiVersion: {_GROUP}/" in written:
            yield written
