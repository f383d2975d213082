"""The schemas of TPUWorkload, TPUCluster and slicewright.yaml: sound, described, closed, and right."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import yaml

from .kit import (
    BASE,
    HERE,
    NAMES,
    OURS,
    REGISTRY,
    ROOT,
    SCHEMAS,
    Place,
    engine,
    everywhere,
    examples,
    resolve,
    schema_of,
    walk,
)

POSITIVE = examples("positive")
NEGATIVE = examples("negative")
ANNOTATIONS = {"$ref", "description", "default", "examples"}


def _id(value: object) -> str:
    return value.stem if isinstance(value, Path) else ""


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_draft_07(name: str) -> None:
    """Each schema is valid draft-07, says so, and has no `$id` that would send an editor to the network."""
    schema = SCHEMAS[name]
    jsonschema.Draft7Validator.check_schema(schema)
    expected = ("http://json-schema.org/draft-07/schema#", False)
    assert expected == (schema["$schema"], "$id" in schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_compiles(name: str) -> None:
    """Each schema compiles with all that it refers to; only the common one has nothing against a list."""
    assert (name == "slicewright/common.json") == engine(name).is_valid([])


@pytest.mark.parametrize("name", OURS)
def test_every_field_is_described(name: str) -> None:
    """Each property at each level of our own schemas has a description where it stands, for the editor."""
    silent = [
        f"{place}.{key}"
        for place, schema in _described(name)
        for key, node in schema.get("properties", {}).items()
        if len(node.get("description", "")) < len("Which.") or not node["description"].endswith(".")
    ]
    assert silent == []


def _described(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the schemas of a file that describe values; of the common file those of its definitions."""
    schema = SCHEMAS[name]
    parts = [schema, *schema.get("definitions", {}).values()]
    return [found for part in parts for found in walk(name, part)]


@pytest.mark.parametrize("name", OURS)
def test_forms_are_described(name: str) -> None:
    """Each element and each value of a map that must have a form says which, for the message of a refusal."""
    silent = [
        place
        for place, schema in _described(name)
        if place.endswith(("[]", "{}")) and "pattern" in schema and "description" not in schema
    ]
    assert silent == []


OPEN = {"spec.kueue", "spec.patches[].ops[].value", "spec.pools[].nodeConfig.terraformArguments"}
"""Kueue's Configuration, a JSON value, arguments of the google provider: what others define."""


@pytest.mark.parametrize("name", OURS)
def test_every_object_is_closed(name: str) -> None:
    """Unknown keys are errors: each object of ours is closed or a map with described values."""
    opened = [
        place
        for place, schema in _described(name)
        if "object" in _types(schema) and schema.get("additionalProperties", True) is True
        if place not in OPEN
    ]
    assert opened == []


@pytest.mark.parametrize("name", OURS)
def test_every_value_has_a_type(name: str) -> None:
    """Each schema of ours says of which type the value is, or names the values themselves."""
    loose = [
        place
        for place, schema in _described(name)
        if place not in OPEN and not {"type", "const", "anyOf", "definitions"} & set(schema)
    ]
    assert loose == []


