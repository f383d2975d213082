"""What a field does not do yet is an error that says so: every field has an effect, or is refused.

The schemas are walked, so that a new field fails here until somebody says what it does.
"""

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.intent.source import SourceFile
from slicewright.rendering.io.package_data import package
from slicewright.rendering.overlays import Bases, frozen_body, make
from slicewright.rendering.plans import plan_all
from slicewright.rendering.repository import Settings, read_repository

PROJECT = Path(__file__).resolve().parents[3]
TABLE = yaml.load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
COMPONENT = """
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: JobSet}
  patch: |-
    - {op: add, path: /metadata/labels/mine, value: "yes"}
"""


def read_text(path: str) -> str | None:
    """Read a base of this repository, or the component of the user."""
    if path == "components/mine/kustomization.yaml":
        return COMPONENT
    target = PROJECT / path
    return target.read_text(encoding="utf-8") if target.is_file() else None


def said(workload: dict[str, Any], cluster: dict[str, Any]) -> tuple[list[str], str]:
    """Return the ids of the errors, and the files that a workload is rendered to."""
    files = [
        SourceFile("clusters/c1.yaml", json.dumps(cluster)),
        SourceFile("workloads/a.yaml", json.dumps(workload)),
    ]
    repository = read_repository(files, Settings(), package(), read_text)
    planned, problems = plan_all(repository)
    found = [problem.text() for problem in problems if problem.severity == "error"]
    bodies = []
    for entry in planned:
        made, refused = make(entry, Bases(read_text, repository.package.schemas))
        found += [problem.text() for problem in refused]
        bodies += [frozen_body(made), entry.plan.folder] if made else []
    return found, "".join(bodies)


def put(document: Any, path: str, value: object) -> Any:
    """Return a copy of a document with a value at a path such as `spec.pools[].name`."""
    changed = copy.deepcopy(document)
    steps: list[str | int] = []
    for part in path.split("."):
        steps += [part[:-2], 0] if part.endswith("[]") else [part]
    at = changed
    for step, following in pairwise(steps):
        default: Any = [{}] if following == 0 else {}
        at = at.setdefault(step, default) if isinstance(at, dict) else at[step]
    at[steps[-1]] = value
    return changed


def ours(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that this project's own schemas describe; references end the walk."""
    if "properties" in schema.get("items", {}):
        yield from ours(schema["items"], path + "[]")
        return
    if "properties" not in schema:
        yield path
        return
    for key, value in schema["properties"].items():
        yield from ours(value, f"{path}.{key}".lstrip("."))


def fields(name: str) -> set[str]:
    """Return the paths of all fields of an input format."""
    text = (PROJECT / "schemas" / "slicewright" / f"{name}.json").read_text(encoding="utf-8")
    return set(ours(json.loads(text))) - {"apiVersion", "kind"}


def table(kind: str) -> dict[str, Any]:
    """Return the rows of a kind of document by path."""
    found: dict[str, Any] = TABLE[kind]
    return found


def covered(path: str, rows: dict[str, Any]) -> bool:
    """Tell whether a row speaks of a field, or of a block that holds it."""
    return any(path == row or path.startswith((f"{row}.", f"{row}[]")) for row in rows)


@pytest.mark.parametrize(("name", "kind"), [("tpuworkload", "TPUWorkload"), ("tpucluster", "TPUCluster")])
def test_every_field_of_the_schemas_is_in_the_table(name: str, kind: str) -> None:
    """fields.yaml says of each field what it does, and speaks of no field that is not there."""
    known, rows = fields(name), table(kind)

    assert sorted(path for path in known if not covered(path, rows)) == []
    assert sorted(row for row in rows if not any(covered(path, {row: None}) for path in known)) == []


@pytest.mark.parametrize("path", [path for path, row in table("TPUWorkload").items() if "fact" not in row])
def test_field_of_a_workload_changes_what_is_rendered_or_is_refused(path: str) -> None:
    """No field of a TPUWorkload is accepted and then does nothing."""
    row = table("TPUWorkload")[path]
    base = TABLE["contexts"][row.get("in", "jobset")]
    cluster = TABLE["cluster"]

    before = said(base, cluster)
    after = said(put(base, path, row["set"]), cluster)

    assert (before[0], bool(before[1])) == ([], True), before
    if "refused" in row:
        assert any(row["refused"] in text for text in after[0]), after
    else:
        assert after[0] == []
        assert before[1] != after[1]


@pytest.mark.parametrize("path", table("TPUCluster"))
def test_field_of_a_cluster_is_used_or_refused_or_a_fact(path: str) -> None:
    """With `managed: false` a TPUCluster describes what exists; what asks for output is refused."""
    row = table("TPUCluster")[path]
    base = TABLE["contexts"][row.get("in", "jobset")]

    before = said(base, TABLE["cluster"])
    after = said(base, put(TABLE["cluster"], path, row["set"]))

    assert (before[0], bool(before[1])) == ([], True)
    if "refused" in row:
        assert any(row["refused"] in text for text in after[0]), after
    elif row.get("fact"):
        assert before == after
    else:
        assert after[0] == []
        assert before[1] != after[1]
