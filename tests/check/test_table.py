"""The comparison that decided the design: objects on which other tools are wrong, each with its verdict."""

from typing import Any

import pytest
from tests.check.kit import CONTAINER, found, jobset
from tests.schema.kit import kubeconform

ORDERED: dict[str, Any] = {
    "startupPolicy": {"startupPolicyOrder": "InOrder"},
    "replicatedJobs": [
        {"name": "a", "template": {}},
        {"name": "b", "template": {}, "dependsOn": [{"name": "a", "status": "Ready"}]},
    ],
}
TWICE: dict[str, Any] = {"replicatedJobs": [{"name": "a", "template": {}}, {"name": "a", "template": {}}]}
POD = "spec.replicatedJobs[0].template.spec.template.spec"
SLICE = f"{POD}.containers[0]"

TABLE: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("valid", jobset(), []),
    ("unknown field under spec", jobset(replicatedJob=[]), [("SCHEMA004", "spec.replicatedJob")]),
    ("unknown root field", {**jobset(), "spce": {}}, [("SCHEMA004", "spce")]),
    (
        "misspelt labels",
        {**jobset(), "metadata": {"name": "a", "lables": {}}},
        [("SCHEMA004", "metadata.lables")],
    ),
    (
        "integer label",
        {**jobset(), "metadata": {"name": "a", "labels": {"a": 1}}},
        [("SCHEMA003", "metadata.labels.a")],
    ),
    (
        "env value int",
        jobset(container={"env": [{"name": "A", "value": 1}]}),
        [("SCHEMA003", f"{SLICE}.env[0].value")],
    ),
    (
        "env value bool",
        jobset(container={"env": [{"name": "A", "value": True}]}),
        [("SCHEMA003", f"{SLICE}.env[0].value")],
    ),
    (
        "quantity 16GB",
        jobset(container={"resources": {"limits": {"memory": "16GB"}}}),
        [("SCHEMA007", f"{SLICE}.resources.limits.memory")],
    ),
    (
        "bad enum",
        jobset(failurePolicy={"restartStrategy": "Always"}),
        [("SCHEMA006", "spec.failurePolicy.restartStrategy")],
    ),
    ("missing containers", jobset(pod={"containers": None}), [("SCHEMA003", f"{POD}.containers")]),
    ("nodeSelector null", jobset(pod={"nodeSelector": None}), []),
    ("annotations null", {**jobset(), "metadata": {"name": "a", "annotations": None}}, []),
    (
        "int32 overflow",
        jobset(failurePolicy={"maxRestarts": 2**31}),
        [("SCHEMA007", "spec.failurePolicy.maxRestarts")],
    ),
    ("duplicate replicatedJobs name", jobset(**TWICE), [("MAP001", "spec.replicatedJobs[1]")]),
    ("InOrder and dependsOn", jobset(**ORDERED), [("CEL001", "spec")]),
    (
        "rule without a name, which the webhook adds",
        jobset(failurePolicy={"rules": [{"action": "FailJobSet"}]}),
        [],
    ),
    ("name of 70 characters", {**jobset(), "metadata": {"name": "a" * 70}}, []),
    ("container without image", jobset(pod={"containers": [{"name": CONTAINER["name"]}]}), []),
    ("restartPolicy Always", jobset(pod={"restartPolicy": "Always"}), []),
]


@pytest.mark.parametrize(("data", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_verdict_and_place(data: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """Each object is refused for its reason alone, at the field that is wrong."""
    assert expected == found(data)


@pytest.mark.tools
def test_kubeconform_sees_what_a_schema_can_say() -> None:
    """With our schemas kubeconform gives the same verdicts, but for list maps and CEL."""
    answers = kubeconform().ask([row[1] for row in TABLE])
    refused = [answer is not None for answer in answers]
    assert [any(ident.startswith("SCHEMA") for ident, _ in row[2]) for row in TABLE] == refused
