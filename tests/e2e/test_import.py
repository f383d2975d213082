"""`slicewright import cluster` reads back what we rendered, from the real API server."""

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.resolved import resolve_text

from slicewright.cli.main import cli
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, slice_names
from slicewright.rendering.platform.platform_files import objects
from slicewright.testbed.bed import Bed
from slicewright.testbed.nodes import simulated_nodes

from . import kit
from .test_platform import EVERYTHING, platform_bed, put_up

__all__ = ["platform_bed"]

CLUSTERS = sorted(kit.checkout().repository.sites)
NOT_READ = {"Namespace", "ConfigMap", "ServiceAccount", "Role", "RoleBinding", "ResourceQuota"}
"""Kinds of teams and of Kueue's configuration, which a TPUCluster says in other fields."""


def run(bed: Bed, *options: str, code: int = 0) -> str:
    """Run the import against the bed and return what it prints."""
    context = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))["current-context"]
    arguments = ["import", "cluster", "--kubeconfig", str(bed.kubeconfig), "--context", context]
    done = CliRunner().invoke(cli, [*arguments, *options], prog_name="slicewright")
    assert code == done.exit_code, done.output
    return done.stdout


def nodes(site: ResolvedCluster) -> list[Object]:
    """Return simulated nodes; those of Autopilot are called as GKE calls them, which is all that tells it."""
    found = simulated_nodes(site)
    for node in found if site.cluster.mode == "Autopilot" else ():
        node["metadata"]["name"] = f"gk3-{node['metadata']['name']}"
    return found


def facts(site: ResolvedCluster) -> dict[str, Any]:
    """Return what a cluster's file says of capacity, queues and priorities, defaults filled in."""
    cluster = site.cluster
    return {
        "mode": cluster.mode,
        "pools": {
            pool.name: (shape, pool.slices, pool.provisioning, slice_names(pool, pool.slices))
            for pool, shape in site.pools
        },
        "cpu": {
            (pool.name, pool.machine_type, pool.nodes, pool.node_pool_names) for pool in cluster.cpu_pools
        },
        "cohorts": {cohort.name: cohort for cohort in cluster.cohorts},
        "queues": {(queue.namespace, queue.name): queue.cluster_queue for queue in cluster.local_queues},
        "priorities": set(cluster.priorities),
    }


def platform(site: ResolvedCluster) -> dict[tuple[str, str, str], Object]:
    """Return the objects of a platform that an import reads, by kind, namespace and name."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
        for item in objects(site)
        if item["kind"] not in NOT_READ
    }


def managed(text: str) -> ResolvedCluster:
    """Return the site of an imported file, as if it were ours to make."""
    return resolve_text(text.replace("managed: false", "managed: true"))


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.workflow) for name in CLUSTERS), "everything"]
)
def test_import_gives_back_what_was_rendered(name: str, platform_bed: Bed) -> None:
    """Nodes and platform of a cluster become a file that means the same, and renders the same platform."""
    site = resolve_text(EVERYTHING) if name == "everything" else kit.site(name)
    bed = platform_bed
    bed.api.each(bed.api.create, nodes(site))
    put_up(bed, [item for item in objects(site) if item["kind"] != "ConfigMap"])

    text = run(bed, "--name", name)

    document = yaml.safe_load(text)
    assert [] == list(package().schemas.problems("slicewright/tpucluster.json", document))
    assert (name, False) == (document["metadata"]["name"], document["spec"]["managed"])
    assert facts(site) == facts(resolve_text(text))
    assert platform(site) == platform(managed(text))
    assert document == json.loads(run(bed, "--name", name, "-o", "json"))["cluster"]
