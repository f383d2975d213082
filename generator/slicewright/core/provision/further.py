"""Flags and arguments of node pools that no field has: what they may not say, and how they are merged.

A flag or an argument that a field decides would contradict queues, pods and simulated nodes, which are made
from the field. What the others do is for gcloud and the google provider to judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slicewright.core.provision import scripts
from slicewright.core.provision.hcl import Attribute, Block
from slicewright.core.provision.node_pool import declared, node_pools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import CpuPool, TpuPool
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem
    from slicewright.core.provision.hcl import Item
    from slicewright.core.provision.node_pool import NodePool

_TPU, _COUNT = "tpu, or machineType", "slices or nodes, and autoscaling"
_WAY = "provisioning"
_RUNNER = "write it where you run the script, in gcloud's own configuration"
_OVERRIDE = "write it in override.tf, a file of your own, which Terraform merges"
FLAGS = {
    **dict.fromkeys(
        ("--cluster", "--location", "--project", "--region", "--zone"), "the fields of the cluster"
    ),
    "--node-locations": "nodeLocations",
    **dict.fromkeys(("--machine-type", "--tpu-topology", "--placement-type"), _TPU),
    **dict.fromkeys(("--accelerator-topology-mode",), _TPU),
    "--placement-policy": "placementPolicyName",
    **dict.fromkeys(("--spot", "--preemptible", "--flex-start", "--enable-queued-provisioning"), _WAY),
    **dict.fromkeys(("--reservation", "--reservation-affinity"), _WAY),
    **dict.fromkeys(("--num-nodes", "--enable-autoscaling", "--min-nodes", "--max-nodes"), _COUNT),
    **dict.fromkeys(("--total-min-nodes", "--total-max-nodes", "--location-policy"), _COUNT),
    "--max-run-duration": "maxRunDurationSeconds",
    "--node-labels": "labels",
    "--node-taints": "provisioning: runs tolerate no other taints",
    **dict.fromkeys(("--disk-type", "--disk-size"), "nodeConfig.disk"),
    "--service-account": "nodeConfig.serviceAccount",
    "--scopes": "nodeConfig.scopes",
    "--workload-metadata": "nodeConfig.workloadMetadata",
    "--enable-private-nodes": "nodeConfig.privateNodes",
    **dict.fromkeys(
        ("--account", "--configuration", "--impersonate-service-account", "--flags-file"), _RUNNER
    ),
    **dict.fromkeys(("--async", "--format", "--help", "--quiet", "--user-output-enabled"), _RUNNER),
}
"""Flags that are decided elsewhere, and where; those that a pool gets from us come on top."""

_NESTED = ("dynamic", "lifecycle")
"""Blocks of Terraform's own, refused also inside of others."""
_META = ("connection", "count", "depends_on", "dynamic", "for_each", "lifecycle", "provider", "provisioner")
ARGUMENTS = {
    **dict.fromkeys(_META, _OVERRIDE),
    "timeouts": _OVERRIDE,
    **dict.fromkeys(("cluster", "location", "name", "name_prefix", "project"), "the fields of the cluster"),
    "node_locations": "nodeLocations",
    **dict.fromkeys(("node_count", "initial_node_count", "autoscaling"), _COUNT),
    "placement_policy": "tpu and placementPolicyName",
    "queued_provisioning": _WAY,
    "max_pods_per_node": _OVERRIDE,
    **dict.fromkeys(("management.auto_repair", "management.auto_upgrade"), _OVERRIDE),
    "network_config.enable_private_nodes": "nodeConfig.privateNodes",
    "node_config.machine_type": _TPU,
    **{
        f"node_config.{name}": _WAY
        for name in ("spot", "preemptible", "flex_start", "reservation_affinity", "guest_accelerator")
    },
    "node_config.max_run_duration": "maxRunDurationSeconds",
    "node_config.labels": "labels",
    "node_config.taint": "provisioning: runs tolerate no other taints",
    **{f"node_config.{name}": "nodeConfig.disk" for name in ("disk_type", "disk_size_gb", "boot_disk")},
    "node_config.service_account": "nodeConfig.serviceAccount",
    "node_config.oauth_scopes": "nodeConfig.serviceAccount: its roles decide, the scope is cloud-platform",
    "node_config.workload_metadata_config": "nodeConfig.workloadMetadata",
    "node_config.shielded_instance_config.enable_secure_boot": _OVERRIDE,
    "node_config.shielded_instance_config.enable_integrity_monitoring": _OVERRIDE,
}
"""Arguments that are decided elsewhere, blocks with all that is in them, and where."""
MAPS = frozenset({"metadata", "resource_labels", "resource_manager_tags", "sysctls"})
"""Arguments that are maps and no blocks."""

_FLAG = re.compile(r"(?P<name>--[a-z][a-z0-9-]*)(=.*)?")
_ARGUMENT = re.compile(r"[a-z][a-z0-9_]*")
_SIMPLE = (str, bool, int)
_FORM = "write --flag or --flag=value, in one line of characters that can be seen"


def problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield what is wrong with `nodeConfig` of the pools of a cluster that we provision."""
    by_terraform = "environment" in site.cluster.spec
    made = {made.pool: made for made in node_pools(site)}
    pools: list[TpuPool | CpuPool] = [*(pool for pool, _ in site.pools), *site.cluster.cpu_pools]
    for pool in pools:
        config = declared(site, pool).get("nodeConfig", {})
        path: Path = ("spec", "pools", pool.index, "nodeConfig")
        if config and pool.name not in made:
            message = "'nodeConfig' has no effect: GKE makes these nodes by itself"
            yield site.cluster.source.problem("FIELD002", path, message, "leave the field out", key=True)
            continue
        yield from _disk(site, pool, path)
        other = ("gcloudFlags", "scopes") if by_terraform else ("terraformArguments",)
        for field in other:
            if field in config:
                who = "Terraform makes the node pools" if by_terraform else "'environment' is missing"
                message, hint = f"'{field}' has no effect: {who}", "leave the field out"
                yield site.cluster.source.problem("FIELD002", (*path, field), message, hint, key=True)
        field = "terraformArguments" if by_terraform else "gcloudFlags"
        if config.get(field):
            yield from _extra(site, made[pool.name], (*path, field), config[field])


def _disk(site: ResolvedCluster, pool: TpuPool | CpuPool, path: Path) -> Iterator[Problem]:
    """Yield a disk type that the machine does not boot from."""
    written = declared(site, pool).get("nodeConfig", {}).get("disk", {}).get("type")
    only = next((shape.machine.boot_disk for tpu, shape in site.pools if tpu is pool), "")
    if written and only and written != only:
        message = f"nodes of pool '{pool.name}' boot from {only} only, not from {written}"
        hint = "leave the type out"
        yield site.cluster.source.problem("POOL041", (*path, "disk", "type"), message, hint)


def _extra(site: ResolvedCluster, pool: NodePool, path: Path, written: Any) -> Iterator[Problem]:
    """Yield what is wrong with further flags or arguments, and that nobody here knows them."""
    wrong = list(_flags(pool, written) if isinstance(written, list) else _arguments(written, (), ()))
    for place, number, message, hint in wrong:
        key = not isinstance(written, list)
        yield site.cluster.source.problem(number, (*path, *place), message, hint, key=key)
    if not wrong:
        names = ", ".join(_FLAG.sub(r"\g<name>", flag) for flag in written)
        message = f"slicewright cannot check {names}"
        hint = "try it on a test cluster, then ignore this problem with a reason: slicewright.dev/"
        hint += "ignore-POOL043 in metadata.annotations holds for all pools of the cluster, later flags too"
        yield site.cluster.source.problem("POOL043", path, message, hint, warning=True, key=True)


_Wrong = tuple["Path", str, str, str]


def _flags(pool: NodePool, written: list[str]) -> Iterator[_Wrong]:
    """Yield flags that are none, that come twice, or that are decided elsewhere, abbreviated ones too."""
    ours = {_name(flag) for flag in scripts.node_pool_flags(pool)[: -len(written)]}
    taken: set[str] = set()
    for index, flag in enumerate(written):
        if not _FLAG.fullmatch(flag) or not flag.isprintable():
            yield (index,), "POOL044", f"'{flag}' is not a flag", _FORM
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
    return where if where.startswith("write ") else f"it follows from {where}"


def _name(flag: str) -> str:
    """Return the name of a flag, of `--no-x` that of `--x`."""
    return flag.partition("=")[0].replace("--no-", "--", 1)


def _arguments(written: Mapping[str, Any], at: tuple[str, ...], place: Path) -> Iterator[_Wrong]:
    """Yield arguments that are none, or that are decided elsewhere."""
    for name, value in written.items():
        where: Path = (*place, name)
        dotted = ".".join((*at, name))
        if not _ARGUMENT.fullmatch(name):
            yield where, "POOL044", f"'{name}' is not an argument", "write the name as Terraform has it"
        elif name in _NESTED or dotted in ARGUMENTS:
            yield where, "POOL042", f"'{dotted}' cannot be set here", _hint(ARGUMENTS.get(dotted, _OVERRIDE))
        elif name in MAPS or _is_simple(value):
            if name in MAPS and not (isinstance(value, Mapping) and all(map(_is_text, value.values()))):
                yield where, "POOL044", f"'{dotted}' is not a map of strings", "quote its values"
        elif isinstance(value, Mapping):
            yield from _arguments(value, (*at, name), where)
        elif isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
            for index, part in enumerate(value):
                yield from _arguments(part, (*at, name), (*where, index))
        else:
            message = f"'{dotted}' is neither a value, a list of values, nor a block"
            yield where, "POOL044", message, "write a text, a whole number, true, false, a list or an object"


def _is_simple(value: Any) -> bool:
    """Tell whether a value is one of HCL's, or a list of them."""
    if isinstance(value, list):
        return all(isinstance(part, _SIMPLE) for part in value)
    return isinstance(value, _SIMPLE)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def with_arguments(made: Block, written: Mapping[str, Any]) -> Block:
    """Return a block with further arguments: attributes first, then what blocks get, then further blocks."""
    attributes: list[Item] = []
    inside: dict[str, Mapping[str, Any]] = {}
    further: list[Item] = []
    for name, value in written.items():
        if name in MAPS or _is_simple(value):
            attributes.append(Attribute(name, value))
        elif isinstance(value, Mapping) and any(
            isinstance(item, Block) and item.kind == name for item in made.body
        ):
            inside[name] = value
        else:
            parts = [value] if isinstance(value, Mapping) else value
            further += [with_arguments(Block(name), part) for part in parts]
    ours = [item for item in made.body if isinstance(item, Attribute)]
    blocks = [item for item in made.body if not isinstance(item, Attribute)]
    merged = [
        with_arguments(item, inside.get(item.kind, {})) if isinstance(item, Block) else item
        for item in blocks
    ]
    return Block(made.kind, made.labels, (*ours, *attributes, *merged, *further))
