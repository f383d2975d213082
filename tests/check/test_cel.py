"""The CEL rules of the vendored CRDs: all of them known, and objects that break them."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import jobset, problems
from tests.check.test_engines_agree import valid
from tests.schema.kit import FILES, load

from slicewright.check import cel
from slicewright.document import json_patch as patch
from slicewright.kubernetes.kinds import schema_file

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
    """Return the CEL rules of all schemas."""
    return {entry["rule"] for file in FILES for entry in load(file)["x-slicewright"]["cel"]}


def refusals(data: dict[str, Any]) -> list[str]:
    """Return the messages of the CEL rules that an object breaks."""
    return [problem.message for problem in problems(data) if problem.id == "CEL001"]


@pytest.mark.slow
def test_every_rule_of_the_vendored_crds_is_known() -> None:
    """A rule is evaluated, or it is about a change."""
    assert {rule for rule in vendored() if not cel.is_known(rule)} == set()


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
    """Each rule of a kind above refuses one of its objects.

    But for those about a change and the status, and one that compares a text with a number: it has no verdict
    where the API server refuses.
    """
    broken, rules = set(), set()
    for row in BROKEN:
        data = patch.apply(copy.deepcopy(row["ops"]), base(row["of"]))
        schema = load(schema_file(data["apiVersion"], data["kind"]))
        rules |= {entry["rule"] for entry in schema["x-slicewright"]["cel"]}
        broken |= {
            problem.hint.removeprefix("the API server refuses it by the rule ")
            for problem in problems(data)
            if problem.id == "CEL001"
        }
    others = {rule for rule in rules if "oldSelf" in rule or "self.status" in rule}
    assert rules - others - {"self > 0 || self in ['auto', 'cpu', 'gpu']"} == broken


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
    entries = load("kueue.x-k8s.io/workload_v1beta2.json")["x-slicewright"]["cel"]
    rules = {entry["rule"] for entry in entries if "self.status" in entry["rule"]}
    (rule,) = (rule for rule in rules if "oldSelf" not in rule)
    assert holds is cel.keeps(rule, {"spec": {"podSets": [{}]}, "status": status})


@pytest.mark.parametrize(
    ("of", "path", "value"),
    [
        ("ComputeClass/v1", "/spec/priorities", [{"machineFamily": "n2", "podFamily": "x" * 60}] * 1_000),
        (
            "ClusterQueue/v1beta2",
            "/spec/namespaceSelector",
            {"matchLabels": {f"a{n}": "" for n in range(999)}},
        ),
        ("MultiKueueConfig/v1beta2", "/spec/clusters", [f"cluster-{number}" for number in range(20)]),
        ("Topology/v1beta2", "/spec/levels", [{"nodeLabel": f"level-{number}"} for number in range(16)]),
        (
            "ClusterQueue/v1beta2",
            "/spec/resourceGroups",
            [
                {
                    "coveredResources": [f"r{number}" for number in range(64)],
                    "flavors": [
                        {
                            "name": f"f{flavor}",
                            "resources": [
                                {"name": f"r{number}", "nominalQuota": 1, "borrowingLimit": 0}
                                for number in range(64)
                            ],
                        }
                        for flavor in range(64)
                    ],
                }
            ],
        ),
    ],
)
def test_longest_lists_that_a_schema_allows_have_a_verdict(of: str, path: str, value: object) -> None:
    """The guard against loops in loops meets no object that the API server would take."""
    data = patch.apply([{"op": "add", "path": path, "value": value}], base(of))
    assert [] == [problem for problem in problems(data) if problem.id == "SCHEMA012"]


def test_rules_have_no_say_beside_a_schema_that_refuses_the_object() -> None:
    """The API server does not evaluate rules then; a hostile list takes no time."""
    data = patch.apply(
        [{"op": "add", "path": "/spec/clusters", "value": ["a"] * 10_000}], base("MultiKueueConfig/v1beta2")
    )
    assert ["SCHEMA007"] == [problem.id for problem in problems(data)]


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
