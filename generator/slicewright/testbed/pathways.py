"""The operator of PathwaysJobs: a simulated one, or the real one where somebody has it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.core.problem import Problem
from slicewright.testbed.errors import BedError

if TYPE_CHECKING:
    from collections.abc import Mapping

OPERATOR_VARIABLE = "SLICEWRIGHT_PATHWAYS_CONTROLLER"
"""Names the real controller's binary; it cannot be built from a package registry."""

SIMULATED_OPERATOR = "simulated operator"
"""What results call the operator when it is ours."""


def operator_name(environ: Mapping[str, str]) -> str:
    """Return what results call the operator that an environment asks for."""
    return "PathwaysJob controller" if environ.get(OPERATOR_VARIABLE) else SIMULATED_OPERATOR


def operator_command(kubeconfig: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the operator. Raises BedError where the variable names no program."""
    binary = environ.get(OPERATOR_VARIABLE, "")
    if not binary:
        return [sys.executable, "-m", "slicewright.testbed.simulated_operator", str(kubeconfig)]
    if not Path(binary).is_file():
        message = f"{OPERATOR_VARIABLE} names {binary}, which is not a file"
        raise BedError(Problem("BED005", message, "name the controller's binary, or unset the variable"))
    return [
        str(Path(binary).absolute()),
        f"--kubeconfig={kubeconfig}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
    ]
