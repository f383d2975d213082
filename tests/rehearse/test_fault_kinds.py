"""Kinds of faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

from slicewright.rehearse.faults import FAULT_KINDS

SCHEMA = Path(__file__).parents[2] / "schemas" / "slicewright" / "tpuworkload.json"


def test_every_kind_of_the_schema_has_its_module() -> None:
    """It is called as the kind, so that a reader finds it, and no module is left over."""
    rehearsal = json.loads(SCHEMA.read_text("utf-8"))["properties"]["spec"]["properties"]["rehearsal"]
    kinds = rehearsal["properties"]["faults"]["items"]["properties"]["kind"]["enum"]
    files = {kind: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower() for kind in kinds}

    assert files == {name: kind.inject.__module__.rpartition(".")[2] for name, kind in FAULT_KINDS.items()}
