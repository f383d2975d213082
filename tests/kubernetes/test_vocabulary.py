"""What Kubernetes calls things is written once in the generator."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[2] / "generator/slicewright"
KEY = re.compile(r"([a-z0-9-]+\.)+(io|dev|com|sh|domain)/[A-Za-z0-9._-]*")
"""A key of a label, an annotation, a taint or a resource, or an API version with its group."""
GO_MODULES = "binaries"


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, without docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_a_key_and_an_api_version_are_written_once() -> None:
    """Everyone else imports the constant, so that a second spelling cannot differ."""
    places = defaultdict(list)
    for file in PACKAGE.rglob("*.py"):
        name = file.relative_to(PACKAGE)
        if name.parts[0] == GO_MODULES:
            continue
        for line, text in _strings(ast.parse(file.read_text(encoding="utf-8"))):
            if KEY.fullmatch(text):
                places[text].append(f"{name}:{line}")
    assert len(places) > 40
    assert {key: found for key, found in places.items() if len(found) > 1} == {}
