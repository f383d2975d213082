"""Modules import one another in one direction, in what only type checkers import, too."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

GENERATOR = Path(__file__).resolve().parents[1] / "generator"


def module(path: Path) -> str:
    """Return the name of the module in a file."""
    parts = path.relative_to(GENERATOR).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules that one imports anywhere, also inside of functions and for types."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= below & known or {str(node.module)}
    return names & known


@pytest.mark.slow
def test_modules_import_one_another_in_one_direction() -> None:
    """No module imports itself by way of others, wherever the import stands."""
    files = {module(path): path for path in sorted(GENERATOR.rglob("*.py"))}
    imports = {
        name: imported(ast.parse(path.read_text(encoding="utf-8")), {*files}) for name, path in files.items()
    }
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
