"""What an error of the schema engine is called, and what to do about it."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.check.kit import jobset, problems, run

from slicewright.check.schema_messages import explained


def named(**metadata: Any) -> dict[str, Any]:
    """Return a JobSet with other metadata."""
    return {**jobset(), "metadata": {"name": "a", **metadata}}


@pytest.mark.parametrize(
    ("data", "ident", "message", "hint"),
    [
        (named(name="A_b"), "SCHEMA007", "'name' cannot be 'A_b'", "lower-case letters"),
        (named(namespace="a.b"), "SCHEMA007", "'namespace' cannot be 'a.b'", "at most 63"),
        (named(labels={"a": "b c"}), "SCHEMA007", "'a' cannot be 'b c'", "write at most 63 letters"),
        (named(labels={"a b": "c"}), "SCHEMA007", "'a b' cannot be a key of 'labels'", "name"),
        (
            named(labels={"a": 1}),
            "SCHEMA003",
            "'a' must be a string, not an integer (1)",
            "write it in quotes",
        ),
        (
            named(creationTimestamp="now"),
            "SCHEMA007",
            "'creationTimestamp' cannot be 'now'",
            "2026-01-31T12:00:00Z",
        ),
        ({**jobset(), "metadata": {}}, "SCHEMA005", "'name' is missing", "add 'name', or generateName"),
        ({**jobset(), "metadata": None}, "SCHEMA003", "'metadata' must be a mapping, not null", ""),
        (
            jobset(network={"subdomin": "a"}),
            "SCHEMA004",
            "unknown key 'subdomin'",
            "did you mean 'subdomain'?",
        ),
        (jobset(replicatedJobs=[{"name": "a"}]), "SCHEMA005", "'template' is missing", "add 'template'"),
        (
            jobset(successPolicy={"operator": "all"}),
            "SCHEMA006",
            "'operator' cannot be 'all'",
            "did you mean 'All'?",
        ),
        (
            jobset(container={"resources": {"limits": {"cpu": "16GB"}}}),
            "SCHEMA007",
            "'cpu' cannot be '16GB'",
            "a quantity, for example 500m",
        ),
        (
            jobset(container={"resources": {"limits": {"cpu": []}}}),
            "SCHEMA003",
            "'cpu' must be an integer or a string, not a list",
            "a quantity",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "a"},
                "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1GB"}}}]},
            },
            "SCHEMA007",
            "'cpu' cannot be '1GB'",
            "a quantity",
        ),
        (
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": {"name": "a"},
                "spec": {"clusterQueue": "A"},
            },
            "SCHEMA007",
            "'clusterQueue' cannot be 'A'",
            "write a value that matches ^",
        ),
    ],
)
def test_message_and_hint(data: dict[str, Any], ident: str, message: str, hint: str) -> None:
    """One problem, in words that people use, with what to write instead."""
    (problem,) = problems(data)
    assert (ident, message) == (problem.id, problem.message)
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("schema", "value", "ident"),
    [
        ({"oneOf": [{"required": ["b"]}, {"required": ["c"]}]}, {}, "SCHEMA008"),
        ({"oneOf": [{"required": ["b"]}, {"required": ["c"]}]}, {"b": 1, "c": 1}, "SCHEMA008"),
        ({"anyOf": [{"required": ["b"]}, {"minProperties": 2}]}, {}, "SCHEMA008"),
        ({"anyOf": [{"required": ["b"]}]}, {}, "SCHEMA005"),
        ({"not": {"required": ["b"]}}, {"b": 1}, "SCHEMA008"),
        ({"type": "string"}, 5, "SCHEMA003"),
        ({"type": ["integer", "null"], "minimum": 3}, 2, "SCHEMA007"),
        ({"enum": [None, ""]}, "a", "SCHEMA006"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "SCHEMA007"),
    ],
)
def test_every_keyword_has_an_id(schema: dict[str, Any], value: Any, ident: str) -> None:
    """At the root and below it, alternatives and exclusions are named as such."""
    for whole, data in ((schema, value), ({"properties": {"a": schema}}, {"a": value})):
        errors = list(jsonschema_rs.Draft7Validator(whole).iter_errors(data))
        assert [ident] == [problem.id for problem in explained(whole, errors)]


def test_wrong_type_is_reported_for_that_alone() -> None:
    """A number where a pattern is asked for is a wrong type, not two problems."""
    schema = {"type": "object", "required": ["a"]}
    whole = {"properties": {"b": schema}, "anyOf": [{"type": "object"}]}
    errors = list(jsonschema_rs.Draft7Validator(whole).iter_errors({"b": 5}))
    assert [(problem.id, problem.path) for problem in explained(whole, errors)] == [("SCHEMA003", ("b",))]


def test_keys_of_digits_stay_texts(tmp_path: Path) -> None:
    """A key that looks like a number is named as it is, and not taken for an index."""
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {'01': 2, 8080: 3}}\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")

    found = run(tmp_path, "a.yaml", "-o", "json").json["problems"]

    assert [("SCHEMA003", "data.01", 69), ("SCHEMA003", "data.8080", 78)] == [
        (one["id"], one["path"], one["column"]) for one in found
    ]
