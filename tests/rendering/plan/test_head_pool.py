"""The CPU pool for the head of Pathways."""

from pathlib import Path

import pytest
import yaml
from tests.files import cluster_text

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpucluster import decode_cluster
from slicewright.kubernetes.quantity import amount
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.pathways_plan import HEAD_GIGABYTES, HEAD_MACHINE_TYPE, HEAD_VCPUS, head_pool
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, resolve_cluster

ROOT = Path(__file__).parents[3]
BIG, SMALL = f"machineType: {HEAD_MACHINE_TYPE}", "machineType: n2-standard-8"


def site(pools: str, more: str = "") -> ResolvedCluster:
    """Return a cluster of a TPU pool and some CPU pools."""
    written = cluster_text(f"pools: [{{name: tpus, tpu: v6e-16}}, {pools}]\n{more}")
    documents, _ = read_documents(written, "")
    cluster = decode_cluster(Source(SourceFile("clusters/c1.yaml", written), documents[0]))
    return resolve_cluster(cluster, package().catalogue)[0]


@pytest.mark.parametrize(
    ("pools", "more", "expected"),
    [
        (f"{{name: a, {SMALL}}}", "", ""),
        (f"{{name: a, {SMALL}}}, {{name: b, {BIG}}}, {{name: c, {BIG}}}", "", "b"),
        (f"{{name: a, {BIG}, nodes: 2, nodePoolNames: [x, y]}}, {{name: b, {BIG}}}", "", "b"),
        ("{name: a, machineType: z9-standard-96}", "", "a"),
        (f"{{name: b, {BIG}}}, {{name: c, {BIG}}}", "clusterQueues: [{name: q, quota: [{pool: c}]}]", "c"),
    ],
)
def test_pool_with_room_for_the_head(pools: str, more: str, expected: str) -> None:
    """The first one of one node pool and large enough machines; one with quota before the others."""
    assert expected == head_pool([site(pools, more)])


@pytest.mark.parametrize("base", ["pathways", "pathways-headless"])
def test_need_is_that_of_the_base(base: str) -> None:
    """What messages say that the head needs is what the containers of the base request."""
    jobset = yaml.safe_load((ROOT / "bases" / base / "jobset.yaml").read_text(encoding="utf-8"))
    head = next(job for job in jobset["spec"]["replicatedJobs"] if job["name"] == "pathways-head")
    pod = head["template"]["spec"]["template"]["spec"]
    limits = [
        each["resources"]["limits"]
        for each in (*pod.get("initContainers", ()), *pod["containers"])
        if "resources" in each
    ]

    assert HEAD_VCPUS == sum(int(each["cpu"]) for each in limits if "cpu" in each)
    assert HEAD_GIGABYTES * 10**9 == sum(amount(each["memory"]) or 0 for each in limits if "memory" in each)
