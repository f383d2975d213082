"""ContainerFailure: the container of one host exits with an error."""

from slicewright.rehearse.faults.injection import Injection
from slicewright.rehearse.model.fault import check_target, one_host
from slicewright.rehearse.model.scenario_part import Fault, FaultKind
from slicewright.rehearse.model.simulate import END


def inject(injection: Injection) -> None:
    """Let the simulated container end with the exit code."""
    pod, _ = injection.host()
    injection.setup.api.patch(pod, {"metadata": {"annotations": {END: str(_exit_code(injection.fault))}}})


def _exit_code(fault: Fault) -> int:
    return int(fault.options.get("exitCode", 1))


KIND = FaultKind(
    "ContainerFailure",
    lambda fault: f"{one_host(fault)}, exit code {_exit_code(fault)}",
    check_target,
    inject,
)
