"""The capacity of clusters from a few lines of YAML."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema
from tests.rendering.platform.kit import cluster, repository

from slicewright.capacity.cluster_capacity import Report, capacity
from slicewright.kubernetes.types import record as record_of
from slicewright.rendering.io.package_data import data_folder


@cache
def schema() -> Any:
    """Return the schema of the JSON output."""
    return json.loads((data_folder("schemas") / "slicewright" / "capacity.json").read_text(encoding="utf-8"))


def report(
    *texts: str, clusters: tuple[str, ...] = ("c1",), existing: Mapping[str, str] | None = None
) -> Report:
    """Return the capacity of clusters that some files declare; its JSON form is one of the schema."""
    found = capacity(repository(*texts), existing or {}, clusters)
    jsonschema.validate(json.loads(json.dumps(record_of(found))), schema())
    return found


def record(spec: str) -> Any:
    """Return the JSON form of the capacity of one cluster, by its spec."""
    return record_of(report(cluster(spec)))["clusters"][0]
