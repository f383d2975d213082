"""Every finding that can be looked up: the engine's own, and the semantic rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.core.check.rule import Rule


def semantic_rules() -> tuple[Rule, ...]:
    """Return the semantic rules; they are imported here because that takes its time."""
    from slicewright.core.check import rules  # noqa: PLC0415

    found: tuple[Rule, ...] = getattr(rules, "RULES", ())
    return found


def all_rules() -> tuple[Rule, ...]:
    """Return them all, by id."""
    from slicewright.core.check.builtin import BUILT_IN  # noqa: PLC0415

    return tuple(sorted((*BUILT_IN, *semantic_rules()), key=lambda rule: rule.id))
