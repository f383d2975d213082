"""The one loop that runs rules over objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.check.item import Item
    from slicewright.core.check.rule import Rule
    from slicewright.core.check.world import World
    from slicewright.core.problem import Problem


class RuleSet:
    """Rules by the kinds that they look at, so that no object meets a rule that is about others."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        """Take the rules; of one kind they run in this order, before those of all kinds."""
        self._of_all: list[Rule] = []
        self._by_kind: dict[str, list[Rule]] = {}
        for rule in rules:
            if not rule.kinds:
                self._of_all.append(rule)
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(rule)

    def __bool__(self) -> bool:
        return bool(self._of_all or self._by_kind)

    def problems(self, world: World, items: Iterable[Item] | None = None) -> tuple[Problem, ...]:
        """Return what the rules find in some objects of a world (or all), object by object."""
        return tuple(
            problem
            for item in (world.items if items is None else items)
            for problem in self._of_item(item, world)
        )

    def _of_item(self, item: Item, world: World) -> Iterator[Problem]:
        own = self._by_kind.get(item.kind, ()) if item.is_known else ()
        for rule in (*own, *self._of_all):
            for finding in rule.check(item, world):
                hint = finding.hint or rule.hint
                yield item.problem(rule.id, finding.path, finding.message, hint, severity=rule.severity)
