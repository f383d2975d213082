"""Objects that the test bed cannot show, made from recorded ones, each for a reason."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.core.kubernetes.types import Object


def _refused(item: Object) -> None:
    """Write what the PathwaysJob controller v0.1.4 does when the API server refuses the JobSet."""
    item["status"] = {"terminalState": "Failed"}


def _refused_once(item: Object) -> None:
    """Keep the terminal state of a first try, as that controller does, while the second one runs."""
    item["status"]["terminalState"] = "Failed"


def _only_a_terminal_state(item: Object) -> None:
    """Leave only the word of the end."""
    item["status"] = {"terminalState": "Completed"}


def _appended(item: Object) -> None:
    """Append conditions as that controller does: a type that comes again stands in the list again."""
    entry = item["status"]["conditions"][0]
    item["status"]["conditions"] = [
        {**entry, "type": "Suspended", "status": "False"},
        {**entry, "type": "Pending", "status": "False"},
        {**entry, "type": "Suspended", "status": "True"},
    ]


def _too_large(item: Object) -> None:
    """Give the reason that Kueue writes with its feature gate UnadmittedWorkloadsObservability."""
    for condition in item["status"]["conditions"]:
        if condition["type"] == "QuotaReserved":
            condition["reason"] = "ExceedsMaxQuota"


VARIANTS: dict[str, tuple[str, Callable[[Object], None]]] = {
    "PathwaysJob/refused": ("PathwaysJob/new", _refused),
    "PathwaysJob/refused-once": ("PathwaysJob/running", _refused_once),
    "PathwaysJob/with-a-terminal-state-only": ("PathwaysJob/new", _only_a_terminal_state),
    "PathwaysJob/suspended-again": ("PathwaysJob/queued", _appended),
    "Workload/larger-than-its-queue-by-reason": ("Workload/larger-than-its-queue", _too_large),
}
"""Each state, the fixture that it comes from, and what is different."""


def changed(recorded: dict[str, Object]) -> dict[str, Object]:
    """Return all variants of recorded objects."""
    made = {}
    for state, (source, change) in VARIANTS.items():
        made[state] = copy.deepcopy(recorded[source])
        change(made[state])
    return made
