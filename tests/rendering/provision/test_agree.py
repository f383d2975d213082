"""Commands and Terraform make the same node pools: every machine type, every way of provisioning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision.node_pool import node_pools
from slicewright.rendering.provision.scripts import node_pool_flags, policy_flags

from .kit import PLACE, site, terraform_files
from .opentofu import planned, resources
from .test_gcloud import GROWING, SHAPES, STANDING

pytestmark = pytest.mark.workflow

FLAGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--node-locations": ("zones", lambda value: value.split(",")),
    "--machine-type": ("machine type", str),
    "--tpu-topology": ("topology", str),
    "--placement-policy": ("policy", str),
    "--disk-type": ("disk", str),
    "--num-nodes": ("nodes", int),
    "--min-nodes": ("least", int),
    "--max-nodes": ("most", int),
    "--location-policy": ("location policy", str),
    "--max-run-duration": ("run duration", str),
    "--node-labels": ("labels", lambda value: dict(pair.split("=", 1) for pair in value.split(","))),
    "--node-taints": ("taints", lambda value: value.split(",")),
    "--reservation": ("reservation", str),
    "--reservation-affinity": ("affinity", str),
    "--disk-size": ("disk size", lambda value: int(value.removesuffix("GB"))),
    "--service-account": ("account", str),
    "--workload-metadata": ("metadata", str),
    "--host-maintenance-interval": ("interval", str),
}
"""What a flag with a value says."""
WORDS = {
    "--spot": "spot",
    "--flex-start": "flex-start",
    "--enable-queued-provisioning": "queued",
    "--no-enable-autorepair": "not repaired",
    "--enable-autoscaling": "scales",
    "--enable-private-nodes": "private",
}
"""What a flag without a value says."""
AFFINITY = {"NO_RESERVATION": "none", "SPECIFIC_RESERVATION": "specific"}
EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


POOLS = (
    "{tpu: v5litepod-16, slices: 3, autoscaling: {min: 1, max: 4}}",
    "{tpu: v5litepod-4, slices: 3, nodeLocations: [us-west4-a, us-west4-b]}",
    "{tpu: v5litepod-4, provisioning: FlexStart, nodeLocations: [us-west4-a, us-west4-b]}",
    "{tpu: v5litepod-16, labels: {team: research}, maxRunDurationSeconds: 900}",
    "{tpu: tpu7x-4x4x4, slices: 2, placementPolicyName: theirs}",
    "{tpu: tpu7x-4x4x4, slices: 2}",
    "{machineType: n2-standard-64, nodes: 3, nodePoolNames: [x, y]}",
    "{tpu: v6e-16, nodeConfig: {serviceAccount: a@b.c, disk: {sizeGB: 200}}}",
    "{tpu: v6e-16, nodeConfig: {privateNodes: true, hostMaintenanceInterval: PERIODIC}}",
    "{machineType: n2-standard-8, nodeConfig: {disk: {type: pd-ssd, sizeGB: 50}}}",
    "{machineType: n2-standard-8, nodeConfig: {workloadMetadata: GCE_METADATA}}",
    "{tpu: v6e-16, provisioning: {type: Reservation, name: r, block: b, subBlock: s}}",
    "{machineType: n2-standard-64, nodes: 2, autoscaling: {min: 1, max: 8}, labels: {a: b}}",
)
"""What a pool may say besides."""


def of_commands(cluster: ResolvedCluster) -> dict[str, dict[str, Any]]:
    """Return what the commands say of each node pool."""
    found: dict[str, dict[str, Any]] = {}
    for pool in node_pools(cluster):
        said: dict[str, Any] = {"words": set()}
        for flag in node_pool_flags(pool):
            name, equals, value = flag.partition("=")
            if name == "--scopes":
                continue  # Terraform's nodes always have the one that an account of their own gets
            if equals:
                key, read = FLAGS[name]
                said[key] = read(value)
            else:
                said["words"].add(WORDS[name])
        found[pool.name] = said
    return found


def of_terraform(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what Terraform plans for each node pool, in the words of the commands."""
    return {
        values["name"]: {key: value for key, value in _said(values).items() if value not in (None, [], {})}
        | {"words": _words(values)}
        for values in resources(plan, "google_container_node_pool").values()
    }


