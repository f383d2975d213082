"""Every finding that can be looked up: the semantic rules, the engine's own, and all other problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.cli.meaning import Meaning


def all_rules() -> tuple[Meaning, ...]:
    """Return what every id means, by id."""
    from slicewright.cli.meaning import of_rule, subjects  # noqa: PLC0415
    from slicewright.core.check.builtin import BUILT_IN  # noqa: PLC0415
    from slicewright.workspace.rules import semantic_rules  # noqa: PLC0415

    own = (of_rule(rule) for rule in (*BUILT_IN, *semantic_rules()))
    others = (one for subject in subjects() for one in subject.meanings)
    return tuple(sorted((*own, *others), key=lambda one: one.id))
