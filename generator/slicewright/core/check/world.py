"""All objects that are examined together, with look-ups across them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.check.item import Item
    from slicewright.core.plan.resolve import ResolvedCluster

Made = TypeVar("Made")


class World:
    """The objects of one cluster (or of the paths that were given), and what is known beside them."""

    def __init__(
        self,
        items: Iterable[Item],
        catalogue: Catalogue,
        site: ResolvedCluster | None = None,
        beside: Iterable[Item] = (),
    ) -> None:
        """Take the objects, the TPU catalogue, the TPUCluster when there is one, and what is `beside` them.

        That is what the repository holds for all of its clusters, in custom/: it can be referred to.
        """
        self.beside = tuple(beside)
        self.items = tuple(items)
        self.catalogue = catalogue
        self.site = site
        self._made: dict[str, Any] = {}

    @cached_property
    def _by_kind(self) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            found[item.kind].append(item)
        return found

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], Item]:
        return {(item.kind, item.namespace or "default", item.name): item for item in reversed(self.items)}

    def of_kind(self, kind: str) -> tuple[Item, ...]:
        """Return the objects of a kind."""
        return tuple(self._by_kind.get(kind, ()))

    def find(self, kind: str, name: str, namespace: str = "default") -> Item | None:
        """Return an object by kind, name and namespace (`default` for cluster-scoped kinds)."""
        return self._by_name.get((kind, namespace or "default", name))

    def once(self, name: str, make: Callable[[World], Made]) -> Made:
        """Return what a function makes of these objects, made at its first use."""
        if name not in self._made:
            self._made[name] = make(self)
        made: Made = self._made[name]
        return made
