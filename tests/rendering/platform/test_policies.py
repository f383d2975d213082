"""Workload policies, of which a region of a project has one of a name."""

import pytest

from .kit import cluster, repository

POOL = "pools: [{{name: {}, tpu: tpu7x-2x2x2}}]"


@pytest.mark.parametrize(
    ("first", "second", "place", "clash"),
    [
        (("a-b", "c"), ("a", "b-c"), "", True),
        (("a-b", "c"), ("a", "b-d"), "", False),
        (("a-b", "c"), ("a", "b-c"), "project: other", False),
        (("a-b", "c"), ("a", "b-c"), "location: us-east5-a", False),
        (("a-b", "c"), ("a", "b-c"), "location: us-west4-b", True),
        (("a-b", "c"), ("a", "b-c"), "mode: Autopilot", False),
        (("a-b", "c"), ("a", "b-c"), "managed: false", False),
    ],
)
def test_two_clusters_may_come_to_one_name(
    first: tuple[str, str], second: tuple[str, str], place: str, *, clash: bool
) -> None:
    """`a-b` and `c` make the policy that `a` and `b-c` make, in a region of a project."""
    texts = [cluster(POOL.format(pool), name=name) for name, pool in (first, second)]
    key = place.partition(":")[0]
    lines = [line for line in texts[1].splitlines() if not place or not line.startswith(f"  {key}:")]
    changed = "\n".join(line.replace("spec:", f"spec:\n  {place}") for line in lines)

    found = [one for one in repository(texts[0], changed).problems if one.id == "POOL032"]

    assert [clash] == [bool(found)]
    assert all("'a-b-c'" in one.message and one.file == "clusters/c2.yaml" for one in found)


def test_pool_that_comes_twice_is_one_mistake() -> None:
    """Two pools of one name have one policy, and the name of the pool is what is wrong."""
    twice = "pools: [{name: b, tpu: tpu7x-2x2x2}, {name: b, tpu: tpu7x-2x2x4}]"

    found = repository(cluster(twice)).problems

    assert ["POOL001"] == [one.id for one in found if one.severity == "error"]
