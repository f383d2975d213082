"""Requests that mean no row: each refusal with its id and the field that it points at."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.words import places

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.kubernetes.problem import Problem

REFUSALS = yaml.load((Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.parametrize(
    "case", REFUSALS, ids=lambda case: f"{case['id']} {'-'.join(map(str, case['ask'].values()))}"
)
def test_refusal(catalogue: Catalogue, case: dict[str, Any]) -> None:
    """A request that means no row is told why, and what to write instead."""
    refusal = resolve(catalogue, TpuRequest(**case["ask"]))

    assert isinstance(refusal, Refusal)
    assert (case["id"], case.get("at", "")) == (
        places(Problem(refusal.id, refusal.message, refusal.hint)),
        refusal.field,
    )


def test_every_id_is_shown() -> None:
    """Every refusal that there is has an example."""
    assert {f"TPU00{number}" for number in range(1, 9)} == {case["id"] for case in REFUSALS}
