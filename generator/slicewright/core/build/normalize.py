"""The last touch: canonical quantities, written-out defaults, fields in reading order."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from slicewright.core.build.pod import in_reading_order
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.pods import pods_of
from slicewright.core.kubernetes.quantity import canonical

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object


def normalize(item: Object) -> None:
    """Bring an object into the form that the API server keeps, so that a later diff is empty.

    Custom resources get the defaults that their webhooks and schemas fill in only at creation
    (`protocol: TCP` in every port); built-in kinds none, for every client knows theirs.
    """
    custom = "." in item.get("apiVersion", "").partition("/")[0]
    for pods in pods_of(item, item["kind"]) if item["kind"] in RUN_KINDS else ():
        spec = pods.spec
        for field in ("initContainers", "containers"):
            if field in spec:
                spec[field] = [_finish_container(entry, custom=custom) for entry in spec[field]]
        for volume in spec.get("volumes", []):
            _make_canonical(volume.get("emptyDir", {}), ("sizeLimit",))


def _finish_container(container: dict[str, Any], *, custom: bool) -> dict[str, Any]:
    resources = container.get("resources", {})
    for field in ("limits", "requests"):
        quantities = resources.get(field, {})
        _make_canonical(quantities, tuple(quantities))
    if custom:
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
    return in_reading_order(container)


def _make_canonical(quantities: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in quantities:
            # What a base or a user's component spells wrong stays as it is, for validation to find.
            with contextlib.suppress(ValueError):
                quantities[name] = canonical(quantities[name])
