"""A rule: an id, a verdict, and one function that finds where an object breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.core.check.item import Item
    from slicewright.core.check.world import World
    from slicewright.core.problem import Path, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """Where an object breaks a rule; an empty hint stands for the rule's own."""

    path: Path
    message: str
    hint: str = ""


Check = Callable[["Item", "World"], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One semantic rule; `slicewright rule ID` and the page of rules are made from it.

    `severity` is `error` where the API server (strict validation) or a controller refuses the object or it
    can never run, `warning` where it is accepted only through defaulting or pruning, or is a trap.
    """

    id: str
    severity: Severity
    title: str
    """One line: what must hold."""
    why: str
    """What happens otherwise, and who says so."""
    hint: str
    """What to write instead."""
    kinds: frozenset[str]
    """The kinds that the rule looks at; empty: all."""
    check: Check
    sources: tuple[str, ...] = ()
