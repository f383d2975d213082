"""ContainerFailure: the container of one host exits with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.rehearsal.fault import check_target, one_host
from slicewright.core.rehearsal.script import FaultKind
from slicewright.core.rehearsal.simulate import END

if TYPE_CHECKING:
    from slicewright.core.rehearsal.script import Fault
    from slicewright.rehearsal.faults.strike import Strike


def inject(strike: Strike) -> None:
    """Let the simulated container end with the exit code."""
    pod, _ = strike.host()
    strike.stage.api.patch(pod, {"metadata": {"annotations": {END: str(_exit_code(strike.fault))}}})


def _exit_code(fault: Fault) -> int:
    return int(fault.options.get("exitCode", 1))


KIND = FaultKind(
    "ContainerFailure",
    lambda fault: f"{one_host(fault)}, exit code {_exit_code(fault)}",
    check_target,
    inject,
)
