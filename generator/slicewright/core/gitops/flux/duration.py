"""Time spans as Flux reads them: Go's, which know no days."""

from __future__ import annotations

import re
from decimal import Decimal

_DAYS = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)d")
_HOURS = 24


def flux_duration(text: str) -> str:
    """Return a time span of a TPUCluster with its days as hours."""
    return _DAYS.sub(lambda found: f"{Decimal(found[1]) * _HOURS:f}h", text)
