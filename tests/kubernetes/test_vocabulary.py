"""What Kubernetes calls things is written once in the generator."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from slicewright.kubernetes.kinds import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.untraced]

PACKAGE = Path(__file__).parents[2] / "generator/slicewright"
KEY = re.compile(r"([a-z0-9-]+\.)+(io|dev|com|sh|domain)/[A-Za-z0-9._-]*")
"""A key of a label, an annotation, a taint or a resource, or an API version with its group."""


@cache
def modules() -> dict[str, list[ast.AST]]:
    """Return the nodes that the tests read, of all modules of the generator, by the paths of these in it."""
    read = ast.Constant | ast.Expr | ast.Tuple | ast.List | ast.Set | ast.Dict
    return {
        str(file.relative_to(PACKAGE)): [
            node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, read)
        ]
        for file in sorted(PACKAGE.rglob("*.py"))
    }


def _strings(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, without docstrings."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_a_key_and_an_api_version_are_written_once() -> None:
    """Everyone else imports the constant, so that a second spelling cannot differ."""
    places = defaultdict(list)
    for name, nodes in modules().items():
        for line, text in _strings(nodes):
            if KEY.fullmatch(text):
                places[text].append(f"{name}:{line}")
    assert len(places) > 40
    assert {key: found for key, found in places.items() if len(found) > 1} == {}


def _collections(nodes: list[ast.AST]) -> Iterator[tuple[int, set[str]]]:
    """Yield the tuples, lists, sets and mappings of a module with the strings in them and in their pairs."""
    for node in nodes:
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            entries = node.keys if isinstance(node, ast.Dict) else node.elts
            pairs = [part for entry in entries if isinstance(entry, ast.Tuple) for part in entry.elts]
            constants = (part.value for part in (*entries, *pairs) if isinstance(part, ast.Constant))
            yield node.lineno, {text for text in constants if isinstance(text, str)}


@pytest.mark.parametrize("field", ["kind", "plural", "group", "version"])
def test_kinds_of_runs_are_listed_once(field: str) -> None:
    """Who needs all kinds of runs reads the table, so that a new kind is one entry."""
    everything = {getattr(run, field) for run in RUNS}
    lists = [
        f"{name}:{line}"
        for name, nodes in modules().items()
        for line, strings in _collections(nodes)
        if everything <= strings and not name.endswith("kubernetes/kinds.py")
    ]
    assert [] == lists
