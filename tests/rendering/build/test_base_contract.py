"""A base that people changed: whatever they changed is said, and never ends in a traceback."""

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import yaml
from tests.words import places

from slicewright.kubernetes.problem import errors

from .kit import PATTERNS, ROOT, rendering

RICH: dict[str, dict[str, Any]] = {
    "jobset": {
        "failurePolicy": {"onHostMaintenance": "Fail", "rules": [{"action": "FailJobSet"}]},
        "auxiliaryJobs": [
            {
                "name": "aux",
                "pool": "cpu",
                "podTemplate": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
            }
        ],
    },
    "job": {"failurePolicy": {"onHostMaintenance": "Fail"}},
    "indexed-job": {},
    "pathways": {
        "pathways": {
            "colocatedPython": {"image": "py:1"},
            "elasticSlices": 1,
            "head": {"podTemplate": {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}},
            "customComponents": [
                {
                    "componentType": "worker",
                    "customFlags": ["--a"],
                    "customEnv": [{"name": "A", "value": "b"}],
                }
            ],
        }
    },
    "pathways-headless": {},
    "pathwaysjob": {"pathways": {"worker": {"nodeSelector": {"a": "b"}}}, "podTemplate": None},
}
"""What makes a builder look into most corners of its base."""
COMMON = {
    "gcsFuse": [{"bucket": "b", "mountPath": "/data"}],
    "queueName": "lq",
    "podTemplate": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "initContainers": [{"name": "i", "image": "i", "env": [{"name": "A", "value": "b"}]}],
        },
    },
    "naming": "Hashed",
}
OTHERS: tuple[Any, ...] = (None, "x", [None], {})
"""What may stand where something else is expected."""


MARKS = {
    "indexed-job": [pytest.mark.ci],
    "pathways": [pytest.mark.untraced, pytest.mark.workflow],
    "pathways-headless": [pytest.mark.untraced, pytest.mark.ci],
}
"""Tracing hundreds of renders makes them more than twice as slow; Pathways has a thousand."""


def changed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a document."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from changed(item, (*path, key))


def value_at(document: Any, way: Iterable[Any]) -> Any:
    """Return the value at a place of a document, `...` where it has no such place."""
    for step in way:
        try:
            document = document[step]
        except (IndexError, KeyError, TypeError):
            return ...
    return document


def spoilt(document: Any, twin: Any) -> Iterator[Any]:
    """Yield the document with each of its values replaced or taken away, but for those that its twin has."""
    for way in list(changed(document)):
        if value_at(document, way) == value_at(twin, way):
            continue
        *parents, last = way
        for other in (*OTHERS, ...):
            made = copy.deepcopy(document)
            parent = value_at(made, parents)
            if other is ...:
                del parent[last]
            else:
                parent[last] = other
            yield made


def twin(pattern: str, name: str) -> Any:
    """Return the same file of the other base that the same builder fills in; None where there is none."""
    if pattern != "pathways-headless" or name == "kustomization.yaml":
        return None
    return yaml.load((ROOT / "bases/pathways" / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [pytest.param(name, marks=MARKS.get(name, [])) for name in PATTERNS])
def test_any_change_of_a_base_gives_a_tree_or_problems(pattern: str) -> None:
    """Each value of each base, replaced by each sort of value or taken away: files or problems.

    The same builder fills in both Pathways bases, so a value that both have is changed in one of them.
    """
    folder = f"bases/{pattern}"
    spec = {**COMMON, **RICH[pattern]}
    if pattern == "pathways-headless":
        del spec["gcsFuse"]
    for path in sorted((ROOT / folder).glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        for made in spoilt(yaml.load(text, Loader=yaml.CSafeLoader), twin(pattern, path.name)):
            files = {f"{folder}/{path.name}": json.dumps(made)}

            found = rendering(pattern, spec, files=files)

            assert bool(errors(found.problems)) != bool(found.writes), json.dumps(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [("name: pathways-rm", "name: other"), ("args:", "command:")],
    ids=["no container", "no args"],
)
def test_runtime_of_pathways_is_needed(old: str, new: str) -> None:
    """Of a Pathways base without a container of the runtime, or one without its arguments, that is said."""
    file = "bases/pathways/jobset.yaml"
    text = (ROOT / file).read_text(encoding="utf-8")

    found = rendering("pathways", {}, files={file: text.replace(old, new)})

    assert f"{file}: BASE001" == places(found.problems[0])
