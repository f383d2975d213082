"""Read units (files, builds, standard input) and check their objects by schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.examine import Checked, Examined
from slicewright.core.check.model import Resource
from slicewright.core.check.partial import is_called_partial
from slicewright.core.check.passed_by import (
    NO_OBJECT,
    UNNAMED_PATCH,
    PassedBy,
    begins_as_patch,
    holds_object,
    may_be_patch,
)
from slicewright.core.check.unfinished import placeholders_in
from slicewright.core.check.unpack import unpack
from slicewright.core.intent.source import Source, SourceFile
from slicewright.workspace.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slicewright.core.check.engine import Engine
    from slicewright.core.check.examine import Unit
    from slicewright.core.problem import Problem
    from slicewright.workspace.load import Loaded


def examine_units(
    units: Sequence[Unit], engine: Engine, values: Mapping[str, str] | None = None
) -> Iterator[Examined]:
    """Yield the units, each read and checked, in the order that was given.

    `values` are filled in for placeholders. A file that is checked instead of several builds is yielded once.
    """
    seen = {unit.path for unit in units}
    for unit in units:
        loaded = load(unit, values)
        yield _examined(loaded, engine)
        for file in loaded.instead:
            if file.path not in seen:
                seen.add(file.path)
                yield _examined(load(file, values), engine)


def _examined(loaded: Loaded, engine: Engine) -> Examined:
    resources, problems, passed_by = _resources(loaded)
    unit, may_be_patch = loaded.unit, _may_be_patch(loaded.unit, loaded.text)
    if resources and may_be_patch and not any(map(engine.is_whole, resources)):
        return Examined(unit, (), (), (), (PassedBy(unit.name, UNNAMED_PATCH),), loaded.used)
    objects = []
    for resource in resources:
        verdict = engine.verdict(resource)
        # What is rendered for a cluster is finished.
        held = None if unit.cluster else placeholders_in(resource.data)
        is_clean = not held and engine.is_clean(resource, verdict)
        is_partial = may_be_patch or is_called_partial(resource.file) or unit.partial or unit.inside
        objects.append(Checked(resource, verdict, is_clean, held, is_partial, unit.patched))
    all_problems = (*loaded.problems, *problems)
    return Examined(
        unit, tuple(objects), all_problems, loaded.kustomizations, passed_by, loaded.used, loaded.unrestricted
    )


def _may_be_patch(unit: Unit, text: str) -> bool:
    is_called_so = unit.inside or may_be_patch(unit.name) or begins_as_patch(text)
    return unit.form == "file" and not unit.named and is_called_so


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
            else:
                problems.append(unpacked)
    return resources, problems, tuple(passed_by)
