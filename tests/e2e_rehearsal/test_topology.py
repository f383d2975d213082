"""Topology-aware scheduling: Kueue places slices whole, in queues with Topologies only and in mixed ones."""

from tests.conftest import Repo

from slicewright.testbed.bed import Bed

from .kit import play, run, spec

V6E = "{accelerator: v6e, topology: 4x4, machineType: ct6e-standard-4t}"
CLUSTER = f"""
topologies:
- name: pools
  levels: [{{nodeLabel: cloud.google.com/gke-nodepool}}, {{nodeLabel: kubernetes.io/hostname}}]
pools:
- {{name: tas, tpu: v5litepod-16, slices: 3, topologyName: pools}}
- {{name: mixed, tpu: {V6E}, slices: 3, topologyName: pools}}
- {{name: plain, tpu: v4-16, slices: 2}}
- {{name: cpu-np, machineType: n2-standard-64, nodes: 1}}
clusterQueues:
- name: tas
  quota: [{{pool: tas}}]
  localQueues: [{{name: tas, namespace: default}}]
- name: mixed
  quota: [{{pool: mixed}}, {{pool: plain}}, {{pool: cpu-np}}]
  localQueues: [{{name: mixed, namespace: default}}]
"""
PATHWAYS = """slices: 2
queueName: mixed
pathways: {pathwaysDir: "gs://b/p", head: {pool: cpu-np}}
rehearsal: {duration: 30s}
"""


def test_every_slice_is_whole_where_kueue_places_it(bed: Bed, empty: Repo) -> None:
    """Runs of queues with a Topology are admitted, and each of their slices runs on one node pool."""
    empty.cluster(spec=CLUSTER)
    hold = "queueName: {}\nrehearsal: {{duration: 60s}}"
    lines = {
        "first": ("v5litepod-16", hold.format("tas")),
        "second": ("v5litepod-16", "slices: 2\n" + hold.format("tas")),
        "single": (V6E, hold.format("mixed")),
        "paths": (V6E, PATHWAYS),
        "other": ("v4-16", "slices: 2\n" + hold.format("mixed")),
    }
    for name, (tpu, rest) in lines.items():
        empty.workload(name, spec(rest, tpu=tpu))
    record = play(bed, empty, speed=12)
    found = {name: run(record, name) for name in lines}
    pools = {name: sorted(piece["nodePools"] for piece in entry["slices"]) for name, entry in found.items()}

    assert [] == [f"{entry['id']} {entry['message']} {entry['hint']}" for entry in record["problems"]]
    assert dict.fromkeys(lines, "finished") == {name: entry["outcome"] for name, entry in found.items()}
    assert dict.fromkeys(lines, 0) == {name: entry["restarts"] for name, entry in found.items()}
    assert [["tas-0"], ["tas-1"], ["tas-2"]] == sorted(pools["first"] + pools["second"])
    assert [["mixed-0"], ["mixed-1"], ["mixed-2"]] == sorted(pools["single"] + pools["paths"])
    assert [["plain-0"], ["plain-1"]] == pools["other"]
