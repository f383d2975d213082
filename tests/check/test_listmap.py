"""Lists that the API server keeps as maps."""

from typing import Any

import pytest
from tests.check.kit import found, jobset, problems

from slicewright.check.kind_schemas import ListMaps

POD = "spec.replicatedJobs[0].template.spec.template.spec"
SLICE = f"{POD}.containers[0]"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (jobset(container={"env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]}), f"{SLICE}.env[2]"),
        (
            jobset(container={"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}),
            f"{SLICE}.ports[1]",
        ),
        (jobset(pod={"volumes": [{"name": "a", "emptyDir": {}}] * 2}), f"{POD}.volumes[1]"),
    ],
)
def test_two_elements_with_one_key_are_refused(data: dict[str, Any], place: str) -> None:
    """As in the API server a default counts as written, and the later element is the wrong one."""
    assert [("MAP001", place)] == found(data)


@pytest.mark.parametrize(
    "data",
    [
        jobset(container={"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}),
        jobset(container={"env": None}),
        jobset(container={"args": ["a", "a"]}),
    ],
)
def test_other_lists_may_repeat(data: dict[str, Any]) -> None:
    """Elements that differ in one key, and lists without keys, are fine."""
    assert found(data) == []


def test_built_in_lists_that_the_server_takes_are_warnings() -> None:
    """Two env entries of one name pass in a Pod, but not with server-side apply."""
    container = {"name": "a", "image": "b", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    (problem,) = problems(pod)
    assert (problem.id, problem.severity) == ("MAP001", "warning")
    assert "duplicate name 'A' in 'env' (first at index 0); server-side apply" in problem.message


def test_keys_of_any_type_are_compared_as_they_are() -> None:
    """1 and true differ, collections count by value; an element without any key is left to the schema."""
    maps = ListMaps([{"path": "/by/*/list", "keys": ["a", "b"]}])
    elements: list[Any] = [{"a": 1}, {"a": True}, {"a": [1]}, {"a": [1]}, {}, {}, "text", {"a": 1, "b": None}]
    duplicates = list(maps.duplicates({"by": {"x": {"list": elements}, "y": {"list": "text"}}}))
    assert [one.path for one in duplicates] == [("by", "x", "list", 3), ("by", "x", "list", 7)]
    assert [one.first for one in duplicates] == [2, 0]
