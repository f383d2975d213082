"""From a CRD's structural schema to a JSON Schema: one test a rule."""

from typing import Any

import jsonschema
import pytest

from slicewright.schema.from_crd import DRAFT, convert, dumps, pod_template, share, subschema

STRING = {"type": "string"}
OPTIONAL = {"type": ["string", "null"]}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(
            {"type": "string", "description": "text", "x-kubernetes-map-type": "atomic", "title": "T"},
            STRING,
            id="text and extensions go",
        ),
        pytest.param(
            {"type": "string", "minLength": 1, "maxLength": 2, "enum": ["a"], "default": "a"},
            {"type": "string", "minLength": 1, "maxLength": 2, "enum": ["a"], "default": "a"},
            id="what JSON Schema knows stays",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
            {"type": "object", "properties": {"a": STRING}, "required": ["a"], "additionalProperties": False},
            id="an object with properties is closed",
        ),
        pytest.param(
            {"type": "object", "properties": {"description": STRING, "properties": STRING}},
            {
                "type": "object",
                "properties": {"description": STRING, "properties": STRING},
                "additionalProperties": False,
            },
            id="a field may be called description or properties",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": STRING}, "x-kubernetes-preserve-unknown-fields": True},
            {"type": "object", "properties": {"a": STRING}},
            id="an object that preserves unknown fields is open",
        ),
        pytest.param({"type": "object"}, {"type": "object"}, id="an object without properties is open"),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string", "description": "text"}},
            {"type": "object", "additionalProperties": STRING},
            id="a map has values",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True},
            {"type": "object"},
            id="a map of anything is open",
        ),
        pytest.param(
            {"anyOf": [{"type": "integer"}, STRING], "x-kubernetes-int-or-string": True, "pattern": "^1$"},
            {"anyOf": [{"type": "integer"}, STRING], "pattern": "^1$"},
            id="an integer or a string",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            {"anyOf": [{"type": "integer"}, STRING]},
            id="an integer or a string that only the extension says",
        ),
        pytest.param(
            {"type": "string", "format": "int-or-string"},
            {"anyOf": [{"type": "integer"}, STRING]},
            id="an integer or a string in the old way",
        ),
        pytest.param(
            {"type": "integer", "format": "int32"},
            {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
            id="int32 is a range",
        ),
        pytest.param(
            {"type": "integer", "format": "int64", "minimum": 0, "maximum": 5},
            {"type": "integer", "minimum": 0, "maximum": 5},
            id="the range keeps narrower limits",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date-time"},
            id="a format that validators know stays",
        ),
        pytest.param({"type": "string", "format": "byte"}, STRING, id="another format goes"),
        pytest.param(
            {"type": "array", "items": {"type": "string", "description": "text"}},
            {"type": "array", "items": STRING},
            id="a list has items",
        ),
        pytest.param(
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            {"type": "array", "items": STRING, "uniqueItems": True},
            id="a set has unique items",
        ),
        pytest.param(
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "map"},
            {"type": "array", "items": STRING},
            id="the keys of a list map are a semantic rule",
        ),
        pytest.param(
            {"type": "string", "pattern": "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$"},
            {"type": "string", "pattern": "^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"},
            id="an inline flag is spelled out",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": STRING}},
            {
                "type": "object",
                "properties": {
                    "apiVersion": STRING,
                    "kind": STRING,
                    "metadata": {"type": "object"},
                    "spec": STRING,
                },
                "required": ["apiVersion", "kind"],
                "additionalProperties": False,
            },
            id="an embedded resource has a kind and perhaps metadata",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": STRING, "b": STRING},
                "oneOf": [
                    {"properties": {"a": {"minLength": 1, "description": "text"}}},
                    {"required": ["b"]},
                ],
                "not": {"required": ["a", "b"]},
            },
            {
                "type": "object",
                "properties": {"a": STRING, "b": STRING},
                "oneOf": [{"properties": {"a": {"minLength": 1}}}, {"required": ["b"]}],
                "not": {"required": ["a", "b"]},
                "additionalProperties": False,
            },
            id="a junctor restricts and never closes",
        ),
        pytest.param(
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
            id="a nullable value may be null",
        ),
    ],
)
def test_rule(node: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each rule of the converter, on the smallest schema that shows it."""
    actual = convert(node)
    jsonschema.Draft7Validator.check_schema(actual)
    assert expected == actual


def test_nulls_let_optional_fields_be_null() -> None:
    """With `nulls` every field that is not required may be null, at each depth; required ones may not."""
    node = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "size": {"x-kubernetes-int-or-string": True, "nullable": True},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "any": {"x-kubernetes-preserve-unknown-fields": True},
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"deep": {"type": "string", "nullable": True}}},
            },
            "map": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"deep": {"type": "string"}}},
            },
        },
    }
    deep = {"type": "object", "properties": {"deep": OPTIONAL}, "additionalProperties": False}
    assert convert(node, nulls=True) == {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": STRING,
            "size": {"anyOf": [{"type": "integer"}, STRING, {"type": "null"}]},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "any": {},
            "list": {"type": ["array", "null"], "items": deep},
            "map": {"type": ["object", "null"], "additionalProperties": deep},
        },
    }


def test_convert_leaves_its_input_alone() -> None:
    """The CRD that is passed in is the same afterwards."""
    node = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}, "required": ["a"]}
    convert(node, nulls=True)
    assert node == {
        "type": "object",
        "properties": {"a": {"type": "string", "nullable": True}},
        "required": ["a"],
    }


NESTED = {
    "type": "object",
    "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"port": STRING}}},
        "one": {"type": "object", "properties": {"port": {"type": "integer"}}},
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("list[].port", {"type": "integer"}),
        ("map{}.port", STRING),
        ("map{}", {"type": "object", "properties": {"port": STRING}}),
    ],
)
def test_subschema_steps_into_lists_and_maps(path: str, expected: dict[str, Any]) -> None:
    """A path leads through properties, `[]` through items and `{}` through the values of a map."""
    assert expected == subschema(NESTED, path)


def test_share_writes_equal_subtrees_once() -> None:
    """A named subtree stands under `definitions`, and all its equals refer to it, in definitions as well."""
    ref = {"$ref": "#/definitions/Port"}
    box = {"type": "object", "properties": {"port": ref}}
    expected = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"$ref": "#/definitions/Box"}},
            "map": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"port": STRING}},
            },
            "one": {"$ref": "#/definitions/Box"},
        },
        "definitions": {"Box": box, "Port": {"type": "integer"}},
    }
    assert expected == share(NESTED, {"Box": "one", "Port": "one.port"})


def test_dumps_has_one_spelling() -> None:
    """Keys are sorted, letters stay letters, and a newline ends the file."""
    assert dumps({"b": ["é"], "a": 1}) == '{\n  "a": 1,\n  "b": [\n    "é"\n  ]\n}\n'


def _list(**properties: object) -> dict[str, object]:
    return {"type": "array", "items": _object(**properties)}


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


def _jobset() -> dict[str, Any]:
    """Return the part of a JobSet CRD that the pod template is made from, with little in it."""
    selector = _object(matchExpressions=_list(key=STRING), matchLabels=STRING)
    probe = _object(httpGet=_object(path=STRING), periodSeconds={"type": "integer", "format": "int32"})
    limits = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
    container = _list(
        name=STRING,
        env=_list(name=STRING, value=STRING),
        envFrom=_list(prefix=STRING),
        lifecycle=_object(postStart=_object(sleep=STRING)),
        livenessProbe=probe,
        ports=_list(containerPort={"type": "integer"}),
        resources=_object(limits=limits, requests=limits),
        securityContext=_object(privileged={"type": "boolean"}),
        volumeMounts=_list(mountPath=STRING),
    )
    terms = _list(labelSelector=selector)
    spec = _object(
        affinity=_object(podAffinity=_object(requiredDuringSchedulingIgnoredDuringExecution=terms)),
        containers=container,
        ephemeralContainers=container,
        initContainers=container,
        tolerations=_list(effect=STRING),
        topologySpreadConstraints=_list(labelSelector=selector),
        volumes=_list(configMap=_object(items=_list(path=STRING, mode=STRING))),
    )
    spec["required"] = ["containers"]
    metadata = _object(annotations=limits, finalizers=_list(), labels=limits, name=STRING)
    template = _object(metadata=metadata, spec=spec)
    job = _object(spec=_object(template=template))
    return _object(spec=_object(replicatedJobs=_list(template=job)))


def test_pod_template_is_partial() -> None:
    """No container is required, and of the metadata labels and annotations are left."""
    schema = pod_template(_jobset())
    assert schema["$schema"] == DRAFT
    assert set(schema["properties"]["metadata"]["properties"]) == {"annotations", "labels"}
    assert schema["properties"]["spec"] == {"$ref": "#/definitions/PodSpec"}
    spec = schema["definitions"]["PodSpec"]
    assert "required" not in spec
    assert "ephemeralContainers" not in spec["properties"]
    assert spec["properties"]["initContainers"]["items"] == {"$ref": "#/definitions/Container"}


def test_pod_template_is_a_closed_draft_07_schema() -> None:
    """What is made is valid draft-07, accepts a partial template and refuses an unknown key."""
    schema = pod_template(_jobset())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    good = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}]}}
    bad = {"spec": {"containers": [{"nmae": "a"}]}}
    expected = (True, False)
    assert expected == (validator.is_valid(good), validator.is_valid(bad))
