"""Every refusal of a workload: refusals/*.yaml holds what people write, and where problems are reported."""

from pathlib import Path

import pytest
import yaml
from tests.words import places

from .kit import cluster, refused

CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "refusals").glob("*.yaml"))
    for case in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
]


@pytest.mark.parametrize(("group", "case"), CASES, ids=[f"{group}: {case['when']}" for group, case in CASES])
def test_refusal_says_what_and_where_and_what_instead(group: str, case: dict[str, str]) -> None:
    """A workload that cannot run as it is written is refused, with the place and what to write instead."""
    known = case.get("cluster", "")
    clusters = cluster(name="other") if known == "other" else cluster(known) if known else ""

    said = refused(case["spec"], metadata=case.get("metadata", ""), clusters=clusters)

    assert (group, case["where"]) == (group, places(said))


def test_every_problem_of_every_workload_is_found_at_once() -> None:
    """One run shows what is wrong with the shape, the names, the cluster and the pods of all workloads."""
    said = refused(
        """
        tpu: v5litepod-7
        queueName: q
        provisioning: FlexStart
        maxRunDurationSeconds: 60
        podTemplate: {spec: {hostname: x}}
        workloadPriorityClassName: none
        """
    )

    ids = [line.split()[1] for line in said.splitlines() if not line.startswith(" ")]
    assert ids == ["FIELD001", "TPU005", "TPU012", "POD001", "REF003"]
