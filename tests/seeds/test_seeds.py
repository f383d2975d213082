"""What is rendered for the public tutorials, against what they show."""

import pytest

import slicewright
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve

from .kit import ROOT, Declared, composed, declared, expected, found, matching
from .tree import ABSENT, Difference, at, differences, tree

ALL = tuple(found())
"""Every place at which a tutorial and this repository are not the same."""
_MULTISLICE = ["low-priority", "multislice-1slice", "multislice-2slice", "multislice-3slice"]
NAMES = {
    "multislice-cluster/default": _MULTISLICE,
    "multislice-autopilot/default": _MULTISLICE,
    "flex-start-cluster/default": ["flex-start-multi-host", "flex-start-single-host"],
    "gke-tpu-training-cluster/tpu-training": [
        "hello-world-multislice",
        "hello-world-single-slice",
        "maxtext-multislice",
        "maxtext-single-slice",
    ],
    "pathways-cluster/default": [
        "pathways-colocated",
        "pathways-elastic",
        "pathways-headless",
        "pathways-job",
        "pathways-jobset",
    ],
}


def said(difference: Difference) -> str:
    """Return a difference as a person would put it, for the message of a failing test."""
    sides = ["-" if side is ABSENT else repr(side) for side in (difference.tutorial, difference.ours)]
    return f"{difference.object} {difference.path}: tutorial {sides[0]}, ours {sides[1]}"


def test_every_difference_is_declared() -> None:
    """No object of ours is other than its tutorial shows without a row, and a reason, in differences.yaml."""
    meant = [difference for row in declared() for difference in row.each()]

    assert [said(difference) for difference in ALL if difference not in meant] == []


@pytest.mark.parametrize("row", declared(), ids=lambda row: f"{row.objects[0]} {row.paths[0]}")
def test_every_declared_difference_is_one(row: Declared) -> None:
    """A row of differences.yaml holds for every object and every path that it names, and gives its reason."""
    assert [said(difference) for difference in row.each() if difference not in ALL] == []
    assert row.row["reason"]
    assert {"objects", "path", "reason"} <= set(row.row) <= {"objects", "path", "reason", "tutorial", "ours"}


def test_no_difference_is_declared_twice() -> None:
    """Each difference has one row."""
    places = [(difference.object, difference.path) for row in declared() for difference in row.each()]

    assert len(places) == len(set(places))


def test_tutorials_are_those_of_the_differences() -> None:
    """Rows stand under the title of a tutorial that has expectations."""
    assert {spoken["tutorial"] for spoken in expected()} == {row.tutorial for row in declared()}


def test_names_are_those_that_were_agreed() -> None:
    """The tutorials' workloads have their agreed names, clusters and namespaces, and are Fixed."""
    actual: dict[str, list[str]] = {}
    for plan in slicewright.plan(slicewright.load(ROOT)).plans:
        if not plan.run:
            actual.setdefault(f"{plan.cluster}/{plan.namespace}", []).append(plan.name)

    assert {place: sorted(names) for place, names in actual.items()} == NAMES


def test_every_object_of_a_tutorial_is_compared() -> None:
    """Each object under a fixed name is held against what its tutorial shows or states."""
    spoken: set[str] = set()
    for tutorial in expected():
        for entry in (
            *tutorial.get("manifests", []),
            *tutorial.get("fragments", []),
            *tutorial["statements"],
        ):
            spoken.update(matching(entry.get("objects", entry.get("object"))))

    assert set() == set(composed()) - spoken


def test_one_workload_is_hashed() -> None:
    """One workload shows what people get by default: a run whose name ends in its id, told to its pods."""
    hashed = [plan for plan in slicewright.plan(slicewright.load(ROOT)).plans if plan.run]

    assert [(plan.cluster, plan.workload) for plan in hashed] == [("multislice-cluster", "demo")]
    run = composed(fixed=False)[f"JobSet multislice-cluster/default/{hashed[0].name}"]
    env = at(run, "spec.replicatedJobs[slice].template.spec.template.spec.containers[main].env")
    assert hashed[0].run == at(env, "[SLICEWRIGHT_RUN].value")


def test_files_name_their_tutorial() -> None:
    """Each input file begins with a comment that says what it is."""
    for folder in ("clusters", "workloads"):
        for path in sorted((ROOT / folder).glob("*.yaml")):
            assert path.read_text(encoding="utf-8").startswith("# "), path.name


def test_misprint_is_refused_with_the_nearest() -> None:
    """The shape that a tutorial misprints is refused, and the error names the legal one."""
    answer = resolve(slicewright.load(ROOT).repository.package.catalogue, TpuRequest("v5e-26x16"))

    assert isinstance(answer, Refusal)
    assert "16x16" in answer.hint


def test_trees_compare_lists_by_name_and_quantities_by_value() -> None:
    """Containers are known by name, flags by flag, and 4 chips are "4" chips."""
    shown = {"containers": [{"name": "a", "args": ["--x=1", "--y=2"]}, {"name": "b"}], "n": [1, {"k": 1}]}
    ours = {"containers": [{"name": "b"}, {"name": "a", "args": ["--y=2", "--x=3"]}], "n": [1, {"k": 2}]}
    cpu = {"resources": {"limits": {"cpu": "1000m"}}}

    assert [Difference("o", "containers[a].args[--x]", "1", "3"), Difference("o", "n[1].k", 1, 2)] == list(
        differences("o", tree(shown), tree(ours))
    )
    assert list(differences("o", tree(cpu), tree({"resources": {"limits": {"cpu": 1}}}))) == []
    assert len(list(differences("o", {".a": 1}, {".a": True}))) == 1
    assert ABSENT is at(tree(shown), "containers[c].args")
