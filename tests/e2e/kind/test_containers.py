"""What only a kubelet can show: images, commands, exit codes, logs and the names of pods."""

from typing import Any

from tests.e2e import kit

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .controllers import CONTROL_PLANE, TOLERATION

NAME = "real"
HOSTS = [f"{NAME}-slice-0-{index}.{NAME}.default.svc.cluster.local" for index in (0, 1)]
SCRIPT = f"""
for host in {" ".join(HOSTS)}; do
  until getent hosts $host || nslookup $host; do sleep 1; done
done >/dev/null 2>&1
echo "worker $JOB_COMPLETION_INDEX sees $((6 * 7)) and all of {len(HOSTS)}"
"""


def queue() -> list[Object]:
    """Return a queue whose flavor is the real node."""
    resource = {"name": "cpu", "nominalQuota": "1"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "real-node", "resources": [resource]}]}
    flavor = {"nodeLabels": {CONTROL_PLANE: ""}, "tolerations": [TOLERATION]}
    specs: tuple[tuple[str, str, Object], ...] = (
        ("ResourceFlavor", "real-node", flavor),
        ("ClusterQueue", "real-cq", {"namespaceSelector": {}, "resourceGroups": [group]}),
        ("LocalQueue", "real-queue", {"clusterQueue": "real-cq"}),
    )
    return [
        {
            "apiVersion": kit.KUEUE,
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        for kind, name, spec in specs
    ]


def jobset(image: str) -> Object:
    """Return a JobSet of two pods, each of which ends when it has found both of them by name."""
    container = {
        "name": "main",
        "image": image,
        "command": ["sh", "-c", SCRIPT],
        "resources": {"requests": {"cpu": "20m"}},
    }
    pod = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": pod}}
    return {
        "apiVersion": kit.JOBSET[0],
        "kind": kit.JOBSET[1],
        "metadata": {"name": NAME, "namespace": "default", "labels": {kit.QUEUE: "real-queue"}},
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": 1, "template": job}]},
    }


def test_jobset_whose_containers_run(
    bed: Bed, kind_cluster: Any, container_image: str, real_nodes: set[str]
) -> None:
    """Kueue admits a JobSet onto the real node; its containers find each other by name, run and complete."""
    bed.add_nodes(kit.site("pathways-cluster"))
    for item in (*queue(), jobset(container_image)):
        bed.api.create(item)

    bed.until("the JobSet to complete", lambda: kit.completed(bed, NAME), seconds=120)

    pods = kit.pods_of(bed, NAME)
    assert {pod["spec"]["nodeName"] for pod in pods} <= real_nodes
    statuses = [status for pod in pods for status in pod["status"]["containerStatuses"]]
    assert [status["state"]["terminated"]["exitCode"] for status in statuses] == [0, 0]
    logs = kind_cluster.kubectl("logs", "--selector", f"jobset.sigs.k8s.io/jobset-name={NAME}")
    assert sorted(logs.splitlines()) == [f"worker {index} sees 42 and all of 2" for index in (0, 1)]
