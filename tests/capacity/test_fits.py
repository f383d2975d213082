"""FITS says yes only if nothing keeps a run from running; render or validate report the same problem."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from msgspec import Struct
from tests.conftest import Repo

pytestmark = pytest.mark.slow  # whole repositories are rendered and validated, before and after the remedy

CLUSTER = """
project: p
location: us-east5
nodeLocations: [us-east5-b]
kueue: {}
pools:
- {name: v6e, tpu: v6e-16, slices: 2}
- {name: cpu, machineType: n2-standard-80, nodes: 1}
clusterQueues:
- {name: all, quota: [{pool: v6e}, {pool: cpu}], localQueues: [{name: main, namespace: research}]}
teams: [{name: research, namespace: research}]
"""
RUN = """
clusters: [c1]
tpu: v6e-16
queueName: main
container: {image: 'x:1.0.0', command: [python, train.py]}
"""
CPU_RUN = RUN.replace("tpu: v6e-16", "cpu: {pool: cpu}")
PATHWAYS = RUN + "pathways: {pathwaysDir: 'gs://b/p', pathwaysVersion: jax-0.8.1, head: {pool: cpu}}\n"


class Scene(Struct):
    """The documents of a repository, which a remedy changes."""

    cluster: dict[str, Any]
    runs: list[dict[str, Any]]
    custom: dict[str, Any]

    def write(self, repo: Repo) -> None:
        """Write the files."""
        head = {"apiVersion": "slicewright.dev/v1alpha1"}
        cluster = {**head, "kind": "TPUCluster", "metadata": {"name": "c1"}, "spec": self.cluster}
        repo.write("clusters/c1.yaml", json.dumps(cluster))
        for index, spec in enumerate(self.runs):
            repo.workload(f"a{index}", json.dumps(spec), metadata=", namespace: research")
        if self.custom:
            repo.write("custom/object.yaml", json.dumps(self.custom))


Remedy = Callable[[Scene, str], None]
"""Does what a hint says."""


class Case(Struct):
    """What keeps a run from running, and the rule that says so."""

    rule: str
    remedy: Remedy
    fits: bool | None = False
    """What capacity says: None for what only a warning tells."""
    cluster: dict[str, Any] = {}
    run: str = RUN
    requests: dict[str, Any] = {}
    pods: dict[str, Any] = {}
    custom: str = ""
    runs: int = 1

    def scene(self) -> Scene:
        """Return the documents."""
        run = yaml.safe_load(self.run)
        if self.requests:
            run["container"]["resources"] = {"requests": self.requests}
        if self.pods:
            run["podTemplate"] = {"spec": self.pods}
        cluster = yaml.safe_load(CLUSTER) | self.cluster
        return Scene(cluster, [run] * self.runs, yaml.safe_load(self.custom or "{}"))


def pasted(pattern: str, hint: str) -> Any:
    """Return what a hint tells to write."""
    found = re.search(pattern, hint)
    assert found, hint
    return yaml.safe_load(found[1])


def request_less(scene: Scene, hint: str) -> None:
    """Request at most so much of a resource."""
    amount, name = re.findall(r"request at most (\S+) of (\S+)", hint)[0]
    scene.runs[0]["container"]["resources"]["requests"][name] = amount


def larger_disk(scene: Scene, hint: str) -> None:
    """Write the configuration of nodes of a pool."""
    name = pasted(r"for pool '(.*?)' in clusters/c1.yaml", hint)
    (pool,) = (pool for pool in scene.cluster["pools"] if pool["name"] == name)
    pool["nodeConfig"] = pasted(r"nodeConfig: (\{.*?\}\})", hint)


def larger_machine(scene: Scene, hint: str) -> None:
    """Write a larger machine type for the pool."""
    assert "a larger machineType than n2-standard-80 for pool 'cpu' in clusters/c1.yaml" in hint
    scene.cluster["pools"][1]["machineType"] = "n2-highmem-80"


def more_slices(scene: Scene, hint: str) -> None:
    """Give the pool more slices."""
    assert "give the pool more slices" in hint
    scene.cluster["pools"][0]["slices"] = 3


def no_node_pool(scene: Scene, hint: str) -> None:
    """Remove a label from the selector."""
    del scene.runs[0]["podTemplate"]["spec"]["nodeSelector"][pasted(r"remove (\S+) from", hint)]


def more_nodes(scene: Scene, hint: str) -> None:
    """Write the nodes of a pool."""
    scene.cluster["pools"][1] |= pasted(r"write (nodes: \d+) for pool 'cpu'", hint)


def exclusive_heads(scene: Scene, hint: str) -> None:
    """Keep the annotation of exclusive placement, which a patch removed, and have a node for each."""
    assert "alpha.jobset.sigs.k8s.io/exclusive-topology: kubernetes.io/hostname" in hint
    for run in scene.runs:
        run.pop("patches", None)
    scene.cluster["pools"][1]["nodes"] = 2


def larger_quota(scene: Scene, hint: str) -> None:
    """Write an entry of a ResourceQuota, in custom/ or of a team."""
    entry = pasted(r"write (\S+: \S+) or more in (?:spec.hard|resourceQuota of team 'research')", hint)
    team = scene.cluster["teams"][0]
    (scene.custom["spec"]["hard"] if scene.custom else team["resourceQuota"]).update(entry)


def not_demanded(scene: Scene, hint: str) -> None:
    """Give the namespace a LimitRange with a default, in custom/."""
    assert "or give the namespace a LimitRange with a default" in hint
    limits = [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]
    metadata = {"name": "sizes", "namespace": "research"}
    scene.custom = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": metadata,
        "spec": {"limits": limits},
    }


def leave_out(scene: Scene, hint: str) -> None:
    """Leave a key out of the ResourceQuota of a team; requests of cpu would send the pods to CPU nodes."""
    assert "LimitRange" not in hint
    del scene.cluster["teams"][0]["resourceQuota"][pasted(r"leave (\S+) out of", hint)]


def larger_limit(scene: Scene, hint: str) -> None:
    """Write the max of a LimitRange."""
    scene.custom["spec"]["limits"][0]["max"] = pasted(r"write max: (\{.*?\})", hint)


def quota_of_class(scene: Scene, hint: str) -> None:
    """Give the namespace a ResourceQuota for the class."""
    metadata = {"name": "critical", "namespace": "research"}
    spec = pasted(r"a ResourceQuota with spec: (\{.*\})", hint)
    scene.custom = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def handle(scene: Scene, hint: str) -> None:
    """Add a kind to those that Kueue handles."""
    scene.cluster["kueue"]["integrations"]["frameworks"].append(pasted(r"add (\S+) to integrations", hint))


def start_again(scene: Scene, hint: str) -> None:
    """Write stopPolicy: None."""
    policy = pasted(r"write (stopPolicy: \S+)", hint)
    (own,) = scene.cluster["clusterQueues"]
    own |= policy
    own["localQueues"][0] |= policy


def queue(**more: Any) -> dict[str, Any]:
    """Return a cluster whose queue has more fields; those of `local` are of its LocalQueue."""
    (own,) = yaml.safe_load(CLUSTER)["clusterQueues"]
    own["localQueues"][0] |= more.pop("local", {})
    return {"clusterQueues": [own | more]}


def team(hard: dict[str, str]) -> dict[str, Any]:
    """Return a cluster whose team has a ResourceQuota."""
    return {"teams": [{"name": "research", "namespace": "research", "resourceQuota": hard}]}


QUOTA = (
    "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: research}, spec: {hard: {HARD}}}"
)
LIMITS = (
    "{apiVersion: v1, kind: LimitRange, metadata: {name: q, namespace: research}, "
    "spec: {limits: [{type: Container, max: {google.com/tpu: 2}}]}}"
)
HEAD = "/spec/replicatedJobs/0/template"
PORTS = [f"{HEAD}/spec/template/spec/initContainers/{index}/ports" for index in (0, 1)]


def open_heads(*removed: str) -> str:
    """Return a run on the network of the hosts, without exclusive placement and some parts."""
    ops = [{"op": "remove", "path": path} for path in (f"{HEAD}/metadata/annotations", *removed)]
    return f"{PATHWAYS}hostNetwork: true\npatches: {[{'target': {'kind': 'JobSet'}, 'ops': ops}]}\n"


CASES = {
    "memory of a TPU host": Case(
        "FIT130",
        request_less,
        cluster=queue(quota=[{"pool": "v6e", "cpuAndMemory": True}]),
        requests={"memory": "900Gi"},
    ),
    "cpu of a TPU host": Case(
        "FIT130",
        request_less,
        cluster=queue(quota=[{"pool": "v6e", "cpuAndMemory": True}]),
        requests={"cpu": 200},
    ),
    "boot disk of a TPU host": Case("FIT130", larger_disk, requests={"ephemeral-storage": "300Gi"}),
    "less of the boot disk": Case("FIT130", request_less, requests={"ephemeral-storage": "44Gi"}),
    "memory of a CPU node": Case(
        "FIT130", larger_machine, run=CPU_RUN, requests={"cpu": 1, "memory": "400Gi"}
    ),
    "cpu of a CPU node": Case("FIT130", request_less, run=CPU_RUN, requests={"cpu": 80}),
    "boot disk of a CPU node": Case(
        "FIT130", larger_disk, run=CPU_RUN, requests={"cpu": 1, "ephemeral-storage": "90Gi"}
    ),
    "two slices on one node pool": Case(
        "FIT153",
        no_node_pool,
        run=RUN + "slices: 2\n",
        pods={"nodeSelector": {"cloud.google.com/gke-nodepool": "v6e-0"}},
    ),
    "more slices than the pool has": Case(
        "FIT154",
        more_slices,
        cluster=queue(quota=[{"pool": "v6e", "nominalSlices": 3}]),
        run=RUN + "slices: 3\n",
    ),
    "two heads for one node": Case("FIT134", more_nodes, None, run=PATHWAYS, runs=2),
    "ports of two heads": Case("FIT134", more_nodes, None, run=open_heads(), runs=2),
    "ports that the scheduler does not know": Case(
        "PW147", exclusive_heads, None, run=open_heads(*PORTS), runs=2
    ),
    "ResourceQuota": Case(
        "FIT132", larger_quota, None, custom=QUOTA.replace("HARD", 'requests.google.com/tpu: "8"')
    ),
    "quota of a team": Case("FIT132", larger_quota, cluster=team({"requests.google.com/tpu": "8"})),
    "quota of a team that demands cpu": Case(
        "FIT132", not_demanded, cluster={**queue(quota=[{"pool": "v6e"}]), **team({"requests.cpu": "64"})}
    ),
    "quota that demands what the queue has only on CPU nodes": Case(
        "FIT132", leave_out, cluster=team({"requests.cpu": "64", "pods": "10"})
    ),
    "LimitRange": Case("FIT151", larger_limit, None, custom=LIMITS),
    "critical class": Case("FIT152", quota_of_class, pods={"priorityClassName": "system-node-critical"}),
    "kind that Kueue does not handle": Case(
        "KQ186", handle, cluster={"kueue": {"integrations": {"frameworks": ["batch/job"]}}}
    ),
    "ClusterQueue on hold": Case("KQ172", start_again, cluster=queue(stopPolicy="Hold")),
    "LocalQueue on hold": Case("KQ172", start_again, cluster=queue(local={"stopPolicy": "HoldAndDrain"})),
    "queue of an existing cluster on hold": Case(
        "KQ172", start_again, cluster={**queue(stopPolicy="Hold"), "managed": False}
    ),
}


def told(repo: Repo, *, is_refused: bool) -> list[Any]:
    """Return what render and validate say of the runs and their queue."""
    rendered = repo.run("render", "-o", "json", code=int(is_refused)).json["problems"]
    if is_refused:
        return [one for one in rendered if one["severity"] == "error"]
    return list(repo.run("validate", "-o", "json").json["problems"])


def fits(repo: Repo, *, code: int) -> list[tuple[Any, list[str]]]:
    """Return FITS of each run, with the ids of its problems."""
    runs = repo.run("capacity", "-o", "json", code=code).json["clusters"][0]["workloads"]
    return [(run["fits"], [one["id"] for one in run["problems"]]) for run in runs]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_run_that_does_not_run_does_not_fit(empty: Repo, case: Case) -> None:
    """The rule and capacity report the same id; after the remedy of the hint both accept the run."""
    scene, is_refused = case.scene(), case.fits is False and case.rule != "KQ172"
    scene.write(empty)

    problems = [one for one in told(empty, is_refused=is_refused) if one["id"] == case.rule]
    before = fits(empty, code=int(is_refused))
    case.remedy(scene, problems[0]["hint"])
    scene.write(empty)

    assert [(case.fits, [case.rule])] * case.runs == before
    assert [] == [one for one in told(empty, is_refused=False) if one["id"] == case.rule]
    assert [(True, [])] * case.runs == fits(empty, code=0)
