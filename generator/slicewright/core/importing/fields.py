"""Fields of what is imported, and those that the commands of xpk and gcluster have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.importing.command_line import Flags
    from slicewright.core.kubernetes.types import Object

LOGS = {
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TPU_VMODULE": "real_program_continuator=1",
}
"""The variables of `--verbose` of gcluster and `--enable-debug-logs` of xpk."""
_VARIABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def filled(**fields: Any) -> Object:
    """Return the fields that have a value."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def template(spec: Object) -> Object:
    """Return a `podTemplate` of the fields that have a value."""
    return filled(spec=filled(**spec))


def variables(flags: Flags, flag: str, further: Mapping[str, str], *, by_name: bool = True) -> list[Object]:
    """Return variables, those of the command sorted by name or as given; the last value of a name counts."""
    own: dict[str, str] = {}
    for pair in flags.values.get(flag, ()):
        name, sign, value = pair.partition("=")
        if sign and _VARIABLE.fullmatch(name):
            own[name] = value
        else:
            flags.refuse(flag, f"'{pair}' is not a variable", "write NAME=VALUE")
    own = dict(sorted(own.items())) if by_name else own
    return [{"name": name, "value": value} for name, value in {**own, **further}.items()]


def components(flags: Flags, parts: Iterable[tuple[str, str, str]]) -> list[Object]:
    """Return `customComponents` for type, image and beginning of the options of each component."""
    listed = [
        filled(
            componentType=kind,
            image=image,
            customFlags=flags.text(f"{option}-args").split(),
            customEnv=variables(flags, f"{option}-env", {}),
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
