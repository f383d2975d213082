"""CustomResourceDefinition to JSON Schema: one test a rule of the conversion."""

from typing import Any

import jsonschema_rs
import pytest

from slicewright.schema.kind import NoCrdError, from_crd


def crd(spec: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    """Return a CRD of the kind Thing whose `spec` has a schema."""
    root = {"type": "object", "properties": {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}}
    if spec is not None:
        root["properties"]["spec"] = spec  # type: ignore[index]
    return {
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.test",
            "scope": "Namespaced",
            "names": {"kind": "Thing"},
            "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": {**root, **version.pop("root", {})}}, **version}
            ],
        },
    }


def thing(spec: Any = None, **more: Any) -> dict[str, Any]:
    """Return an object of that kind."""
    body = {"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": "a"}, **more}
    return body if spec is None else {**body, "spec": spec}


def accepts(definition: dict[str, Any], value: dict[str, Any], **options: Any) -> bool:
    """Tell whether the schema that is made of a CRD takes an object."""
    (made,) = from_crd(definition, **options)
    return jsonschema_rs.Draft7Validator(made.schema).is_valid(value)


def test_file_is_where_kubeconform_looks() -> None:
    """The file is <group>/<kind in lower case>_<version>.json, and the text ends with a newline."""
    (made,) = from_crd(crd())
    assert made.of.file == "example.test/thing_v1.json"
    assert str(made.of) == "example.test/v1 Thing"
    assert made.text().endswith("}\n")


@pytest.mark.parametrize(
    ("metadata", "accepted"),
    [
        ({"name": "a"}, True),
        ({"generateName": "a-"}, True),
        ({}, False),
        ({"name": "A"}, False),
        ({"name": "a" * 254}, False),
        ({"name": "a", "lables": {}}, False),
        ({"name": "a", "labels": {"a": 1}}, False),
        ({"name": "a", "labels": {"a": "b c"}}, False),
        ({"name": "a", "labels": {"a": "b" * 64}}, False),
        ({"name": "a", "labels": {"a b": "c"}}, False),
        ({"name": "a", "labels": {"example.test/a": ""}}, True),
        ({"name": "a", "labels": None, "annotations": {"A.Test/b": None}}, True),
        ({"name": "a", "annotations": {"a": True}}, False),
        ({"name": "a", "creationTimestamp": None}, True),
        ({"name": "a", "creationTimestamp": "yesterday"}, False),
        ({"name": "a", "ownerReferences": [{"name": "b"}]}, False),
    ],
)
def test_metadata_is_checked(metadata: dict[str, Any], *, accepted: bool) -> None:
    """What ValidateObjectMeta refuses is refused, and nothing else."""
    (made,) = from_crd(crd())
    validator = jsonschema_rs.Draft7Validator(made.schema, validate_formats=True)
    assert accepted == validator.is_valid(thing(metadata=metadata))


@pytest.mark.parametrize(
    ("node", "value", "accepted"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"b": 1}, False),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {"b": 1},
            True,
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": None}, True),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {"a": None}, False),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}},
            {},
            True,
        ),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": None}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}, False),
        ({"type": "integer", "format": "int32"}, 2**31, False),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "a"], False),
        ({"type": "array", "items": {"type": "string"}}, [None], False),
        ({"x-kubernetes-int-or-string": True}, "a", True),
        ({"x-kubernetes-int-or-string": True}, [], False),
        ({"type": "string", "pattern": "^(?i)[a-z]$"}, "A", True),
    ],
)
def test_fields_follow_the_api_server(node: dict[str, Any], value: Any, *, accepted: bool) -> None:
    """Closed objects, dropped nulls, defaults, ranges, sets and patterns are as in the API server."""
    assert accepted == accepts(crd(node), thing(value))


def test_root_is_closed_unless_it_preserves_unknown_fields() -> None:
    """`spce:` beside spec is refused; a root that preserves unknown fields takes it."""
    assert not accepts(crd({"type": "object"}), thing(spce={}))
    assert accepts(crd(root={"x-kubernetes-preserve-unknown-fields": True}), thing(spce={}))
    assert not accepts(crd(), {**thing(), "kind": "Other"})


@pytest.mark.parametrize("pattern", [r"\z", "[[:alpha:]]", "(?s).", "("])
def test_patterns_that_only_go_knows_are_left_out_with_a_note(pattern: str) -> None:
    """Nobody is told a lie: the note names the pattern."""
    (made,) = from_crd(crd({"type": "string", "pattern": pattern}))
    assert made.notes == (f"pattern {pattern} is left out: only Go can evaluate it",)
    assert jsonschema_rs.Draft7Validator(made.schema).is_valid(thing("anything"))


def test_fields_that_a_webhook_fills_in_are_optional() -> None:
    """Required fields at the places that are named may be left out, in lists and in maps."""
    inner = {"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}}}
    node = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": inner},
            "map": {"type": "object", "additionalProperties": inner},
        },
    }
    places = ("/spec/list/*/a", "/spec/map/*/a")
    assert not accepts(crd(node), thing({"list": [{"b": 1}]}))
    assert accepts(crd(node), thing({"list": [{"b": 1}], "map": {"x": {"b": 1}}}), defaulted=places)
    assert not accepts(crd(node), thing({"map": {"x": {"a": 1}}}), defaulted=places)


def test_what_json_schema_cannot_say_stands_beside() -> None:
    """Scope, deprecation, list-map keys with defaults, and CEL rules; nothing of the status."""
    items = {
        "type": "object",
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    ports = {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    node = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.a\n", "message": "no"}, {"rule": "self.b"}],
        "properties": {
            "hosts": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"ports": ports}},
            }
        },
    }
    root = {"properties": {"spec": node, "status": node}}
    (made,) = from_crd(crd(root=root, deprecated=True))
    assert made.schema["x-slicewright"] == {
        "scope": "Namespaced",
        "deprecated": "example.test/v1 Thing is deprecated",
        "listMaps": [
            {"path": "/spec/hosts/*/ports", "keys": ["port", "protocol"], "defaults": {"protocol": "TCP"}}
        ],
        "cel": [{"path": "/spec", "rule": "self.a", "message": "no"}, {"path": "/spec", "rule": "self.b"}],
    }


def test_versions_that_are_not_served_are_left_out() -> None:
    """A version that the API server does not serve has no schema."""
    assert list(from_crd(crd(served=False))) == []


UNNAMED = {**crd(), "spec": {**crd()["spec"], "names": {"kind": True}}}


@pytest.mark.parametrize(
    "document", [{}, {"spec": None}, {"spec": {"versions": []}}, {"spec": []}, UNNAMED], ids=range(5)
)
def test_what_is_no_crd_is_refused(document: dict[str, Any]) -> None:
    """A document without the parts of a CRD raises, and says what it is not."""
    with pytest.raises(NoCrdError, match="not a CustomResourceDefinition"):
        list(from_crd(document))


def test_forms_that_only_a_default_tells_apart_are_both_taken() -> None:
    """Without the default that the API server fills in, a value may have several of the forms of a oneOf."""
    address = {
        "type": "object",
        "properties": {"type": {"type": "string", "default": "IP"}, "value": {"type": "string"}},
        "oneOf": [{"properties": {"type": {"enum": ["IP"]}}}, {"properties": {"type": {"enum": ["Host"]}}}],
    }
    (made,) = from_crd(crd(address))
    validator = jsonschema_rs.Draft7Validator(made.schema["properties"]["spec"])
    assert [True, True, False] == [
        validator.is_valid({"value": "a", **more}) for more in ({}, {"type": "Host"}, {"type": "Name"})
    ]
