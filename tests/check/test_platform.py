"""The platform of a TPUCluster is checked by the rules that check anybody's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Repo

CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-west4-a
  pools:
  - {name: tpus, tpu: v5litepod-8, slices: 3}
  - {name: cpus, machineType: n2-standard-8}
"""
LAST_LEVEL = """\
topologies:
- name: t
  levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: x}]
"""
SELECTOR = """\
clusterQueues:
- name: q
  quota: [{pool: tpus}]
  namespaceSelector: {matchExpressions: [{key: a, operator: In}]}
"""
REFUSED = [
    # lines of the spec, and the ids with the line that a person changes
    ("cohorts: [{name: a, parentName: b}, {name: b, parentName: a}]", ["FIT107:10", "FIT107:10"]),
    ("clusterQueues: [{name: q, quota: [{pool: cpus, borrowingLimit: 1}]}]", ["KQ103:10"]),
    (LAST_LEVEL, ["KQ116:12"]),
    (SELECTOR, ["KQ112:13"]),
]


@pytest.mark.parametrize(("lines", "expected"), REFUSED)
def test_render_refuses_what_a_rule_refuses(repo: Repo, lines: str, expected: list[str]) -> None:
    """The finding of a rule is at the line of the TPUCluster, once for cpu and memory."""
    indented = "".join(f"  {line}\n" for line in lines.splitlines())
    repo.write("clusters/c1.yaml", CLUSTER + indented)

    found = repo.run("render", "-o", "json", code=1).json["problems"]

    errors = [problem for problem in found if problem["severity"] == "error"]
    assert expected == [f"{problem['id']}:{problem['line']}" for problem in errors]
    assert {("clusters/c1.yaml", "TPUCluster c1")} == {(one["file"], one["object"]) for one in errors}


def test_too_much_quota_is_reported_once(repo: Repo) -> None:
    """Of a platform that we render, QUOTA008 adds up all queues: FIT104 would repeat it for one of them."""
    repo.write(
        "clusters/c1.yaml",
        CLUSTER + "  clusterQueues: [{name: q, quota: [{pool: tpus, nominalSlices: 5}]}]\n",
    )
    repo.run("render")

    found = repo.run("validate", "-o", "json").json["problems"]

    about_quota = [one["id"] for one in found if one["id"].startswith(("QUOTA", "FIT"))]
    assert ["QUOTA008"] == about_quota
