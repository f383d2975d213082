"""Flags of a command with their values, and the fields of a TPUWorkload that they and others become."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object

TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
"""What Go's strconv.ParseBool reads."""
LOGS = {
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TPU_VMODULE": "real_program_continuator=1",
}
"""The variables of `--verbose` of gcluster and `--enable-debug-logs` of xpk."""
_VARIABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Flags:
    """The options of a command with their values, and the notes and problems of their conversion."""

    def __init__(self) -> None:
        self.verb = ""
        self.values: dict[str, list[str]] = {}
        self.chosen: Mapping[str, str] = {}
        """What the run gets on its cluster, whatever the command says."""
        self.problems: list[Problem] = []

    def stop(self, message: str, hint: str) -> None:
        """Say why the command cannot be imported."""
        self.problems.append(Problem("IMP030", message, hint))

    def refuse(self, option: str, why: str, hint: str) -> None:
        """Say why an option cannot be imported."""
        self.stop(f"--{option} cannot be imported: {why}", hint)

    def remark(self, option: str, difference: str) -> None:
        """Add a note on a difference between the TPUWorkload and the command."""
        self.problems.append(Problem("IMP031", f"--{option} {difference}", severity="note"))

    def text(self, option: str) -> str:
        """Return the last value of an option; '' if the option is missing."""
        return self.values[option][-1] if option in self.values else ""

    def on(self, option: str) -> bool:
        """Tell whether a switch is on."""
        return self.text(option) in TRUE

    def whole(self, option: str, default: int) -> int:
        """Return a number, also as `0x10`."""
        try:
            return int(self.text(option), 0) if option in self.values else default
        except ValueError:
            self.refuse(option, f"'{self.text(option)}' is not a whole number", "write a number")
            return default


def filled(**fields: Any) -> Object:
    """Return the fields that have a value."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def template(spec: Object) -> Object:
    """Return a `podTemplate` of the fields that have a value."""
    return filled(spec=filled(**spec))


def env(flags: Flags, flag: str, further: Mapping[str, str], *, by_name: bool = True) -> list[Object]:
    """Return variables, those of the command sorted by name or as given; the last value of a name counts."""
    own: dict[str, str] = {}
    for pair in flags.values.get(flag, ()):
        name, sign, value = pair.partition("=")
        if sign and _VARIABLE.fullmatch(name):
            own[name] = value
        else:
            flags.refuse(
                flag,
                f"'{pair}' is not a valid variable",
                "write NAME=VALUE, with a name of letters, digits and '_'",
            )
    own = dict(sorted(own.items())) if by_name else own
    return [{"name": name, "value": value} for name, value in {**own, **further}.items()]


def components(flags: Flags, parts: Iterable[tuple[str, str, str]]) -> list[Object]:
    """Return `customComponents` for type, image and beginning of the options of each component."""
    listed = [
        filled(
            componentType=kind,
            image=image,
            customFlags=flags.text(f"{option}-args").split(),
            customEnv=env(flags, f"{option}-env", {}),
        )
        for kind, image, option in parts
    ]
    return [component for component in listed if len(component) > 1]


def elastic_slices(flags: Flags, prefix: str = "") -> Object:
    """Return the fields of elastic Pathways."""
    option = f"{prefix}max-slice-restarts"
    elastic, restarts = flags.whole(f"{prefix}elastic-slices", 0), flags.whole(option, 1)
    if elastic:
        return {"elasticSlices": elastic, "maxSliceRestarts": restarts if restarts != 1 else None}
    if option in flags.values:
        flags.remark(option, "is left out: it counts only with elastic slices")
    return {}
