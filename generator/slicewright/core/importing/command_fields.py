"""Fields of a TPUWorkload that the commands of xpk and gcluster have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.importing.command_line import Given
    from slicewright.core.kubernetes.types import Object

LOGS = {
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TPU_VMODULE": "real_program_continuator=1",
}
"""The variables of `--verbose` of gcluster and `--enable-debug-logs` of xpk."""
_VARIABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def filled(fields: Object) -> Object:
    """Return the fields that have a value."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def template(spec: Object) -> Object:
    """Return a `podTemplate` of the fields that have a value."""
    return filled({"spec": filled(spec)})


def variables(flags: Given, flag: str, further: Mapping[str, str], *, by_name: bool = True) -> list[Object]:
    """Return variables, those of the command sorted by name or as given; the last value of a name counts."""
    found: dict[str, str] = {}
    for written in flags.values.get(flag, ()):
        name, sign, value = written.partition("=")
        if sign and _VARIABLE.fullmatch(name):
            found[name] = value
        else:
            flags.refuse(flag, f"'{written}' is not a variable", "write NAME=VALUE")
    own = dict(sorted(found.items())) if by_name else found
    return [{"name": name, "value": value} for name, value in {**own, **further}.items()]
