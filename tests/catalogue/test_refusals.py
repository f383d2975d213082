"""Requests that mean no row: each refusal with its full message, its hint and the field it points at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from slicewright.core.catalogue.resolve import Refusal, TpuRequest, resolve

if TYPE_CHECKING:
    from slicewright.core.catalogue.catalogue import Catalogue

REFUSALS = yaml.load((Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["says"]) for case in REFUSALS])
def test_refusal(catalogue: Catalogue, case: dict[str, Any]) -> None:
    """A request that means no row is told why, and what to write instead."""
    refusal_id, _, message = case["says"].partition(" ")

    assert Refusal(refusal_id, message, case["hint"], case.get("at", "")) == resolve(
        catalogue, TpuRequest(**case["ask"])
    )


def test_every_id_is_shown() -> None:
    """Every refusal that there is has an example."""
    assert {f"TPU00{number}" for number in range(1, 9)} == {case["says"][:6] for case in REFUSALS}
