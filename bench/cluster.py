"""`python -m bench.cluster [TPU]`: how fast a cluster starts, fills and works. Prints JSON.

TPU is the name of the slices, 64 of them; without it v5litepod-64, which makes 1,024 nodes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.kinds import JOBSET_VERSION, KUEUE_VERSION
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    EXCLUSIVE_TOPOLOGY,
    NODE_POOL,
    QUEUE,
    TOPOLOGY,
    TPU,
)
from slicewright.rendering.io.package_data import package
from slicewright.rendering.repository import Settings, read_repository
from slicewright.testbed import supervisor
from slicewright.testbed.bed_cluster import Cluster

if TYPE_CHECKING:
    from slicewright.catalogue.shape import Shape
    from slicewright.kubernetes.types import Object


_TPU = "v5litepod-64"
_JOBSETS, _SLICES_EACH = 16, 4
_SIMULATED = "slicewright.dev/simulated-seconds"
_RUN_SECONDS = "1"
_DEADLINE = 600
_SAMPLE_SECONDS = 0.5

_CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: bench}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools: [{name: np, tpu: %s, slices: %d}]
"""


def main(tpu: str = _TPU) -> None:
    """Measure with slices of a shape and print."""
    file = SourceFile("cluster.yaml", _CLUSTER % (tpu, _JOBSETS * _SLICES_EACH))
    (site,) = read_repository([file], Settings(), package(), lambda _: None).sites.values()
    ((_, shape),) = site.pools
    started = time.monotonic()
    with Cluster(progress=_say) as cluster, _Memory(cluster) as memory:
        ready = time.monotonic() - started
        began = time.monotonic()
        nodes = cluster.add_nodes(site)
        filled = time.monotonic() - began
        _say(f"{nodes} nodes after {filled:.1f} s")
        _queues(cluster, shape)
        began = time.monotonic()
        cluster.api.each(cluster.api.create, [_jobset(index, shape) for index in range(_JOBSETS)])
        cluster.until("all JobSets to complete", lambda: _all_completed(cluster), seconds=_DEADLINE)
        worked = time.monotonic() - began
    json.dump(
        {
            "readySeconds": round(ready, 1),
            "nodes": nodes,
            "nodesSeconds": round(filled, 1),
            "jobSets": _JOBSETS,
            "slices": _JOBSETS * _SLICES_EACH,
            "chips": nodes * shape.chips_per_host,
            "jobSetsSeconds": round(worked, 1),
            "peakMemoryMiB": memory.peak,
            "peakMemoryMiBByProgram": memory.peaks,
        },
        sys.stdout,
        indent=2,
    )
    sys.stdout.write("\n")


def _queues(cluster: Cluster, shape: Shape) -> None:
    chips = str(_JOBSETS * _SLICES_EACH * shape.hosts * shape.chips_per_host)
    resource = {"name": TPU, "nominalQuota": chips}
    group = {"coveredResources": [TPU], "flavors": [{"name": "bench", "resources": [resource]}]}
    for kind, name, spec in (
        ("ResourceFlavor", "bench", {"nodeLabels": _labels(shape)}),
        ("ClusterQueue", "bench", {"namespaceSelector": {}, "resourceGroups": [group]}),
        ("LocalQueue", "bench", {"clusterQueue": "bench"}),
    ):
        metadata = {"name": name, "namespace": "default"} if kind == "LocalQueue" else {"name": name}
        cluster.api.create({"apiVersion": KUEUE_VERSION, "kind": kind, "metadata": metadata, "spec": spec})


def _labels(shape: Shape) -> dict[str, str]:
    return {ACCELERATOR: shape.accelerator, TOPOLOGY: shape.topology}


def _jobset(index: int, shape: Shape) -> Object:
    chips = {TPU: str(shape.chips_per_host)}
    pod = {
        "metadata": {"annotations": {_SIMULATED: _RUN_SECONDS}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": _labels(shape),
            "containers": [
                {"name": "jax", "image": "python:3.12", "resources": {"limits": chips, "requests": chips}}
            ],
        },
    }
    job = {
        "metadata": {"annotations": {EXCLUSIVE_TOPOLOGY: NODE_POOL}},
        "spec": {"completions": shape.hosts, "parallelism": shape.hosts, "backoffLimit": 0, "template": pod},
    }
    return {
        "apiVersion": JOBSET_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": f"bench-{index}",
            "namespace": "default",
            "labels": {QUEUE: "bench"},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": _SLICES_EACH, "template": job}]},
    }


def _all_completed(cluster: Cluster) -> bool:
    listed = cluster.api.list(JOBSET_VERSION, "JobSet")
    states = [item.get("status", {}).get("terminalState", "") for item in listed]
    return states == ["Completed"] * _JOBSETS


class _Memory:
    """Samples the resident memory of all programs of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._programs: dict[str, int] = supervisor.read_state(cluster.processes.folder)["programs"]
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak = 0
        self.peaks: dict[str, int] = dict.fromkeys(self._programs, 0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        names = {pid: name for name, pid in self._programs.items()}
        command = ["ps", "-o", "pid=,rss=", "-p", ",".join(map(str, names))]
        while not self._done.wait(_SAMPLE_SECONDS):
            listed = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
            sizes = {
                names[int(pid)]: int(rss) // 1024 for pid, rss in map(str.split, listed.stdout.splitlines())
            }
            self.peak = max(self.peak, sum(sizes.values()))
            for name, size in sizes.items():
                self.peaks[name] = max(self.peaks[name], size)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
