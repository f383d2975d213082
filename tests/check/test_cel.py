"""The CEL rules of the vendored CRDs: all of them known, each with an object that breaks it."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import jobset, problems
from tests.check.test_engines_agree import valid
from tests.schema_kinds.kit import FILES, load

from slicewright.core.check import cel
from slicewright.core.compose import patch

HERE = Path(__file__).parent
GROUP = "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true"
BROKEN: list[dict[str, Any]] = yaml.load((HERE / "broken.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


def base(name: str) -> dict[str, Any]:
    """Return a valid object by kind and version."""
    if name == "jobset":
        return jobset()
    return next(
        copy.deepcopy(data)
        for data in valid()
        if name == f"{data['kind']}/{data['apiVersion'].rpartition('/')[2]}"
    )


@cache
def vendored() -> set[str]:
    """Return the CEL rules of all schemas that do not leave them to a library."""
    tables = [load(file)["x-slicewright"] for file in FILES]
    return {entry["rule"] for table in tables if "optionalCel" not in table for entry in table["cel"]}


def refusals(data: dict[str, Any]) -> list[str]:
    """Return the messages of the CEL rules that an object breaks."""
    return [problem.message for problem in problems(data) if problem.id == "CEL001"]


@pytest.mark.slow
def test_every_rule_of_the_vendored_crds_is_known() -> None:
    """A rule is evaluated, or it is about a change; and no function is left without a rule."""
    assert {rule for rule in vendored() if not cel.is_known(rule)} == set()
    assert set(cel.RULES) <= vendored()


def test_a_name_that_the_api_server_makes_breaks_no_rule() -> None:
    """The API server makes a name of generateName before it evaluates the rules."""
    data = base("TrainJob/v1alpha1")
    data["metadata"] = {"generateName": "a-"}
    assert [] == refusals(data)


@pytest.mark.parametrize("data", valid(), ids=lambda data: f"{data['kind']} {data['apiVersion']}")
def test_valid_objects_keep_all_rules(data: dict[str, Any]) -> None:
    """What the API server takes breaks no rule."""
    assert refusals(data) == []


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: f"{row['of']} {row['refused']}")
def test_broken_rule_is_named(row: dict[str, Any]) -> None:
    """An object that breaks a rule is refused with the message of the CRD."""
    data = patch.apply(copy.deepcopy(row["ops"]), base(row["of"]))
    assert [message for message in refusals(data) if row["refused"] in message] != []


def test_every_rule_has_an_object_that_breaks_it() -> None:
    """Each rule that is evaluated refuses one of the objects above, but for the one about the status."""
    broken = set()
    for row in BROKEN:
        data = patch.apply(copy.deepcopy(row["ops"]), base(row["of"]))
        for problem in problems(data):
            if problem.id == "CEL001":
                broken.add(problem.hint.removeprefix("the API server refuses it by the rule "))
    assert {rule for rule in cel.RULES if "self.status" not in rule} == broken


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        ({}, True),
        ({"conditions": [{"type": "QuotaReserved", "status": "False"}]}, True),
        ({"conditions": [{"type": "QuotaReserved", "status": "True"}]}, True),
        (
            {
                "conditions": [{"type": "QuotaReserved", "status": "True"}],
                "admission": {"podSetAssignments": []},
            },
            False,
        ),
    ],
)
def test_admission_fits_the_pod_sets(status: dict[str, Any], *, holds: bool) -> None:
    """The one rule about the status: as many assignments as pod sets."""
    (rule,) = (rule for rule in cel.RULES if "self.status" in rule)
    assert holds is cel.RULES[rule]({"spec": {"podSets": [{}]}, "status": status})


def test_a_field_that_a_rule_reads_must_be_there() -> None:
    """A missing field ends the evaluation, and the API server refuses the object."""
    entry = {
        "path": "/a/*",
        "rule": "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true",
    }
    found = [one.path for one in cel.refused([entry], {"a": [{}, {"group": "x"}, None, {"group": None}]})]
    assert found == [("a", 0), ("a", 3)]
    assert list(cel.refused([entry], {"a": "text"})) == []
    assert list(cel.refused([entry], {"b": []})) == []


def test_a_rule_without_a_message_is_shown_itself() -> None:
    """Then the report says which rule failed."""
    entry = {"path": "", "rule": "!(has(self.machineFamily) && has(self.machineType))"}
    (refused,) = cel.refused([entry], {"machineFamily": "a", "machineType": "b"})
    assert refused.message == f"failed rule: {entry['rule']}"


def part(file: str, path: str) -> dict[str, Any]:
    """Return what is at a path of the properties of a schema, also where it is a shared definition."""
    schema = load(file)
    found = schema
    for name in path.split("."):
        found = found["properties"][name] if name != "items" else found["items"]
        if "$ref" in found:
            found = schema["definitions"][found["$ref"].rpartition("/")[2]]
    return found


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize(
    ("kind", "path", "default"),
    [
        ("clusterqueue", "spec.flavorFungibility.whenCanBorrow", "MayStopSearch"),
        ("clusterqueue", "spec.flavorFungibility.whenCanPreempt", "TryNextFlavor"),
        ("clusterqueue", "spec.preemption.reclaimWithinCohort", "Never"),
        ("clusterqueue", "spec.preemption.borrowWithinCohort.policy", "Never"),
        ("workload", "spec.podSets.items.count", 1),
    ],
)
def test_defaults_that_the_rules_fill_in_are_those_of_the_crd(
    kind: str, path: str, default: object, version: str
) -> None:
    """What the functions fill in for five fields is what the CRD says."""
    assert default == part(f"kueue.x-k8s.io/{kind}_{version}.json", path)["default"]
