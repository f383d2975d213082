"""Configurations are files that a program reads strictly: no metadata, no unknown field, nothing required."""

from typing import Any

import jsonschema_rs
import pytest
import yaml
from tests.check.rules.verdicts import CORPUS
from tests.schema.kit import load

from slicewright.schema.kind import Kind, from_configuration

KUEUE = "config.kueue.x-k8s.io/configuration_v1beta2.json"
JOBSET = "config.jobset.x-k8s.io/configuration_v1alpha1.json"
HEADS = {
    KUEUE: {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"},
    JOBSET: {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration"},
}


def accepts(file: str, **fields: Any) -> bool:
    """Tell whether a schema takes a Configuration with some fields."""
    return bool(jsonschema_rs.Draft7Validator(load(file)).is_valid({**HEADS[file], **fields}))


@pytest.mark.parametrize("file", HEADS)
def test_bare_configuration_is_one(file: str) -> None:
    """Everything has a default."""
    assert accepts(file)


@pytest.mark.parametrize(
    ("file", "fields", "verdict"),
    [
        (
            KUEUE,
            {"waitForPodsReady": {"timeout": "10m", "requeuingStrategy": {"backoffLimitCount": 5}}},
            True,
        ),
        (KUEUE, {"integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}}, True),
        (KUEUE, {"resources": {"excludeResourcePrefixes": ["cpu", "memory"]}}, True),
        (KUEUE, {"waitForPodsReady": {"timeout": 600}}, False),
        (KUEUE, {"waitForPodReady": {"timeout": "10m"}}, False),
        (KUEUE, {"integrations": {"frameworks": "batch/job"}}, False),
        (KUEUE, {"clientConnection": {"qps": 50.5, "burst": 2**31}}, False),
        (KUEUE, {"metadata": {"name": "a"}}, False),
        (JOBSET, {"leaderElection": {"leaderElect": True}}, True),
        (JOBSET, {"clientConnection": {"qps": 50.5, "burst": 100}}, True),
        (JOBSET, {"leaderElection": {"leaderElected": True}}, False),
    ],
)
def test_fields_are_those_of_the_go_type(file: str, fields: dict[str, Any], verdict: bool) -> None:
    """A field of another type, or of another name, is refused."""
    assert verdict == accepts(file, **fields)


@pytest.mark.slow
def test_configurations_of_the_releases_are_valid() -> None:
    """What the manifests of both releases hold in their ConfigMaps is valid."""
    folder = CORPUS.parents[3] / "bases/controllers"
    held = [
        yaml.safe_load(text)
        for release in ("jobset-v0.12.0", "kueue-v0.19.2")
        for data in yaml.load_all(
            (folder / release / "manifests.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
        )
        if data and data["kind"] == "ConfigMap"
        for text in data["data"].values()
    ]
    found = {
        file: [data for data in held if data["apiVersion"] == HEADS[file]["apiVersion"]] for file in HEADS
    }

    assert {JOBSET: 1, KUEUE: 1} == {file: len(all_of_it) for file, all_of_it in found.items()}
    assert [] == [
        data for file, all_of_it in found.items() for data in all_of_it if not accepts(file, **data)
    ]


def test_nothing_is_required_at_any_depth() -> None:
    """What Go always writes may be left out, in the elements of lists too."""
    below = {
        "type": "object",
        "required": ["b"],
        "properties": {"b": {"type": "string"}, "required": {"type": "string"}},
    }
    node = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "a": {"type": "array", "items": below},
            "c": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
    }
    made = from_configuration(Kind("config.example.test", "v1", "Configuration"), node)
    judge = jsonschema_rs.Draft7Validator(made.schema)
    head = {"apiVersion": "config.example.test/v1", "kind": "Configuration"}

    assert judge.is_valid({**head, "a": [{}, {"required": "x"}], "c": 1})
    assert not judge.is_valid({**head, "a": [{"b": 1}]})
    assert not judge.is_valid({**head, "metadata": {}})


def test_what_a_program_checks_is_added_at_its_place() -> None:
    """Values of a map and items of a list too."""
    text = {"type": "string"}
    node = {
        "type": "object",
        "properties": {
            "apiVersion": text,
            "kind": text,
            "a": {"type": "array", "items": {"type": "object", "properties": {"b": text, "c": text}}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    checked: dict[str, dict[str, Any]] = {"/a/*/b": {"enum": ["x"]}, "/m/*": {"minimum": 1}}
    made = from_configuration(Kind("config.example.test", "v1", "Configuration"), node, checked)
    judge = jsonschema_rs.Draft7Validator(made.schema)

    head = {"apiVersion": "config.example.test/v1", "kind": "Configuration"}

    assert judge.is_valid({**head, "a": [{"b": "x", "c": "y"}], "m": {"k": 1}})
    assert not judge.is_valid({**head, "a": [{"b": "y"}]})
    assert not judge.is_valid({**head, "m": {"k": 0}})
