"""Right objects of many kinds, each broken in one place: that is found, and nothing else is said."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.rules.kit import run

from slicewright.check.engine import Engine
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.check.rules.every import RULES
from slicewright.check.run import RuleSet
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

TABLES = [
    yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    for path in sorted(Path(__file__).parent.glob("mutations*.yaml"))
]
BASES = {
    name: list(yaml.load_all(text, yaml.CSafeLoader))
    for table in TABLES
    for name, text in table["bases"].items()
}
BROKEN = [row for table in TABLES for row in table["broken"]]
_ELSEWHERE = ("GIT", "SCHEMA001", "SCHEMA009")
"""Not about the mutation: advice for GitOps, kinds without a schema, versions that are deprecated."""


def _ids(objects: list[dict[str, Any]]) -> set[str]:
    """Return the ids of all that is said of some objects of one file."""
    engine = Engine(kind_schemas())
    items = [Resource(data, "objects.yaml") for data in objects]
    found = [*run(ObjectSet(items, catalogue()))]
    for item in items:
        found += (*engine.schema_problems(item), *engine.key_problems(item))
    said = RuleSet(RULES).without_repeats(found)
    return {problem.id for problem in said if not problem.id.startswith(_ELSEWHERE)}


def _changed(row: dict[str, Any]) -> list[dict[str, Any]]:
    objects = deepcopy(BASES[row["base"]])
    *way, last = row["at"]
    holder: Any = objects
    for key in way:
        holder = holder[key]
    if "to" in row:
        holder[last] = row["to"]
    else:
        del holder[last]
    return objects


@pytest.mark.parametrize("name", BASES)
def test_right_objects_are_clean(name: str) -> None:
    """Nothing is said of objects as the documentation of their controllers writes them."""
    assert set() == _ids(BASES[name])


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: f"{row['base']}-{row['finds']}")
def test_one_mistake_is_found(row: dict[str, Any]) -> None:
    """One value that is wrong or missing is reported by its rule alone."""
    assert set(row["finds"].split()) == _ids(_changed(row))
