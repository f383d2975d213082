"""Time spans that somebody gives on the command line, each for one workload or for all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from slicewright.core.problem import did_you_mean
from slicewright.core.rehearsal.duration import is_duration, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.rehearsal.script import Part

Field = Literal["submit_at", "duration"]


@dataclass(frozen=True, slots=True)
class Override:
    """A span for the workload `name` or `namespace/name`; for all where that is empty."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Unclear:
    """A name that means no workload, or several; `hint` has those that may be meant."""

    message: str
    hint: str


def read(text: str) -> Override | None:
    """Return what `[[NAMESPACE/]NAME=]DURATION` says; nothing where it has another form."""
    name, equals, span = text.rpartition("=")
    if not is_duration(span) or (equals and not name):
        return None
    return Override(name, seconds(span))


def unclear(overrides: Iterable[Override], keys: Iterable[str]) -> Unclear | None:
    """Return the first name that does not mean exactly one of some workloads (`namespace/name`)."""
    known = sorted(set(keys))
    for override in overrides:
        meant = [key for key in known if _means(override.name, key)]
        if override.name and not meant:
            names = known if "/" in override.name else [key.partition("/")[2] for key in known]
            message = f"workload '{override.name}' is not part of this rehearsal"
            return Unclear(message, did_you_mean(override.name, names))
        if override.name and len(meant) > 1:
            message = f"'{override.name}' may be one of {len(meant)} workloads: say which"
            return Unclear(message, " or ".join(meant))
    return None


def overridden(parts: Iterable[Part], field: Field, overrides: Iterable[Override]) -> tuple[Part, ...]:
    """Return parts with the spans that are given for them.

    A span for one workload goes before one for all, and a later one before an earlier one.
    """
    ordered = sorted(overrides, key=lambda override: bool(override.name))
    changed = []
    for part in parts:
        for override in ordered:
            if not override.name or _means(override.name, part.key):
                part = _with(part, field, override.seconds)  # noqa: PLW2901 - each builds on the one before
        changed.append(part)
    return tuple(changed)


def _with(part: Part, field: Field, span: float) -> Part:
    return replace(part, submit_at=span) if field == "submit_at" else replace(part, duration=span)


def _means(name: str, key: str) -> bool:
    return name == (key if "/" in name else key.partition("/")[2])
