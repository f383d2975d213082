"""Every field of a managed TPUCluster has an effect: on what is rendered, or on what is refused."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.kubernetes.problem import errors
from slicewright.rendering.platform_tree import platform_tree_files

from .kit import repository

TABLE = yaml.load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[3] / "schemas/slicewright/tpucluster.json").read_text(encoding="utf-8")
)


def fields(schema: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the paths of all fields of a schema; those of a list's elements after `[]`."""
    found = []
    for name, below in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        items = below.get("items", {})
        deeper = fields(below, f"{path}.") + fields(items, f"{path}[].")
        found += deeper or [path]
    return found


def put(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with a value at a path; of a list the element with the field or the first one."""
    changed = copy.deepcopy(document)
    at: Any = changed
    *steps, last = path.split(".")
    for step in steps:
        at = at.setdefault(step.removesuffix("[]"), [{}] if step.endswith("[]") else {})
        at = at[0] if isinstance(at, list) else at
    at[last] = value
    return changed


def outcome(document: dict[str, Any]) -> tuple[list[str], str]:
    """Return the ids of the errors, and without them everything that is rendered for the cluster."""
    found = repository(json.dumps(document))
    made, against = platform_tree_files(found) if not errors(found.problems) else ({}, [])
    ids = [problem.id for problem in errors((*found.problems, *against))]
    return ids, "" if ids else json.dumps(made)


@cache
def outcome_of(context: str) -> tuple[list[str], str]:
    """Return the outcome of a context of the table without a change."""
    return outcome(TABLE["contexts"][context])


def test_every_field_of_the_schema_is_in_the_table() -> None:
    """fields.yaml speaks of each field, and of none that is not there."""
    rows = [row for context in TABLE["fields"].values() for row in context]
    elsewhere = tuple(TABLE["elsewhere"])

    assert sorted(rows) == sorted(field for field in fields(SCHEMA) if not field.startswith(elsewhere))


@pytest.mark.parametrize(
    ("context", "path"), [(context, path) for context, rows in TABLE["fields"].items() for path in rows]
)
def test_field_is_rendered_or_refused(context: str, path: str) -> None:
    """With another value of the field other files are rendered, or an error says why it cannot be."""
    row = TABLE["fields"][context][path]
    before = outcome_of(context)

    after = outcome(put(TABLE["contexts"][context], path, row["set"]))

    assert before[0] == []
    if "refused" in row:
        assert {row["refused"]} == set(after[0])
    else:
        assert after[0] == []
        assert before[1] != after[1]
