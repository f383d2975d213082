"""The flags of node pools: every machine type, single-host and multi-host, in every way of provisioning."""

import pytest

from slicewright.intent.tpuworkload import Provisioning
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision.node_pool import node_pools
from slicewright.rendering.provision.scripts import node_pool_flags, policy_flags, reservation_path

from .kit import PLACE, site

DISK = "--disk-type=hyperdisk-balanced"
SHAPES = [
    # machine type, accelerator, topology, flags of the shape, hosts
    ("ct3-hightpu-4t", "tpu-v3-device", "2x2", [], 1),
    ("ct3p-hightpu-4t", "tpu-v3-slice", "4x4", ["--tpu-topology=4x4"], 4),
    ("ct3p-hightpu-4t", "tpu-v3-slice", "32x32", ["--tpu-topology=32x32"], 256),
    ("ct4p-hightpu-4t", "v4", "2x2x1", [], 1),
    ("ct4p-hightpu-4t", "v4", "2x2x2", ["--tpu-topology=2x2x2"], 2),
    ("ct4p-hightpu-4t", "v4", "4x4x4", ["--tpu-topology=4x4x4"], 16),
    ("ct5l-hightpu-1t", "tpu-v5-lite-device", "1x1", [], 1),
    ("ct5l-hightpu-4t", "tpu-v5-lite-device", "2x2", [], 1),
    ("ct5l-hightpu-8t", "tpu-v5-lite-device", "2x4", [], 1),
    ("ct5lp-hightpu-1t", "tpu-v5-lite-podslice", "1x1", [], 1),
    ("ct5lp-hightpu-4t", "tpu-v5-lite-podslice", "2x2", [], 1),
    ("ct5lp-hightpu-4t", "tpu-v5-lite-podslice", "2x4", ["--tpu-topology=2x4"], 2),
    ("ct5lp-hightpu-4t", "tpu-v5-lite-podslice", "16x16", ["--tpu-topology=16x16"], 64),
    ("ct5lp-hightpu-8t", "tpu-v5-lite-podslice", "2x4", [], 1),
    ("ct5p-hightpu-4t", "v5p", "2x2x1", [], 1),
    ("ct5p-hightpu-4t", "v5p", "2x2x2", ["--tpu-topology=2x2x2"], 2),
    ("ct5p-hightpu-4t", "v5p", "16x16x24", ["--tpu-topology=16x16x24"], 1536),
    ("ct6e-standard-1t", "v6e", "1x1", [DISK], 1),
    ("ct6e-standard-4t", "v6e", "2x2", [DISK], 1),
    ("ct6e-standard-4t", "v6e", "2x4", ["--tpu-topology=2x4", DISK], 2),
    ("ct6e-standard-4t", "v6e", "16x16", ["--tpu-topology=16x16", DISK], 64),
    ("ct6e-standard-8t", "v6e", "2x4", [DISK], 1),
    ("tpu7x-standard-1t", "tpu7x", "1x1x1", [DISK], 1),
    ("tpu7x-standard-4t", "tpu7x", "2x2x1", [DISK], 1),
    ("tpu7x-standard-4t", "tpu7x", "2x2x2", ["--placement-policy=c1-a", DISK], 2),
    ("tpu7x-standard-4t", "tpu7x", "4x4x4", ["--placement-policy=c1-a", DISK], 16),
]
FLEX = ["--reservation-affinity=none", "--no-enable-autorepair"]
STANDING = {
    "OnDemand": [],
    "Spot": ["--spot"],
    "{type: Reservation, name: r}": ["--reservation-affinity=specific", "--reservation=r"],
    "{type: Reservation, name: r, block: r-block-1}": [
        "--reservation-affinity=specific",
        "--reservation=r/reservationBlocks/r-block-1",
    ],
    "{type: Reservation, name: r, project: p, block: b}": [
        "--reservation-affinity=specific",
        "--reservation=projects/p/reservations/r/reservationBlocks/b",
    ],
    "{type: Reservation, name: r, block: b, subBlock: b-2}": [
        "--reservation-affinity=specific",
        "--reservation=r/reservationBlocks/b/reservationSubBlocks/b-2",
    ],
}
TAINTED = {"Spot": ["--node-taints=cloud.google.com/gke-spot=true:NoSchedule"]}
"""What keeps pods off that did not ask for such nodes: GKE gives nodes on Spot machines a label only."""
GROWING = {
    "FlexStart": ["--flex-start", *FLEX],
    "FlexStartQueued": ["--flex-start", "--enable-queued-provisioning", *FLEX],
}


def one(
    machine_type: str, accelerator: str, topology: str, provisioning: str, more: str = ""
) -> ResolvedCluster:
    """Return a cluster with one pool of one slice."""
    tpu = f"{{accelerator: {accelerator}, topology: {topology}, machineType: {machine_type}}}"
    return site(f"{PLACE}pools: [{{name: a, tpu: {tpu}, provisioning: {provisioning}{more}}}]")


def test_configured_nodes() -> None:
    """Disk, account, scopes, metadata and network of the nodes are flags; further ones follow as they are."""
    config = (
        "{serviceAccount: n@p.iam.gserviceaccount.com, workloadMetadata: GCE_METADATA, privateNodes: false,"
        " disk: {sizeGB: 200}, gcloudFlags: [--enable-gvnic, '--metadata=a=$(reboot)']}"
    )
    (made,) = node_pools(site(f"{PLACE}pools: [{{name: a, tpu: v6e-4, nodeConfig: {config}}}]"))

    assert (
        "--node-locations=us-west4-a",
        "--machine-type=ct6e-standard-4t",
        DISK,
        "--disk-size=200GB",
        "--service-account=n@p.iam.gserviceaccount.com",
        "--scopes=cloud-platform",
        "--workload-metadata=GCE_METADATA",
        "--no-enable-private-nodes",
        "--num-nodes=1",
        "--enable-gvnic",
        "--metadata=a=$(reboot)",
    ) == node_pool_flags(made)


