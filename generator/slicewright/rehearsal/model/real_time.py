"""What the controllers count in real time, however fast the clock of a rehearsal goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.labels import MAX_EXECUTION_TIME
from slicewright.core.kubernetes.pods import pods_of
from slicewright.core.kubernetes.read import number
from slicewright.rehearsal.model.duration import is_duration, seconds
from slicewright.rehearsal.model.scenario_part import run_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.kubernetes.types import Object

_FIELDS = {"waitForPodsReady": "timeout", "admissionFairSharing": "usageSamplingInterval"}
"""The parts of Kueue's Configuration that count real time, and the field with the span."""
_DEFAULT = 300.0
"""What Kueue takes for each of them where it is missing, in seconds (apis/config/v1beta2/defaults.go)."""


def limits(runs: Iterable[Object], settings: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield each span that a controller counts in real time: where it is written, and its seconds.

    `settings` is Kueue's Configuration.
    """
    for part, field in _FIELDS.items():
        section = settings.get(part)
        if isinstance(section, dict) and section.get("enable") is not False:
            text = str(section.get(field, ""))
            yield f"Kueue's {part}.{field}", seconds(text) if is_duration(text) else _DEFAULT
    for item in runs:
        label = item["metadata"].get("labels", {}).get(MAX_EXECUTION_TIME, "")
        if label.isdecimal():
            yield f"maxExecutionTimeSeconds of {run_key(item)}", float(label)
        for pods in pods_of(item, item["kind"]):
            for owner in (pods.job, pods.spec):
                deadline = number(owner.get("activeDeadlineSeconds"))
                if deadline is not None:
                    yield f"activeDeadlineSeconds of {run_key(item)}", float(deadline)
