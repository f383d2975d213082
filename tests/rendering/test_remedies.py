"""What a hint tells to write mends the finding: it is pasted as it is printed, and the render is clean."""

import json
import re
from typing import Any

import pytest
import yaml
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


BOARD = """
auxiliaryJobs:
- name: board
  pool: cpu
  podTemplate:
    spec: {containers: [{name: b, image: 'b:1.0.0', resources: {requests: {cpu: 1, memory: 1Gi}}}]}
"""


@pytest.mark.parametrize("cohort", ["", "cohortName: all"])
@pytest.mark.parametrize(
    "more",
    [
        "",
        "provisioning: FlexStart\nmaxRunDurationSeconds: 604800",
        "alternativeProvisioning: [FlexStart]",
        "pathways: {pathwaysDir: 'gs://b/p', pathwaysVersion: jax-0.5.3}",
        BOARD,
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


TPUS = """
  pools: [{name: v5e, tpu: v5litepod-16, slices: 2}]
  clusterQueues:
  - {name: tpu, quota: [{pool: v5e}], localQueues: [{name: team, namespace: research}]}
"""
RUN = """
clusters: [c1]
tpu: v5litepod-16
queueName: team
container: {image: 'x:1.0.0'}
"""
PATHWAYS = "pathways: {pathwaysDir: 'gs://b/p', pathwaysVersion: jax-0.5.3}\n"
NO_QUEUE, NO_PROGRAM = "# no queueName\n", "# no container:\n"


def paste(hint: str, spec: dict[str, Any]) -> None:
    """Write what a hint tells to write into the spec of a cluster."""
    queues = {queue["name"]: queue for queue in spec["clusterQueues"]}
    done = 0
    for pool in re.findall(r"add (\{name: .*?\}) to pools", hint):
        spec["pools"].append(yaml.safe_load(pool))
        done += 1
    for quota, queue in re.findall(r"(\{pool: [^}]*\}) to the quota of ClusterQueue '(.*?)'", hint):
        queues[queue]["quota"].append(yaml.safe_load(quota))
        done += 1
    for pool, queue in re.findall(
        r"cpuAndMemory: true in the quota of pool '(.*?)' of ClusterQueue '(.*?)'", hint
    ):
        (quota,) = (quota for quota in queues[queue]["quota"] if quota["pool"] == pool)
        quota["cpuAndMemory"] = True
        done += 1
    for entry, team in re.findall(r"write (\S+: \S+) or more in resourceQuota of team '(.*?)'", hint):
        (own,) = (own for own in spec["teams"] if own["name"] == team)
        own["resourceQuota"] |= yaml.safe_load(entry)
        done += 1
    for nodes, name in re.findall(r"write (nodes: [0-9]+) for pool '(.*?)'", hint):
        (pool,) = (pool for pool in spec["pools"] if pool["name"] == name)
        pool |= yaml.safe_load(nodes)
        done += 1
    if not done and "write kueue: {}" in hint:
        spec["kueue"] = {}
        done += 1
    assert done, hint


def with_team(hard: str) -> str:
    """Return a cluster whose team has a ResourceQuota."""
    return f"{TPUS}  teams: [{{name: research, namespace: research, resourceQuota: {{{hard}}}}}]\n"


CASES = {
    "head without a CPU pool": (TPUS, PATHWAYS, "FIT103"),
    "head whose queue has no CPU quota": (TPUS + "  kueue: {}\n", PATHWAYS, "FIT102"),
    "head beside a small CPU pool": (
        TPUS.replace(
            "  pools: [",
            "  pools: [{name: small, machineType: n2-standard-8}, {name: big, machineType: n2-standard-80}, ",
        ),
        PATHWAYS,
        "FIT103",
    ),
    "PathwaysJob": (TPUS, PATHWAYS + "api: PathwaysJob\n", "FIT103"),
    "head without a queue": (TPUS, PATHWAYS + NO_QUEUE, "FIT131"),
    "headless PathwaysJob without a queue": (
        TPUS,
        PATHWAYS.replace("3}", "3, headless: true}") + "api: PathwaysJob\n" + NO_QUEUE + NO_PROGRAM,
        "FIT131",
    ),
    "head on the hosts": (
        TPUS,
        PATHWAYS.replace("3}", "3, deploymentMode: colocate_head_with_workers}"),
        "FIT103",
    ),
    "cpu of a TPU host": (TPUS, "container: {image: 'x:1.0.0', resources: {requests: {cpu: 8}}}\n", "FIT103"),
    "disk of a TPU host": (
        TPUS,
        "container: {image: 'x:1.0.0', resources: {requests: {ephemeral-storage: 8Gi}}}\n",
        "FIT103",
    ),
    "auxiliary job": (
        TPUS.replace("slices: 2}]", "slices: 2}, {name: cpu, machineType: n2-standard-8}]"),
        BOARD,
        "FIT103",
    ),
    "other slices": (
        TPUS.replace("slices: 2}]", "slices: 2}, {name: v6e, tpu: v6e-16, slices: 2}]"),
        "tpu: v6e-16\n",
        "FIT102",
    ),
    "chips of a team": (with_team('requests.google.com/tpu: "8"'), "", "FIT132"),
    "pods of a team": (with_team('pods: "2"'), "", "FIT132"),
}


@pytest.mark.parametrize(("cluster", "more", "ident"), CASES.values(), ids=CASES)
def test_hint_mends_the_cluster(empty: Repo, cluster: str, more: str, ident: str) -> None:
    """One finding, whose remedy the file of the cluster takes."""
    spec = spec_of(cluster)
    write(empty, spec)
    own = {key for key in ("container", "tpu") if f"{key}:" in more}
    lines = [line for line in RUN.strip().splitlines() if line.partition(":")[0] not in own]
    body = "\n".join(line for line in lines if "queueName" not in line or NO_QUEUE not in more)
    empty.workload("a", f"{body}\n{more}", metadata=", namespace: research")

    found = hints(empty)

    assert [ident] == list(found)
    paste(found[ident], spec)
    write(empty, spec)
    assert_clean(empty)
