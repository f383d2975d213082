"""CPU and memory on TPU hosts: which flavor a pod is given, and where it runs."""

import yaml

from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.platform_files import objects
from slicewright.testbed.bed import Bed

from . import kit
from .test_flavors import rendered, taints_that_bar
from .test_platform import platform_bed, put_up  # noqa: F401 - a fixture

HOSTS = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-west4-a
  pools:
  - {name: tpus, tpu: v5litepod-4, slices: 4}
  - {name: cpu, machineType: n2-standard-64, nodes: 2}
  clusterQueues:
  - name: hosts
    quota: [{pool: tpus, cpuAndMemory: true}, {pool: cpu, nominalNodes: 1}]
    localQueues: [{name: hosts}]
  - name: apart
    quota: [{pool: tpus, nominalSlices: 1}, {pool: cpu, nominalNodes: 1}]
    localQueues: [{name: apart}]
"""


def with_board(cpu: int) -> Object:
    """Return the spec of a JobSet whose pods ask for cpu and memory, with a job that asks for cpu alone."""
    board = {"name": "m", "image": "x", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "api": "JobSet",
        "queueName": "hosts",
        "container": {"image": "x", "resources": {"requests": {"cpu": "20", "memory": "50Gi"}}},
        "auxiliaryJobs": [{"name": "board", "pool": "cpu", "podTemplate": {"spec": {"containers": [board]}}}],
    }


def assigned(bed: Bed) -> dict[str, dict[str, str]]:
    """Return the flavors of each run that has quota, by run and pod set, as `tpu` or `cpu`."""
    found: dict[str, dict[str, str]] = {}
    for item in bed.api.list(*kit.WORKLOAD):
        owner = item["metadata"]["ownerReferences"][0]["name"]
        for one in item.get("status", {}).get("admission", {}).get("podSetAssignments", ()):
            names = {"cpu" if flavor == "cpu" else "tpu" for flavor in one["flavors"].values()}
            found.setdefault(owner, {})[one["name"]] = "+".join(sorted(names))
    return found


def test_pods_on_tpu_hosts_may_request_cpu_and_memory(platform_bed: Bed) -> None:  # noqa: F811
    """With cpuAndMemory they run on their hosts, and jobs that ask for cpu alone get a CPU pool or wait."""
    bed = platform_bed
    site, runs = rendered(yaml.safe_load(HOSTS), {"first": with_board(60), "second": with_board(10)})
    bed.add_nodes(site)
    put_up(bed, objects(site))

    bed.api.apply(runs["first"])
    bed.until("the first to run", lambda: len(kit.pods_of(bed, "first", phase="Running")) == 2)
    bed.api.apply(runs["second"])

    (waits,) = bed.until("the second to be refused", lambda: taints_that_bar(bed, "second"))
    assert {"first": {"slice": "tpu", "board": "cpu"}} == assigned(bed)
    assert "untolerated taint {slicewright.dev/provisioning OnDemand NoSchedule <nil>}" in waits
    for pod in kit.pods_of(bed, "first"):
        kit.end_pod(bed, pod)
    bed.until("the second to run", lambda: len(kit.pods_of(bed, "second", phase="Running")) == 2)
    assert {"slice": "tpu", "board": "cpu"} == assigned(bed)["second"]
    pods = [*kit.pods_of(bed, "second", "slice"), *kit.pods_of(bed, "second", "board")]
    assert ["tpus", "cpu"] == [pool.rpartition("-")[0] or pool for pool in kit.node_pools(bed, pods)]


def test_cpu_that_only_a_cpu_pool_has_sends_pods_to_its_nodes(platform_bed: Bed) -> None:  # noqa: F811
    """What REF151 refuses: Kueue adds the labels of both flavors, and no node has both."""
    bed = platform_bed
    site, runs = rendered(yaml.safe_load(HOSTS), {"a": {"api": "JobSet", "queueName": "apart"}})
    bed.add_nodes(site)
    put_up(bed, objects(site))
    (job,) = runs["a"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = "1"

    bed.api.apply(runs["a"])

    (pod,) = bed.until("the pod to find no node", lambda: unschedulable(bed, "a"))
    assert {"a": {"slice": "cpu+tpu"}} == assigned(bed)
    selector = pod["spec"]["nodeSelector"]
    assert ("cpu", "2x2") == (selector[kit.NODE_POOL], selector["cloud.google.com/gke-tpu-topology"])


def unschedulable(bed: Bed, name: str) -> list[Object]:
    """Return the pods of a JobSet that the scheduler has found no node for."""
    return [
        pod
        for pod in kit.pods_of(bed, name)
        for condition in pod.get("status", {}).get("conditions", ())
        if condition.get("reason") == "Unschedulable"
    ]


COLOCATED = HOSTS.replace("tpu: v5litepod-4, slices: 4", "tpu: v5litepod-16, slices: 2")


def test_head_that_shares_the_hosts_of_its_workers_gets_their_flavor(platform_bed: Bed) -> None:  # noqa: F811
    """It asks for cpu and no chips, beside a CPU pool with room: with cpuAndMemory it runs on TPU hosts."""
    bed = platform_bed
    spec = {
        "api": "JobSet",
        "tpu": "v5litepod-16",
        "queueName": "hosts",
        "pathways": {"pathwaysDir": "gs://b/d", "deploymentMode": "colocate_head_with_workers"},
    }
    site, runs = rendered(yaml.safe_load(COLOCATED), {"pw": spec})
    bed.add_nodes(site)
    put_up(bed, objects(site))

    bed.api.apply(runs["pw"])

    bed.until("its pods to run", lambda: len(kit.pods_of(bed, "pw", phase="Running")) == 5)
    assert {"pw": {"pathways-head": "tpu", "worker": "tpu"}} == assigned(bed)
    assert {"tpus"} == {pool.rpartition("-")[0] for pool in kit.node_pools(bed, kit.pods_of(bed, "pw"))}
