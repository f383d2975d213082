"""The flags of `gcloud container node-pools create` for a node pool, and of the workload policy of a slice.

Sources: the GKE pages on TPU slices, flex-start and TPU7x, and the reference of gcloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.workload import Provisioning
    from slicewright.core.provision.node_pool import NodePool


def flags(pool: NodePool) -> tuple[str, ...]:
    """Return the flags that make a node pool what it is; project, location and cluster come from the script.

    A single-host slice has no topology (the API refuses one), a multi-host slice has one and its hosts as the
    number of nodes, one that a workload policy places has the policy instead. `--num-nodes` counts nodes of
    one zone.
    """
    found = []
    if pool.zones:
        found.append(f"--node-locations={','.join(pool.zones)}")
    found.append(f"--machine-type={pool.machine_type}")
    if pool.topology:
        found.append(f"--tpu-topology={pool.topology}")
    if pool.workload_policy:
        found.append(f"--placement-policy={pool.workload_policy}")
    found += _configured(pool)
    found += _obtained(pool.provisioning)
    found.append(f"--num-nodes={pool.nodes}")
    if pool.scaling is not None:
        found += [
            "--enable-autoscaling",
            f"--min-nodes={pool.scaling.least}",
            f"--max-nodes={pool.scaling.most}",
        ]
        if pool.shape is not None and len(pool.zones) != 1:
            # any zone that has capacity, rather than the same number of nodes in each
            found.append("--location-policy=ANY")
    if pool.max_run_duration_seconds is not None:
        found.append(f"--max-run-duration={pool.max_run_duration_seconds}s")
    if pool.labels:
        found.append(f"--node-labels={','.join(f'{key}={value}' for key, value in pool.labels)}")
    if pool.taints:
        taints = (f"{key}={value}:{effect}" for key, value, effect in pool.taints)
        found.append(f"--node-taints={','.join(taints)}")
    return (*found, *pool.gcloud_flags)


def _configured(pool: NodePool) -> Iterator[str]:
    """Yield how the nodes are configured: disk, identity and network."""
    values = {
        "--disk-type": pool.boot_disk,
        "--disk-size": f"{pool.disk_size_gb}GB" if pool.disk_size_gb else "",
        "--service-account": pool.service_account,
        "--scopes": ",".join(pool.scopes),
        "--workload-metadata": pool.workload_metadata,
    }
    yield from (f"{name}={value}" for name, value in values.items() if value)
    if pool.private_nodes is not None:
        yield "--enable-private-nodes" if pool.private_nodes else "--no-enable-private-nodes"


def policy_flags(topology: str) -> tuple[str, ...]:
    """Return the flags of `gcloud compute resource-policies create workload-policy` for a slice."""
    return ("--type=HIGH_THROUGHPUT", f"--accelerator-topology={topology}")


def _obtained(provisioning: Provisioning) -> list[str]:
    """Return how the nodes are obtained; a TPU takes a reservation only by name.

    Queued provisioning is flex-start that a ProvisioningRequest sets off, and needs both flags.
    """
    if provisioning.type == "Spot":
        return ["--spot"]
    if provisioning.type == "Reservation":
        return ["--reservation-affinity=specific", f"--reservation={reservation(provisioning)}"]
    if provisioning.type in ("FlexStart", "FlexStartQueued"):
        queued = ["--enable-queued-provisioning"] if provisioning.type == "FlexStartQueued" else []
        return ["--flex-start", *queued, "--reservation-affinity=none", "--no-enable-autorepair"]
    return []


def reservation(wanted: Provisioning) -> str:
    """Return a reservation as gcloud names it: its project where that is another's, block and sub-block."""
    name = f"projects/{wanted.project}/reservations/{wanted.name}" if wanted.project else wanted.name
    block = f"/reservationBlocks/{wanted.block}" if wanted.block else ""
    return name + block + (f"/reservationSubBlocks/{wanted.sub_block}" if wanted.sub_block else "")
