"""Kinds of faults."""

import json
from pathlib import Path

from slicewright.rehearse.fault_kinds import FAULT_KINDS

SCHEMA = Path(__file__).parents[2] / "schemas" / "slicewright" / "tpuworkload.json"


def test_every_kind_of_the_schema_is_made() -> None:
    """A rehearsal can inject each kind of fault that a file may have, and no other."""
    rehearsal = json.loads(SCHEMA.read_text("utf-8"))["properties"]["spec"]["properties"]["rehearsal"]

    assert {*rehearsal["properties"]["faults"]["items"]["properties"]["kind"]["enum"]} == {*FAULT_KINDS}
