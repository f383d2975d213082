"""Which kinds stand in no namespace."""

import json
from pathlib import Path

from slicewright.kubernetes.kinds import CLUSTER_SCOPED, is_namespaced

KINDS = Path(__file__).resolve().parents[3] / "schemas" / "kinds"


def test_kinds_are_those_of_the_schemas() -> None:
    """What the builder takes for cluster-scoped is what validation takes for it, where it has a schema."""
    scopes = {}
    for path in KINDS.glob("*/*.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        folder = path.parent.name
        group = "" if folder == path.stem.rpartition("_")[2] else folder
        scopes[group, schema["properties"]["kind"]["const"]] = schema["x-slicewright"].get("scope")

    assert {kind for kind, scope in scopes.items() if scope == "Cluster"} == CLUSTER_SCOPED & scopes.keys()


def test_kind_without_a_schema_is_namespaced() -> None:
    """Most kinds are, and who brings one may write its namespace."""
    assert is_namespaced("example.com", "Holder")
    assert is_namespaced("example.com", "Namespace")