def test_scopes_as_they_are_written() -> None:
    """Scopes of the file stand alone: the list of Google's page for Pathways comes out as it is there."""
    config = "nodeConfig: {scopes: [storage-full, gke-default, cloud-platform], disk: {type: pd-ssd}}"
    (made,) = node_pools(site(f"{PLACE}pools: [{{name: cpu, machineType: n2-standard-8, {config}}}]"))

    assert "--scopes=storage-full,gke-default,cloud-platform" in node_pool_flags(made)
    assert "--disk-type=pd-ssd" in node_pool_flags(made)


def test_shapes_have_every_machine_type() -> None:
    """The table of this test leaves no machine type out."""
    assert set(package().catalogue.machine_types) == {row[0] for row in SHAPES}


@pytest.mark.parametrize("provisioning", STANDING)
@pytest.mark.parametrize("shape", SHAPES, ids=[f"{row[0]} {row[2]}" for row in SHAPES])
def test_node_pool_that_stands(shape: tuple[str, str, str, list[str], int], provisioning: str) -> None:
    """A node pool on demand, on spot or of a reservation is made with all its hosts."""
    machine_type, accelerator, topology, of_shape, hosts = shape
    (made,) = node_pools(one(machine_type, accelerator, topology, provisioning))

    assert [
        "--node-locations=us-west4-a",
        f"--machine-type={machine_type}",
        *of_shape,
        *STANDING[provisioning],
        f"--num-nodes={hosts}",
        *TAINTED.get(provisioning, []),
    ] == list(node_pool_flags(made))


@pytest.mark.parametrize("provisioning", GROWING)
@pytest.mark.parametrize("shape", SHAPES, ids=[f"{row[0]} {row[2]}" for row in SHAPES])
def test_node_pool_that_grows(shape: tuple[str, str, str, list[str], int], provisioning: str) -> None:
    """A flex-start node pool is made empty, and grows to all its hosts."""
    machine_type, accelerator, topology, of_shape, hosts = shape
    (made,) = node_pools(one(machine_type, accelerator, topology, provisioning))

    assert [
        "--node-locations=us-west4-a",
        f"--machine-type={machine_type}",
        *of_shape,
        *GROWING[provisioning],
        "--num-nodes=0",
        "--enable-autoscaling",
        "--min-nodes=0",
        f"--max-nodes={hosts}",
    ] == list(node_pool_flags(made))


def test_what_else_a_pool_says() -> None:
    """Run time, labels and automatic scaling of a pool become flags."""
    more = ", maxRunDurationSeconds: 900, labels: {b: c, team/a: x}, autoscaling: {}"
    (made,) = node_pools(one("ct5lp-hightpu-4t", "v5e", "4x4", "Spot", more))

    assert [
        "--node-locations=us-west4-a",
        "--machine-type=ct5lp-hightpu-4t",
        "--tpu-topology=4x4",
        "--spot",
        "--num-nodes=0",
        "--enable-autoscaling",
        "--min-nodes=0",
        "--max-nodes=4",
        "--max-run-duration=900s",
        "--node-labels=b=c,team/a=x",
        *TAINTED["Spot"],
    ] == list(node_pool_flags(made))


def test_label_and_taint_of_a_compute_class() -> None:
    """A node pool that we make for a ComputeClass is labelled and tainted for it."""
    made = site(
        f"{PLACE}pools: [{{name: a, tpu: v5e-4, provisioning: {{type: ComputeClass, name: x}}}}]\n"
        "computeClasses: [{name: x, nodePoolAutoCreation: false, priorities: [{tpu: v5e-4}]}]"
    )

    assert node_pool_flags(node_pools(made)[0])[-2:] == (
        "--node-labels=cloud.google.com/compute-class=x",
        "--node-taints=cloud.google.com/compute-class=x:NoSchedule",
    )


@pytest.mark.parametrize("zones", ["", "nodeLocations: [us-east5-a, us-east5-b]\n"])
def test_slices_of_any_zone(zones: str) -> None:
    """A single-host slice on demand comes from whichever zone has capacity; other nodes are balanced."""
    tpus = "{name: a, tpu: v6e-4, provisioning: FlexStart}"
    pools = f"pools: [{tpus}, {{name: c, machineType: n2-x, autoscaling: {{}}}}]"
    slices, others = node_pools(site(f"location: us-east5\n{zones}{pools}"))

    assert node_pool_flags(slices)[-1] == "--location-policy=ANY"
    assert [flag for flag in node_pool_flags(others) if flag != "--node-locations=us-east5-a"] == [
        "--machine-type=n2-x",
        "--num-nodes=1",
        "--enable-autoscaling",
        "--min-nodes=0",
        "--max-nodes=1",
    ]


def test_workload_policy() -> None:
    """The workload policy of a slice holds its topology."""
    assert policy_flags("4x4x4") == ("--type=HIGH_THROUGHPUT", "--accelerator-topology=4x4x4")


def test_shared_reservation() -> None:
    """A reservation of another project is named with it."""
    assert reservation_path(Provisioning("Reservation", "r", "p")) == "projects/p/reservations/r"
