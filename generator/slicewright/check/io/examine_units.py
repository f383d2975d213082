"""Read units (files, builds, standard input) and check their objects by schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.check.io.load import load
from slicewright.check.passed_by import (
    NO_OBJECT,
    UNBUILT,
    PassedBy,
    holds_object,
    is_judged,
    may_be_misspelt,
    names_judged,
)
from slicewright.check.units import Examined, checked
from slicewright.check.unpack import unpack
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import errors
from slicewright.objects import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slicewright.check.engine import Engine
    from slicewright.check.io.load import Loaded
    from slicewright.check.units import Unit
    from slicewright.kubernetes.problem import Problem


def examine_units(
    units: Sequence[Unit], engine: Engine, values: Mapping[str, str] | None = None
) -> Iterator[Examined]:
    """Yield the units, each read and checked, in the order that was given.

    `values` are filled in for placeholders. A file that is checked instead of several builds is yielded once.
    """
    seen = {unit.path for unit in units}
    for unit in units:
        loaded = load(unit, values)
        files = [_examined(load(file, values), engine) for file in loaded.instead]
        yield _built(loaded, files, engine, values)
        for file in files:
            if file.unit.path not in seen:
                seen.add(file.unit.path)
                yield file


def _built(
    loaded: Loaded, files: Sequence[Examined], engine: Engine, values: Mapping[str, str] | None
) -> Examined:
    """Return a unit; one that does not build is passed by if its files and patches are of other objects."""
    unit = loaded.unit
    is_known = bool(loaded.instead or loaded.elsewhere)
    patches_judged = any(names_judged(text) for _, text in loaded.kustomizations)
    if unit.named or unit.is_ours or patches_judged or not is_known:
        return _examined(loaded, engine)
    others = (_examined(load(file, values), engine) for file in loaded.elsewhere)
    if any(part.objects or part.problems for part in (*files, *others)):
        return _examined(loaded, engine)
    passed_by = loaded.passed_by or (PassedBy(unit.name, UNBUILT),)
    return Examined(unit, (), (), (), passed_by=passed_by, used=loaded.used)


def _examined(loaded: Loaded, engine: Engine) -> Examined:
    resources, problems, passed_by = _resources(loaded)
    unit = loaded.unit
    objects = []
    others = []
    for resource in resources:
        if unit.is_ours or _is_judged(resource, engine):
            objects.append(checked(resource, engine, is_finished=bool(unit.cluster)))
        else:
            others.append(resource)
    all_problems = (*loaded.problems, *problems)
    kustomizations = loaded.kustomizations
    if others and not objects:
        all_problems, kustomizations = errors(all_problems), ()
    return Examined(unit, tuple(objects), all_problems, kustomizations, tuple(others), passed_by, loaded.used)


def _is_judged(resource: Resource, engine: Engine) -> bool:
    """Tell whether an object is judged for itself, outside of a repository of ours."""
    if is_judged(resource) or engine.has_added_schema(resource):
        return True
    return may_be_misspelt(resource) and engine.is_mistaken(resource)


def _resources(loaded: Loaded) -> tuple[list[Resource], list[Problem], tuple[PassedBy, ...]]:
    """Return the objects of a unit, what keeps others from being one, and documents that are passed by."""
    unit = loaded.unit
    resources: list[Resource] = []
    problems: list[Problem] = []
    passed_by = list(loaded.passed_by)
    file = SourceFile(unit.name, loaded.text)
    for number, document in enumerate(loaded.documents):
        source = Source(file, document) if unit.form in ("file", "stdin") else None
        name = loaded.files[number] if loaded.files else unit.name
        if not unit.named and not holds_object(document.data):
            passed_by.append(PassedBy(name, NO_OBJECT, line=document.line))
            continue
        for unpacked in unpack(document.data, name, source):
            if isinstance(unpacked, Resource):
                resources.append(unpacked)
            elif unit.named or unit.is_ours or names_judged(loaded.text):
                problems.append(unpacked)
            else:
                passed_by.append(PassedBy(name, NO_OBJECT, line=document.line))
    return resources, problems, tuple(passed_by)
