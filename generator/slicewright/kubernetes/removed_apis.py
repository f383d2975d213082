"""The APIs that Kubernetes and the projects beside it no longer serve, from `removed_apis.yaml`."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct


class RemovedApi(Struct, frozen=True):
    """An API that is no longer served."""

    by: str
    """Project and version: `Kubernetes 1.26`."""
    successor: str
    """The apiVersion that took its place; empty for none."""


Removed = dict[tuple[str, str], RemovedApi]
"""By apiVersion and kind; the kind is empty where all kinds of a version are gone."""


def removed_apis(projects: Iterable[Mapping[str, Any]]) -> Removed:
    """Return the removed APIs that a data file lists."""
    return {
        (entry["api"], kind): RemovedApi(f"{project['by']} {entry['in']}", entry.get("write", ""))
        for project in projects
        for entry in project["removed"]
        for kind in entry.get("kinds", [""])
    }
