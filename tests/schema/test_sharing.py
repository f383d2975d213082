"""Subschemas written once mean what they meant when they were written out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.schema.from_crd import shared, shared_by_all

LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer", "enum": list(range(80))}, {}])
SCHEMAS = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abc"), below, max_size=3)}),
        st.fixed_dictionaries({"items": below, "additionalProperties": st.sampled_from([False])}),
        st.fixed_dictionaries({"additionalProperties": below, "not": below}),
        st.fixed_dictionaries({"anyOf": st.lists(below, min_size=1, max_size=3)}),
    ),
    max_leaves=12,
)


def written_out(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with every reference replaced by what it stands for."""
    if isinstance(schema, list):
        return [written_out(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"$ref"}:
        return written_out(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: written_out(value, definitions) for key, value in schema.items() if key != "definitions"}


@pytest.mark.slow
@given(SCHEMAS)
def test_sharing_changes_nothing(schema: dict[str, Any]) -> None:
    """Written out again, a shared schema is the one it was made from."""
    made = shared(schema)
    assert schema == written_out(made, made.get("definitions", {}))


@pytest.mark.slow
@given(SCHEMAS)
def test_sharing_is_deterministic(schema: dict[str, Any]) -> None:
    """The order of keys in a mapping decides nothing but the order of keys."""
    reverse = dict(reversed(list(schema.items())))
    assert shared(schema) == shared(reverse)


def test_names_come_from_fields() -> None:
    """A definition is called after its field; a second one of that name gets a number."""
    large, other = {"enum": ["x" * 200]}, {"enum": ["y" * 200]}
    twice = {"properties": {"port": large, "z": large}}
    again = {"properties": {"port": other, "z": other}}
    made = shared({"properties": {"a": twice, "b": again, "list": {"items": large}}})
    assert {"Port": large, "Port2": other} == made["definitions"]


LARGE = {"enum": ["x" * 200]}
LARGER = {"properties": {"large": LARGE, "own": {"type": "string"}}}


def test_what_several_schemas_need_is_defined_once() -> None:
    """Each refers to it; what only one repeats stays with that one, under a name of its own."""
    own = {"enum": ["y" * 200]}
    schemas, definitions = shared_by_all(
        {
            "a/a.json": {"properties": {"one": LARGER, "large": own, "z": own}},
            "b/b.json": {"properties": {"two": LARGER}, "definitions": {"v1.Own": {}}},
            "c/c.json": {"definitions": {"v1.Own": {}}, "not": {"$ref": "#/definitions/v1.Own"}},
        }
    )
    assert definitions == {"One": LARGER, "v1.Own": {}}
    assert schemas["a/a.json"]["definitions"] == {"Large": own}
    assert schemas["b/b.json"] == {"properties": {"two": {"$ref": "../definitions.json#/definitions/One"}}}
    assert schemas["c/c.json"] == {"not": {"$ref": "../definitions.json#/definitions/v1.Own"}}


def test_name_that_means_two_things_is_refused() -> None:
    """Schemas with other definitions of one name cannot share them."""
    with pytest.raises(ValueError, match=r"'v1\.Own' is defined in several ways"):
        shared_by_all({"a": {"definitions": {"v1.Own": {}}}, "b": {"definitions": {"v1.Own": LARGE}}})
