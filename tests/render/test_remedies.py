"""What a hint tells to write mends the finding: it is pasted as it is printed, and the render is clean."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.conftest import Repo

pytestmark = pytest.mark.slow  # whole repositories are rendered

HEAD = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {name: c1}\nspec:\n"
CLUSTER = """
  project: p
  location: us-west4
  nodeLocations: [us-west4-a]
"""


def spec_of(text: str) -> dict[str, Any]:
    """Return the spec of a cluster from its own lines."""
    spec: dict[str, Any] = yaml.safe_load(HEAD + CLUSTER.lstrip("\n") + text.lstrip("\n"))["spec"]
    return spec


def write(repo: Repo, spec: dict[str, Any]) -> None:
    """Write the cluster."""
    document = {**yaml.safe_load(HEAD), "spec": spec}
    repo.write("clusters/c1.yaml", json.dumps(document))


def hints(repo: Repo, code: int = 1) -> dict[str, str]:
    """Return the hint of each id that a render reports as an error."""
    problems = repo.run("render", "-o", "json", code=code).json["problems"]
    return {one["id"]: one["hint"] for one in problems if one["severity"] == "error"}


def assert_clean(repo: Repo) -> None:
    """Render, and expect no error of render and validate."""
    repo.run("render")
    repo.run("validate")


def pasted(hint: str, key: str) -> Any:
    """Return the value of a key that a hint tells to write, as YAML."""
    found = re.search(rf"\b{key}: (\[.*\]|\{{.*?\}}|[^\s,;]+)", hint)
    assert found, hint
    return yaml.safe_load(found[1])


SWEEP = """
clusters: [c1]
tpu: v6e-16
queueName: team
container: {image: 'x:1.0.0'}
matrix: {env: {A: ['1', '2', '3', '4']}, maxConcurrent: 3}
"""
POOLS = """
  pools:
  - {name: v6e, tpu: v6e-16, slices: 4}
  - {name: v6e-flex, tpu: v6e-16, slices: 4, provisioning: FlexStart}
  - {name: v5e, tpu: v5litepod-8, slices: 4}
  - {name: cpu, machineType: n2-standard-64, nodes: 4}
  clusterQueues:
  - name: tpu
    COHORT
    quota: [{pool: v5e}, {pool: v6e}, {pool: v6e-flex}, {pool: cpu}]
    localQueues: [{name: team, namespace: default}]
  cohorts: [{name: all}]
"""


@pytest.mark.parametrize("cohort", ["", "cohortName: all"])
@pytest.mark.parametrize(
    "more",
    [
        "",
        "provisioning: FlexStart\nmaxRunDurationSeconds: 604800",
        "alternativeProvisioning: [FlexStart]",
        "pathways: {pathwaysDir: 'gs://b/p', pathwaysVersion: jax-0.5.3}",
        "auxiliaryJobs: [{name: board, pool: cpu, podTemplate: {spec: {containers: "
        "[{name: b, image: 'b:1.0.0', resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}]",
    ],
    ids=["on demand", "flex-start", "both", "pathways", "auxiliary"],
)
def test_queue_of_a_sweep_holds_its_limit(empty: Repo, more: str, cohort: str) -> None:
    """The ClusterQueue of SWEEP004 has the pool of the sweep, whatever else the first queue has."""
    spec = spec_of(POOLS.replace("    COHORT\n", f"    {cohort}\n" if cohort else ""))
    write(empty, spec)
    empty.workload("lr", SWEEP + more)

    hint = hints(empty)["SWEEP004"]

    name = pasted(hint, "cohortName")
    spec["clusterQueues"][0]["cohortName"] = name
    own = {"name": "sweeps", "namespace": "default"}
    queue = {"name": "sweeps", "cohortName": name, "quota": pasted(hint, "quota"), "localQueues": [own]}
    spec["clusterQueues"].append(queue)
    write(empty, spec)
    empty.workload("lr", SWEEP.replace("queueName: team", "queueName: sweeps") + more)
    assert_clean(empty)
