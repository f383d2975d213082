"""Where the values of a YAML document begin and end in its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct, field
from yaml._yaml import CParser

from slicewright.core.problem import Path


class Node(Struct):
    """A value as it is written; an alias is a scalar without children."""

    start: int
    end: int
    style: str
    """Of a scalar: its quote, `|`, `>`, or empty where it is plain."""
    flow: bool = True
    """Whether it is in brackets or a scalar, so that it ends with its last character."""
    is_list: bool = False
    children: list[tuple[Node, Node]] = field(default_factory=list)
    """Keys and values; an element of a list is its own key."""
    names: dict[str | int, int] = field(default_factory=dict)
    """What each child of a mapping is called in a path, and its number."""

    def child(self, name: str | int) -> tuple[Node, Node] | None:
        """Return a key and its value."""
        index = name if self.is_list else self.names.get(name)
        return self.children[index] if isinstance(index, int) and index < len(self.children) else None

    def at(self, path: Path) -> Node | None:
        """Return the node at a path; None where nothing is written there."""
        node: Node | None = self
        for name in path:
            child = node.child(name) if node else None
            node = child[1] if child else None
        return node


def documents(text: str) -> list[int]:
    """Return where each document of a text begins, and the end of the text."""
    starts: list[Any] = [event for event in _events(text) if type(event) is yaml.DocumentStartEvent]
    return [*(event.start_mark.index for event in starts), len(text)]


def tree(text: str) -> Node:
    """Return the root of the first document of a text."""
    events = _events(text)
    while not isinstance(next(events), yaml.DocumentStartEvent):
        pass
    return _node(next(events), events)


def _events(text: str) -> Iterator[Any]:
    return iter(CParser(text).get_event, None)


def _node(event: Any, events: Iterator[Any]) -> Node:
    node = Node(event.start_mark.index, event.end_mark.index, getattr(event, "style", None) or "")
    if type(event) in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
        node.is_list, node.flow = type(event) is yaml.SequenceStartEvent, bool(event.flow_style)
        following = next(events)
        while type(following) not in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
            key = _node(following, events)
            if not node.is_list:
                node.names.setdefault(getattr(following, "value", ""), len(node.children))
            node.children.append((key, key if node.is_list else _node(next(events), events)))
            following = next(events)
        node.end = following.end_mark.index if node.flow else node.children[-1][1].end
    return node
