"""Every refusal of a platform: refusals.yaml holds what people write, and where problems are reported."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.words import places

from .kit import cluster, repository, said

CASES = yaml.load((Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.parametrize("case", CASES, ids=[case["when"] for case in CASES])
def test_refusal_says_what_and_where_and_what_instead(case: dict[str, Any]) -> None:
    """What Kueue or GKE would refuse, or never admit, is refused with its place and what to write."""
    assert case["where"] == places(said(*case["specs"]))


@pytest.mark.parametrize("case", CASES, ids=[case["when"] for case in CASES])
def test_platform_that_exists_may_be_as_it_likes(case: dict[str, Any]) -> None:
    """Of a platform that is not ours to make, queues and teams are facts: nothing of them is refused."""
    text = cluster(case["specs"][0]).replace("spec:\n", "spec:\n  managed: false\n", 1)

    problems = repository(text).problems

    assert [problem.text() for problem in problems if problem.id[:4] in ("QUOT", "TEAM")] == []
