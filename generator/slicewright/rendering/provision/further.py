"""Checks and merges the further gcloud flags and Terraform arguments of node pools, which have no field.

A flag or an argument that a field decides would contradict queues, pods and simulated nodes, which are made
from the field. gcloud and the google provider check the others.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision import scripts
from slicewright.rendering.provision.hcl import Attribute, Block
from slicewright.rendering.provision.node_pool import NodePool, node_pools

_TPU, _COUNT = "tpu, or machineType", "slices or nodes, and autoscaling"
_WAY, _TAINTS = "provisioning", "provisioning: runs tolerate no other taints"
_RUNNER = "write it where you run the script, in gcloud's own configuration"
_OVERRIDE = "write it in your own file override.tf, which Terraform merges"
_CLUSTER = "the fields of the cluster"
_FLAGS = {
    _CLUSTER: "cluster location project region zone",
    "nodeLocations": "node-locations",
    _TPU: "machine-type tpu-topology placement-type accelerator-topology-mode",
    "placementPolicyName": "placement-policy",
    _WAY: "spot preemptible flex-start enable-queued-provisioning reservation reservation-affinity",
    _COUNT: """
        num-nodes enable-autoscaling min-nodes max-nodes total-min-nodes total-max-nodes location-policy
    """,
    "maxRunDurationSeconds": "max-run-duration",
    "labels": "node-labels",
    _TAINTS: "node-taints",
    "nodeConfig.disk": "disk-type disk-size",
    "nodeConfig.serviceAccount": "service-account",
    "nodeConfig.scopes": "scopes",
    "nodeConfig.workloadMetadata": "workload-metadata",
    "nodeConfig.hostMaintenanceInterval": "host-maintenance-interval",
    "nodeConfig.privateNodes": "enable-private-nodes",
    _RUNNER: """
        account configuration impersonate-service-account flags-file async format help quiet
        user-output-enabled
    """,
}
FLAGS = {f"--{name}": where for where, names in _FLAGS.items() for name in names.split()}
"""Flags that are decided elsewhere, and where; those that a pool gets from us come on top."""

_NESTED = ("dynamic", "lifecycle")
"""Blocks of Terraform's own, refused also inside of others."""
_ARGUMENTS = {
    _CLUSTER: "cluster location name name_prefix project",
    "nodeLocations": "node_locations",
    _COUNT: "node_count initial_node_count autoscaling",
    "tpu and placementPolicyName": "placement_policy",
    _WAY: "queued_provisioning",
    "nodeConfig.privateNodes": "network_config.enable_private_nodes",
    _OVERRIDE: """
        connection count depends_on dynamic for_each lifecycle provider provisioner timeouts max_pods_per_node
        management.auto_repair management.auto_upgrade
        node_config.shielded_instance_config.enable_secure_boot
        node_config.shielded_instance_config.enable_integrity_monitoring
    """,
}
_NODE_ARGUMENTS = {
    _TPU: "machine_type",
    _WAY: "spot preemptible flex_start reservation_affinity guest_accelerator",
    "maxRunDurationSeconds": "max_run_duration",
    "labels": "labels",
    _TAINTS: "taint",
    "nodeConfig.disk": "disk_type disk_size_gb boot_disk",
    "nodeConfig.serviceAccount": "service_account",
    "nodeConfig.serviceAccount: its roles decide, the scope is cloud-platform": "oauth_scopes",
    "nodeConfig.workloadMetadata": "workload_metadata_config",
    "nodeConfig.hostMaintenanceInterval": "host_maintenance_policy",
}
"""Those of node_config."""
ARGUMENTS = {
    **{name: where for where, names in _ARGUMENTS.items() for name in names.split()},
    **{f"node_config.{name}": where for where, names in _NODE_ARGUMENTS.items() for name in names.split()},
}
"""Arguments that are decided elsewhere, blocks with all that is in them, and where."""
MAPS = frozenset({"metadata", "resource_labels", "resource_manager_tags", "sysctls"})
"""Arguments that are maps and no blocks."""

_FLAG = re.compile(r"(?P<name>--[a-z][a-z0-9-]*)(=.*)?")
_ARGUMENT = re.compile(r"[a-z][a-z0-9_]*")
_SIMPLE = (str, bool, int)
_FORM = "write --flag or --flag=value, on one line, with printable characters only"


def problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of `nodeConfig` in the pools of a cluster that slicewright provisions."""
    by_terraform = "environment" in site.cluster.spec
    node_pool_of = {node_pool.pool: node_pool for node_pool in node_pools(site)}
    for pool, shape in (*site.pools, *((pool, None) for pool in site.cluster.cpu_pools)):
        config = site.cluster.written(pool).get("nodeConfig", {})
        path: Path = (*pool.path, "nodeConfig")
        if config and pool.name not in node_pool_of:
            message = "'nodeConfig' has no effect: GKE creates these nodes itself"
            yield site.source.problem("FIELD002", path, message, "leave the field out", key=True)
            continue
        disk, boot_disk = config.get("disk", {}).get("type"), shape.machine.boot_disk if shape else ""
        if disk and boot_disk and disk != boot_disk:
            message = f"nodes of pool '{pool.name}' can boot only from {boot_disk}, not from {disk}"
            yield site.source.problem("POOL041", (*path, "disk", "type"), message, "leave the type out")
        for field in ("gcloudFlags", "scopes") if by_terraform else ("terraformArguments",):
            if field in config:
                who = "Terraform creates the node pools" if by_terraform else "'environment' is missing"
                message, hint = f"'{field}' has no effect: {who}", "leave the field out"
                yield site.source.problem("FIELD002", (*path, field), message, hint, key=True)
        field = "terraformArguments" if by_terraform else "gcloudFlags"
        if config.get(field):
            yield from _extra(site, node_pool_of[pool.name], (*path, field), config[field])


def _extra(site: ResolvedCluster, pool: NodePool, path: Path, written: Any) -> Iterator[Problem]:
    """Yield the problems of further flags or arguments, and a warning that slicewright does not know them."""
    are_flags = isinstance(written, list)
    mistakes = list(_flags(pool, written) if are_flags else _arguments(written, (), ()))
    for place, ident, message, hint in mistakes:
        yield site.source.problem(ident, (*path, *place), message, hint, key=not are_flags)
    if not mistakes:
        names = ", ".join(_FLAG.sub(r"\g<name>", flag) for flag in written)
        message = f"slicewright cannot check {names}"
        hint = "try it on a test cluster, then ignore this problem with a reason: slicewright.dev/"
        hint += (
            "ignore-POOL043 in metadata.annotations applies to all pools of the cluster, and to flags "
            "that are added later"
        )
        yield site.source.problem("POOL043", path, message, hint, warning=True, key=True)


_Mistake = tuple[Path, str, str, str]
"""The place below the field, and id, message and hint of the problem."""


def _flags(pool: NodePool, written: list[str]) -> Iterator[_Mistake]:
    """Yield invalid and duplicate flags, and those that other fields set, abbreviated ones too."""
    ours = {_name(flag) for flag in scripts.node_pool_flags(pool)[: -len(written)]}
    taken: set[str] = set()
    for index, flag in enumerate(written):
        if not _FLAG.fullmatch(flag) or not flag.isprintable():
            yield (index,), "POOL044", f"'{flag}' is not a valid flag", _FORM
            continue
        name = _name(flag)
        known = [other for other in (*FLAGS, *sorted(ours)) if other.startswith(name)]
        if known:
            where = FLAGS.get(known[0], "the fields of the pool")
            yield (index,), "POOL042", f"'{name}' cannot be set here", _hint(where)
        elif name in taken:
            yield (index,), "POOL044", f"duplicate '{name}'", "write it once"
        taken.add(name)


def _hint(where: str) -> str:
    return where if where.startswith("write ") else f"leave it out: slicewright sets it from {where}"


def _name(flag: str) -> str:
    """Return the name of a flag, of `--no-x` that of `--x`."""
    return flag.partition("=")[0].replace("--no-", "--", 1)


def _arguments(written: Mapping[str, Any], at: tuple[str, ...], place: Path) -> Iterator[_Mistake]:
    """Yield invalid arguments, and arguments that a field sets."""
    for name, value in written.items():
        where: Path = (*place, name)
        dotted = ".".join((*at, name))
        if not _ARGUMENT.fullmatch(name):
            yield where, "POOL044", f"'{name}' is not a valid argument", "write the name as in Terraform"
        elif name in _NESTED or dotted in ARGUMENTS:
            yield where, "POOL042", f"'{dotted}' cannot be set here", _hint(ARGUMENTS.get(dotted, _OVERRIDE))
        elif name in MAPS or _is_simple(value):
            texts = value.values() if isinstance(value, Mapping) else [None]
            if name in MAPS and not all(isinstance(text, str) for text in texts):
                yield where, "POOL044", f"'{dotted}' is not a map of strings", "quote its values"
        elif isinstance(value, Mapping):
            yield from _arguments(value, (*at, name), where)
        elif isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
            for index, part in enumerate(value):
                yield from _arguments(part, (*at, name), (*where, index))
        else:
            message = f"the value of '{dotted}' cannot be written in Terraform"
            yield (
                where,
                "POOL044",
                message,
                "write a string, a whole number, true, false, a list or an object",
            )


def _is_simple(value: Any) -> bool:
    """Tell whether a value is one of HCL's, or a list of them."""
    if isinstance(value, list):
        return all(isinstance(part, _SIMPLE) for part in value)
    return isinstance(value, _SIMPLE)


def with_arguments(block: Block, written: Mapping[str, Any]) -> Block:
    """Return a block with further arguments: attributes first, then what blocks get, then further blocks."""
    kinds = {item.kind for item in block.body if isinstance(item, Block)}
    inside: dict[str, Mapping[str, Any]] = {}
    attributes = [item for item in block.body if isinstance(item, Attribute)]
    further: list[Block] = []
    for name, value in written.items():
        if name in MAPS or _is_simple(value):
            attributes.append(Attribute(name, value))
        elif isinstance(value, Mapping) and name in kinds:
            inside[name] = value
        else:
            parts = [value] if isinstance(value, Mapping) else value
            further += [with_arguments(Block(name), part) for part in parts]
    merged = (
        with_arguments(item, inside.get(item.kind, {})) if isinstance(item, Block) else item
        for item in block.body
        if not isinstance(item, Attribute)
    )
    return Block(block.kind, block.labels, (*attributes, *merged, *further))
