"""What a TPUCluster says of its pools, and what stands against it."""

from pathlib import Path

import pytest
import yaml
from tests.words import places

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpucluster import CpuPool, decode_cluster
from slicewright.kubernetes.problem import in_order
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, resolve_cluster

from .kit import cluster


def surveyed(text: str) -> tuple[ResolvedCluster, str]:
    """Return a cluster as it is understood, and what is said against its file."""
    documents, _ = read_documents(text, "")
    source = Source(SourceFile("clusters/c1.yaml", text), documents[0])
    assert tuple(package().schemas.problems("slicewright/tpucluster.json", source.data)) == ()
    site, problems = resolve_cluster(decode_cluster(source), package().catalogue)
    return site, "".join(f"{problem.text()}\n" for problem in in_order(problems))


REFUSALS = yaml.load(
    (Path(__file__).parent / "refused_clusters.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


@pytest.mark.parametrize("case", REFUSALS, ids=[case["when"] for case in REFUSALS])
def test_refusal_of_a_cluster(case: dict[str, str]) -> None:
    """What cannot be is refused with its place, also where the names are those by default."""
    _, said = surveyed(cluster(case["spec"]))

    assert case["where"] == places(said)


ACCEPTED = {
    "a number beyond the slices": "{name: a, tpu: v5e-8}, {name: b, tpu: v5e-8, nodePoolNames: [a-1]}",
    "a number with a zero before it": "{name: a, tpu: v5e-8}, {name: b, tpu: v5e-8, nodePoolNames: [a-00]}",
    "a pool that names its own": "{name: a, tpu: v5e-8, nodePoolNames: [x]}, {name: a-0, machineType: n2-x}",
    "its own default": "{name: a, tpu: v5e-8, nodePoolNames: [a-0]}",
    "a name after a CPU pool": "{name: a, machineType: n2-x}, {name: b, tpu: v5e-8, nodePoolNames: [a-0]}",
    "more slices than could be listed": "{name: a, tpu: v5e-8, slices: 2147483647}",
}


@pytest.mark.parametrize("when", ACCEPTED)
def test_names_of_node_pools_that_do_not_meet(when: str) -> None:
    """Only names that really meet are refused."""
    _, said = surveyed(cluster(f"pools: [{ACCEPTED[when]}]"))

    assert said == ""


def test_pools_are_understood_with_their_defaults() -> None:
    """A CPU pool has one node pool of its name and one node; a TPU pool one slice, on demand."""
    site, _ = surveyed(
        cluster("pools: [{name: a, tpu: v5litepod-8}, {name: cpu, machineType: n2-standard-8}]")
    )

    ((pool, shape),) = site.pools
    assert (pool.index, pool.slices, pool.provisioning.type, pool.node_pool_names) == (0, 1, "OnDemand", ())
    assert (shape.topology, shape.machine_type) == ("2x4", "ct5lp-hightpu-4t")
    assert (CpuPool(1, "cpu", "n2-standard-8", 1, ("cpu",)),) == site.cluster.cpu_pools


def test_jobset_that_does_not_know_what_is_rendered_is_refused() -> None:
    """JobSets name a group, which the API server of an older release would refuse."""
    spec = "pools: [{name: a, tpu: v5e-8}]\nversions: {jobset: %s}"

    _, old = surveyed(cluster(spec % "v0.8.2"))
    _, new = surveyed(cluster(spec % "v0.10.1-rc.1"))

    assert ("clusters/c1.yaml:7:22: FIELD002\n", "") == (places(old), new)