def _types(schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


@pytest.mark.parametrize("name", OURS)
def test_references_have_annotations_only(name: str) -> None:
    """Draft-07 ignores what stands beside a `$ref`, so only annotations stand there; it leads somewhere."""
    for node in everywhere(SCHEMAS[name]):
        if isinstance(node.get("$ref"), str):
            assert set(node) <= ANNOTATIONS, node
            assert resolve(name, node)[1] != {}, node


@pytest.mark.parametrize("name", OURS)
def test_conditions_name_declared_fields(name: str) -> None:
    """A condition that requires or forbids a field names one that exists."""
    unknown = [
        (place, key)
        for place, schema in _described(name)
        for keyword in ("allOf", "if", "then", "else", "dependencies", "required")
        for key in _named(schema.get(keyword, {}))
        if key not in schema["properties"]
    ]
    assert unknown == []


def _named(condition: object) -> set[str]:
    """Return the fields that a condition names."""
    if isinstance(condition, list):
        return {name for part in condition for name in ([part] if isinstance(part, str) else _named(part))}
    if not isinstance(condition, dict):
        return set()
    names: set[str] = set()
    for key, value in condition.items():
        if key == "properties":
            names |= set(value)
        elif key in {"if", "then", "else", "required"}:
            names |= _named(value)
        elif key in {"type", "enum"}:
            continue
        else:
            names |= {key} | _named(value)
    return names


@pytest.mark.parametrize("name", SCHEMAS)
def test_patterns_are_portable(name: str) -> None:
    """Patterns compile in Python, Rust's linear engine and RE2: anchored, no look-around, no inline flags."""
    patterns = {node["pattern"] for node in everywhere(SCHEMAS[name]) if isinstance(node.get("pattern"), str)}
    for pattern in patterns:
        re.compile(pattern)
        jsonschema_rs.Draft7Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
        forbidden = re.findall(r"\(\?(?!:)|\\[1-9zZAbB]", pattern)
        expected: tuple[str, str, list[str]] = ("^", "$", [])
        assert expected == (pattern[0], pattern[-1], forbidden)


@pytest.mark.parametrize("name", OURS)
def test_defaults_and_examples_are_valid(name: str) -> None:
    """The default and the examples of a field are values that its schema accepts."""
    wrong = [
        (place, key, value)
        for place, schema in _described(name)
        for key, node in {**schema.get("properties", {}), "(itself)": schema}.items()
        for value in [*node.get("examples", []), *([node["default"]] if "default" in node else [])]
        if not _accepts(name, node, value)
    ]
    assert wrong == []


def _accepts(name: str, node: dict[str, Any], value: object) -> bool:
    """Return whether a subschema of a file accepts a value."""
    definitions = {
        **SCHEMAS["slicewright/common.json"]["definitions"],
        **SCHEMAS[name].get("definitions", {}),
    }
    inside = {"$id": f"{BASE}slicewright/inside.json", "definitions": definitions, "allOf": [node]}
    return jsonschema_rs.Draft7Validator(inside, registry=REGISTRY).is_valid(value)


@pytest.mark.parametrize(("path", "document"), POSITIVE, ids=_id)
def test_good_input_is_accepted(path: Path, document: Any) -> None:
    """What the design and the seeds write is accepted."""
    errors = engine(schema_of(path, document)).iter_errors(document)
    assert [] == [(error.instance_path, error.message) for error in errors]


@pytest.mark.parametrize(("path", "document"), NEGATIVE, ids=_id)
def test_bad_input_is_refused_where_it_is_bad(path: Path, document: Any) -> None:
    """One mistake, named by the file: it is refused where the first line says, nowhere else."""
    errors = engine(schema_of(path, document)).iter_errors(document)
    expected = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# refused at ")
    assert {expected} == {_dotted(tuple(error.instance_path)) for error in errors}


def _dotted(place: Place) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.lstrip(".") or "(root)"


@pytest.mark.parametrize("name", NAMES.values())
def test_good_input_uses_every_field(name: str) -> None:
    """The accepted examples together use each field at each level, so that none is there untried."""
    used: set[str] = set()
    for path, document in POSITIVE:
        if schema_of(path, document) == name:
            used |= _places(document, "")
    declared = {place for place, _ in walk(name, SCHEMAS[name]) if place and "{}" not in place}
    assert sorted(declared - used) == []


def _places(value: object, place: str) -> set[str]:
    found = {place}
    if isinstance(value, dict):
        for key, item in value.items():
            found |= _places(item, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for item in value:
            found |= _places(item, f"{place}[]")
    return found


def test_examples_of_both_kinds_are_there() -> None:
    """The folders hold examples of every format, and each bad file holds one document."""
    assert set(NAMES.values()) == {schema_of(*example) for example in POSITIVE}
    assert set(NAMES.values()) == {schema_of(*example) for example in NEGATIVE}
    assert len(list((HERE / "negative").glob("*.yaml"))) == len(NEGATIVE)


def test_sources_name_the_vendored_files() -> None:
    """Each schema that is not ours has source, version, licence and the sha256 of the file as it is."""
    sources = yaml.load((ROOT / "sources.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)["files"]
    recorded = {source["file"]: source["sha256"] for source in sources}
    actual = {
        name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        for name in SCHEMAS
        if not name.startswith("slicewright/")
    }
    assert actual == recorded
    keys = {"file", "project", "version", "from", "from_sha256", "crd", "licence", "made", "sha256"}
    assert [keys] * len(sources) == [set(source) for source in sources]


POD = "kubernetes/pod-template.json"


@pytest.mark.parametrize(
    ("template", "accepted"),
    [
        ({}, True),
        ({"spec": {"containers": [{"name": "main"}]}}, True),
        ({"metadata": {"labels": {"a": "b"}, "annotations": {"gke-gcsfuse/volumes": "true"}}}, True),
        ({"spec": {"tolerations": [{"key": "a", "operator": "Exists"}], "nodeSelector": {"a": "b"}}}, True),
        (
            {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]}},
            True,
        ),
        ({"spec": {"containers": [{"name": "a", "resources": {"limits": {"memory": "16GB"}}}]}}, False),
        ({"spec": {"containers": [{"image": "a"}]}}, False),
        ({"spec": {"containers": [{"name": "a", "env": [{"name": "A", "value": 1}]}]}}, False),
        ({"spec": {"nodeSelector": None}}, False),
        ({"spec": {"terminationGracePeriodSeconds": 2**63}}, False),
        ({"spec": {"ephemeralContainers": []}}, False),
        ({"spec": {"tolaration": []}}, False),
        ({"metadata": {"name": "a"}}, False),
        ({"status": {}}, False),
    ],
)
def test_pod_template_is_partial_and_strict(template: dict[str, Any], *, accepted: bool) -> None:
    """A pod template may leave out what slicewright makes; what a strict API server refuses is refused."""
    assert accepted == engine(POD).is_valid(template)


def test_pod_template_is_small_and_canonical() -> None:
    """The vendored schema is written in the one spelling, and stays below 100 kB."""
    text = (ROOT / POD).read_text(encoding="utf-8")
    assert json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n" == text
    assert len(text) < 100_000
