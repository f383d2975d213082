"""What stands against an environment is said before anybody runs Terraform."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.words import places

from slicewright.kubernetes.problem import in_order
from slicewright.rendering.provision.validate_environment import problems

from .kit import PLACE, site, surveyed, text

POOLS = "pools: [{name: b, machineType: n2-standard-8}]\n"
CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "environment_refused.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_what_is_said(case: dict[str, Any]) -> None:
    """Each problem has its id and place, says what is wrong and what to write instead."""
    made = site(f"{case.get('place', PLACE)}{case.get('pools', POOLS)}{case['spec']}")
    assert case["where"].splitlines() == places(list(in_order(problems(made))))


def test_environment_of_a_platform_that_is_not_ours() -> None:
    """The block has no effect where the platform is somebody else's, and that is said."""
    theirs = text(f"{PLACE}{POOLS}environment: {{}}").replace("managed: true", "managed: false")
    made, _ = surveyed(theirs)
    assert ["FIELD002"] == [place.rpartition(" ")[2] for place in places([*problems(made)])]