def _said(values: dict[str, Any]) -> dict[str, Any]:
    node, scaling = values["node_config"], values.get("autoscaling", {})
    placement, affinity = values.get("placement_policy", {}), node.get("reservation_affinity", {})
    taint, metadata = node.get("taint"), node["workload_metadata_config"]["mode"]
    labels = {key: value for key, value in node.get("labels", {}).items() if key != "multislice_group_name"}
    return {
        "zones": values.get("node_locations"),
        "machine type": node["machine_type"],
        "topology": placement.get("tpu_topology"),
        "policy": placement.get("policy_name"),
        "disk": None if node.get("disk_type") == "pd-standard" else node.get("disk_type"),
        "disk size": None if node.get("disk_type") == "pd-standard" else node.get("disk_size_gb"),
        "account": node.get("service_account"),
        "metadata": None if metadata == "GKE_METADATA" else metadata,
        "interval": node.get("host_maintenance_policy", {}).get("maintenance_interval"),
        "nodes": values.get("initial_node_count" if scaling else "node_count"),
        "least": scaling.get("min_node_count"),
        "most": scaling.get("max_node_count"),
        "location policy": scaling.get("location_policy"),
        "run duration": node.get("max_run_duration"),
        "labels": labels,
        "taints": [f"{taint['key']}={taint['value']}:{EFFECTS[taint['effect']]}"] if taint else None,
        "reservation": affinity.get("values", [None])[0],
        "affinity": AFFINITY.get(affinity.get("consume_reservation_type")),
    }


def _words(values: dict[str, Any]) -> set[str]:
    node = values["node_config"]
    found = {
        "spot": node.get("spot"),
        "flex-start": node.get("flex_start"),
        "queued": values.get("queued_provisioning", {}).get("enabled"),
        "not repaired": not values["management"]["auto_repair"],
        "scales": "autoscaling" in values,
        "private": values.get("network_config", {}).get("enable_private_nodes"),
    }
    return {word for word, holds in found.items() if holds}


def pool(name: str, machine_type: str, accelerator: str, topology: str, more: str) -> str:
    """Return a pool of one slice."""
    tpu = f"{{accelerator: {accelerator}, topology: {topology}, machineType: {machine_type}}}"
    return f"{{name: {name}, tpu: {tpu}, {more}}}"


def test_every_machine_type_in_every_way(tmp_path: Path) -> None:
    """Machine, topology, policy, disk, counts, scaling, reservation and zones are equal in both."""
    rows = [(shape[:3], way) for shape in SHAPES for way in (*STANDING, *GROWING)]
    specs = [pool(f"p{number}", *shape, f"provisioning: {way}") for number, (shape, way) in enumerate(rows)]
    cluster = site(f"{PLACE}environment: {{podsIpRange: 10.0.0.0/9}}\npools: [{', '.join(specs)}]")

    made = of_terraform(planned(tmp_path, terraform_files(cluster)))

    assert len(rows) == len(made)
    assert of_commands(cluster) == made


def test_what_a_pool_may_say(tmp_path: Path) -> None:
    """Slices, zones, automatic scaling, labels and run time mean the same node pools in both."""
    specs = ", ".join(f"{{name: p{number}, {spec[1:]}" for number, spec in enumerate(POOLS))
    cluster = site(f"{PLACE}environment: {{}}\npools: [{specs}]")

    made = of_terraform(planned(tmp_path, terraform_files(cluster)))

    assert len(POOLS) < len(made)
    assert of_commands(cluster) == made


def test_node_pools_of_a_compute_class(tmp_path: Path) -> None:
    """Node pools that we make for a ComputeClass have its label and its taint in both."""
    cluster = site(
        f"{PLACE}environment: {{}}\n"
        "pools: [{name: a, tpu: v5litepod-16, provisioning: {type: ComputeClass, name: x}}]\n"
        "computeClasses: [{name: x, nodePoolAutoCreation: false, priorities: [{tpu: v5litepod-16}]}]"
    )
    made = of_terraform(planned(tmp_path, terraform_files(cluster)))

    assert of_commands(cluster) == made
    assert ["cloud.google.com/compute-class=x:NoSchedule"] == made["a-0"]["taints"]


def test_workload_policy(tmp_path: Path) -> None:
    """The workload policy that Terraform makes is the one that the commands make."""
    cluster = site(f"{PLACE}environment: {{}}\npools: [{{name: a, tpu: tpu7x-4x4x4, slices: 2}}]")
    (policy,) = resources(
        planned(tmp_path, terraform_files(cluster)), "google_compute_resource_policy"
    ).values()

    made = policy["workload_policy"]
    assert ("c1-a", "us-west4") == (policy["name"], policy["region"])
    assert policy_flags("4x4x4") == (
        f"--type={made['type']}",
        f"--accelerator-topology={made['accelerator_topology']}",
    )
