"""The recorded objects, and what is expected of them."""

import re
from pathlib import Path
from typing import Any

import yaml

from slicewright.kubernetes.types import Object

Said = dict[str, str]

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = Path(__file__).parent / "expected.yaml"

_UNSTEADY = ("managedFields", "resourceVersion")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_WORKLOAD = re.compile(r"\b((?:jobset|job)-[a-z0-9-]+?)-[0-9a-f]{5}(?=$|[^0-9a-z])")


def recorded() -> dict[str, Object]:
    """Return all objects by state, as in `JobSet/running`."""
    return {
        path.relative_to(FOLDER).with_suffix("").as_posix(): yaml.load(
            path.read_text(encoding="utf-8"), yaml.CSafeLoader
        )
        for path in sorted(FOLDER.rglob("*.yaml"))
    }


def expected() -> dict[str, dict[str, Said]]:
    """Return status and message of every state, by scene."""
    loaded: dict[str, dict[str, Said]] = yaml.load(EXPECTED.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return loaded


def steady(text: str) -> str:
    """Return a text without what differs from one play to the next: identities, times, hashes in names."""
    text = _UUID.sub("00000000-0000-0000-0000-000000000000", text)
    return _WORKLOAD.sub(r"\1-00000", _TIME.sub("2026-01-01T00:00:00Z", text))


def trimmed(item: Any) -> Any:
    """Return an object, or a part of one, without what differs from one play to the next."""
    if isinstance(item, dict):
        return {key: trimmed(value) for key, value in item.items() if key not in _UNSTEADY}
    if isinstance(item, list):
        return [trimmed(value) for value in item]
    return steady(item) if isinstance(item, str) else item
