"""The OpenAPI of an API server to JSON Schema: what Go decodes is accepted."""

from typing import Any

import jsonschema_rs
import pytest
from tests.schema.kit import is_same, load, openapi

from openapi import from_openapi, trimmed

POD: dict[str, Any] = {"name": "a", "image": "b"}


def pod(**spec: Any) -> dict[str, Any]:
    """Return a Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [POD], **spec},
    }


def container(**fields: Any) -> dict[str, Any]:
    """Return a Pod with one container."""
    return pod(containers=[{**POD, **fields}])


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (pod(), True),
        (pod(nodeSelector=None, tolerations=None), True),
        (pod(nodeSelector={"a": None}), True),
        (pod(containers=[None]), False),
        (pod(restartPolicy=""), True),
        (pod(restartPolicy="always"), False),
        (pod(terminationGracePeriodSeconds=2**63), False),
        (pod(nodeSelectr={}), False),
        (container(resources={"limits": {"cpu": 0.5, "memory": "1Gi"}}), True),
        (container(resources={"limits": {"cpu": "16GB"}}), False),
        (container(ports=[{}]), False),
        (container(livenessProbe={"httpGet": {"port": "http"}}), True),
        (container(livenessProbe={"httpGet": {"port": 2**31}}), False),
        ({**pod(), "metadata": {"name": "a", "labels": {"a": "b c"}}}, False),
        ({**pod(), "metadata": {}}, False),
    ],
)
def test_pods_follow_the_api_server(value: dict[str, Any], *, accepted: bool) -> None:
    """Nulls, empty choices and number quantities pass; wrong types, choices and fields do not."""
    assert accepted == jsonschema_rs.Draft7Validator(load("v1/pod_v1.json")).is_valid(value)


def test_names_differ_by_kind() -> None:
    """A Role may hold colons, a Namespace is a single label."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a:b"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}
    roles = jsonschema_rs.Draft7Validator(load("rbac.authorization.k8s.io/role_v1.json"))
    assert roles.is_valid(role)
    assert not roles.is_valid({**role, "metadata": {"name": ".."}})
    assert not jsonschema_rs.Draft7Validator(load("v1/namespace_v1.json")).is_valid(namespace)


def test_scope_and_list_maps_are_known() -> None:
    """Pods are namespaced, nodes are not; a list that the API server tolerates is marked."""
    beside = load("v1/pod_v1.json")["x-slicewright"]
    tolerated = {entry["path"] for entry in beside["listMaps"] if entry.get("tolerated")}
    strict = {entry["path"] for entry in beside["listMaps"]} - tolerated
    assert beside["scope"] == "Namespaced"
    assert load("v1/node_v1.json")["x-slicewright"]["scope"] == "Cluster"
    assert {"/spec/containers/*/env", "/spec/containers/*/ports", "/spec/imagePullSecrets"} <= tolerated
    assert {"/spec/containers", "/spec/volumes", "/spec/containers/*/volumeMounts"} <= strict


def test_recursive_types_are_definitions() -> None:
    """A type that holds itself, as the schemas in a CRD do, is written once."""
    definitions = load("apiextensions.k8s.io/customresourcedefinition_v1.json")["definitions"]
    reference = {"$ref": "#/definitions/apiextensions.v1.JSONSchemaProps"}
    assert reference == definitions["apiextensions.v1.JSONSchemaProps"]["properties"]["not"]


@pytest.mark.parametrize("kind", ["CustomResourceDefinition", "Pod", "Role"])
def test_schema_is_what_its_source_makes(kind: str) -> None:
    """`make schemas` writes what is committed; a test marked `workflow` builds all kinds again."""
    kinds = [entry for entry in openapi()["kinds"] if entry["kind"] == kind]
    (made,) = from_openapi({**openapi(), "kinds": kinds})
    assert is_same(made.schema, load(made.of.file))


def test_trimming_keeps_kinds_that_can_be_created() -> None:
    """Of a document the kinds with a POST stay, with scope, and the types that they reach."""
    thing = {"group": "example.test", "version": "v1", "kind": "Thing"}
    body = {"content": {"*/*": {"schema": {"$ref": "#/components/schemas/test.Thing"}}}}
    post = {"post": {"x-kubernetes-group-version-kind": thing, "requestBody": body}}
    schemas = {
        "test.Thing": {
            "type": "object",
            "description": "text",
            "required": ["inline"],
            "x-kubernetes-group-version-kind": [thing],
            "properties": {
                "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                "description": {"type": "string"},
                "any": {"$ref": "#/components/schemas/test.Any"},
                "some": {"allOf": [{"$ref": "#/components/schemas/test.Any"}]},
                "inline": {"properties": {"a": {"type": "string"}}},
                "optional": {"properties": {"a": {"type": "string"}}},
                "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "maps": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a"],
                },
                "everything": {"type": "array", "items": {"$ref": "#/components/schemas/test.Any"}},
            },
        },
        "test.Any": {"description": "anything"},
        "test.Unused": {"type": "object"},
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object"},
    }
    paths = {
        "/apis/example.test/v1/things": post,
        "/apis/example.test/v1/namespaces/{namespace}/things": post,
        "/apis/example.test/v1/namespaces/{namespace}/things/{name}": post,
        "/apis/example.test/v1/namespaces/{namespace}/things/{name}/eviction": post,
        "/apis/example.test/v1/other": {"get": {}},
        "/apis/example.test/v1/bare": {"post": {}},
    }
    source = trimmed({"apis/example.test/v1": {"components": {"schemas": schemas}, "paths": paths}})

    assert source["kinds"] == [{**thing, "component": "test.Thing", "scope": "Namespaced"}]
    assert "test.Unused" not in source["components"]
    assert "description" not in source["components"]["test.Thing"]
    assert "description" in source["components"]["test.Thing"]["properties"]
    (made,) = from_openapi(source)
    validator = jsonschema_rs.Draft7Validator(made.schema)
    value = {
        "apiVersion": "example.test/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "inline": {"a": "b"},
    }
    assert validator.is_valid({**value, "any": [1], "some": 2, "optional": None, "everything": [1, "a"]})
    assert not validator.is_valid({**value, "inline": {"b": 1}})
    assert not validator.is_valid({**value, "names": ["a", "a"]})
    assert made.schema["x-slicewright"]["listMaps"] == [{"path": "/maps", "keys": ["a"]}]
