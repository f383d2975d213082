"""Validate the node pools of a TPUCluster file, before a command creates them."""

from collections import Counter
from collections.abc import Iterator

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape, is_below, version_numbers
from slicewright.intent.tpucluster import CpuPool, TpuPool
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.problem import Path, Problem, counted
from slicewright.rendering.plan.placement import placed_by_policy, policy_name
from slicewright.rendering.plan.resolved_cluster import (
    ResolvedCluster,
    autoscaling,
    count,
    region_of,
    size_range,
    slice_names,
    starts_empty,
)
from slicewright.rendering.provision import further, maintenance, validate_environment
from slicewright.rendering.provision.node_pool import creates_itself, node_pools, zones


def zone_problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of the zones of a cluster and of its pools."""
    yield from _outside(site, ("spec",), site.cluster.spec.get("nodeLocations", []))
    for pool, shape in site.pools:
        yield from _outside(site, pool.path, site.cluster.written(pool).get("nodeLocations", []))
        if site.cluster.mode == "Standard" and not creates_itself(site, pool):
            yield from _of_slices(site, pool, shape)
            yield from _hinted(site, pool, shape)
    for cpu in site.cluster.cpu_pools:
        yield from _outside(site, cpu.path, site.cluster.written(cpu).get("nodeLocations", []))
        if site.cluster.mode == "Standard" and not zones(site, cpu):
            message = f"pool '{cpu.name}' names no zone: GKE creates its nodes in each zone of the region"
            hint = "write nodeLocations, here or for the cluster; the nodes are spread over them"
            yield site.source.problem("POOL028", cpu.path, message, hint)


def _outside(site: ResolvedCluster, path: Path, written: list[str]) -> Iterator[Problem]:
    """Yield zones that are not of the cluster's region."""
    location = site.cluster.spec.get("location", "")
    for index, zone in enumerate(written):
        if location and region_of(zone) != region_of(location):
            message = f"zone '{zone}' is not in {region_of(location)}, where the cluster is"
            hint = f"write a zone of {region_of(location)}, or another location"
            yield site.source.problem("POOL029", (*path, "nodeLocations", index), message, hint)


def _of_slices(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield too many zones for a slice that spans hosts, and no zone where the nodes are counted."""
    known = zones(site, pool)
    if shape.multi_host and len(known) > 1:
        path = (*pool.path, "nodeLocations") if "nodeLocations" in site.cluster.written(pool) else pool.path
        message = f"a slice of {shape.hosts} hosts must be in one zone, "
        message += f"but pool '{pool.name}' has {len(known)} zones"
        hint = f"write nodeLocations: [{_proposed(site, pool, shape)}] for the pool, and a pool for each zone"
        yield site.source.problem("POOL028", path, message, hint)
    if not known and (shape.multi_host or size_range(site, pool).least > 0):
        message = f"pool '{pool.name}' names no zone: GKE creates its nodes in each zone of the region"
        hint = f"write nodeLocations: [{_proposed(site, pool, shape)}], here or for the cluster"
        yield site.source.problem("POOL028", pool.path, message, hint)


def _hinted(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield a warning for zones that the catalogue does not list: never an error, because zones change."""
    known_zones = _known_zones(pool, shape)
    for index, zone in enumerate(zones(site, pool)):
        if known_zones and zone not in known_zones:
            way = f" as {pool.provisioning.type}" if starts_empty(pool) else ""
            message = f"the catalogue does not list {shape.machine_type}{way} in {zone}"
            hint = f"write a known zone: {', '.join(known_zones)}; "
            hint += "zones change, so check what your project can use"
            place: Path = ("spec", "nodeLocations", index)
            if "nodeLocations" in site.cluster.written(pool):
                place = (*pool.path, "nodeLocations", index)
            elif "nodeLocations" not in site.cluster.spec:
                place = ("spec", "location")
            yield site.source.problem("POOL030", place, message, hint, warning=True)


def _known_zones(pool: TpuPool, shape: Shape) -> tuple[str, ...]:
    """Return the zones that the catalogue lists for a shape: those with flex-start for a flex-start pool."""
    if starts_empty(pool) and shape.machine.flex_start_zones:
        return shape.machine.flex_start_zones
    return shape.zones


def _proposed(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> str:
    """Return a known zone for a hint: one of the pool's zones, or another one of the region."""
    region, known = region_of(site.cluster.spec.get("location", "")), _known_zones(pool, shape)
    choices = zones(site, pool) or [zone for zone in known if zone.startswith(f"{region}-")]
    return next((zone for zone in choices if zone in known), choices[0] if choices else "ZONE")


NAME_LENGTH = 40
"""The longest name of a cluster and of a node pool that GKE takes."""

POLICY_NAME_LENGTH = 63
"""The longest name of a workload policy, as of most Compute Engine resources."""

NODE_POOLS = 1000
"""The most node pools of a cluster that scripts are written for: each is a command of its own."""


_VERSION = "write a newer version, or leave it out to use the version of the release channel"

SUPPORT_READ = "2026-08-22"
"""When the versions below were read."""

OLDEST_SUPPORTED = "1.34"
"""The oldest minor version of GKE with standard support: that of 1.33 ended on 2026-08-03.

Source: GKE's release schedule, as products/google-kubernetes-engine.md of endoflife-date/endoflife.date at
a70eca33 has it.
"""

OLDEST_EXTENDED = "1.31"
"""The oldest minor version with extended support, which ends 24 months after a version came to the channel
`regular`: 1.30 on 2024-07-31, 1.31 on 2024-10-25. Source: GKE documentation, "GKE versioning and support".
"""


def problems(site: ResolvedCluster, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield the problems of the pools and the environment of a cluster that slicewright provisions."""
    if not site.cluster.managed:
        yield from validate_environment.problems(site)
        return
    if "location" not in site.cluster.spec:
        hint = "write location: us-west4, the region of the cluster, or the zone of a zonal one"
        message = "the location is missing, so nothing can be provisioned"
        yield site.source.problem("POOL020", ("spec",), message, hint)
    yield from _support(site)
    yield from maintenance.problems(site)
    has_no_default_pool = site.cluster.mode == "Autopilot" or "environment" in site.cluster.spec
    if has_no_default_pool and "systemNodes" in site.cluster.spec.get("gke", {}):
        message, hint = "'systemNodes' has no effect: the cluster has no default pool", "leave the field out"
        path: Path = ("spec", "gke", "systemNodes")
        yield site.source.problem("FIELD002", path, message, hint, key=True)
    for pool, shape in site.pools:
        yield from _empty(site, pool, shape)
        yield from _versions(site, catalogue, pool, shape)
        yield from _autoscaling(site, pool, "slices")
        yield from _policy(site, pool, shape)
    for cpu in site.cluster.cpu_pools:
        yield from _machine(site, catalogue, cpu)
        yield from _autoscaling(site, cpu, "nodes")
    yield from zone_problems(site)
    yield from _sub_blocks(site, catalogue)
    total = sum(most for _, most in _counts(site))
    total += sum(len(cpu.node_pool_names) for cpu in site.cluster.cpu_pools)
    if total > NODE_POOLS:
        message = f"the cluster has {total} node pools; scripts can create at most {NODE_POOLS}"
        hint = "write fewer slices, or managed: false if another tool creates them"
        yield site.source.problem("POOL027", ("spec", "pools"), message, hint)
    else:
        yield from _names(site)
        yield from further.problems(site)
        yield from validate_environment.problems(site)


def _sub_blocks(site: ResolvedCluster, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield a problem if the slices of pools need more chips than their sub-block of a reservation has."""
    taken: Counter[Provisioning] = Counter()
    for pool, shape in site.pools:
        way, most = pool.provisioning, size_range(site, pool).most
        has = catalogue.generations[shape.generation].sub_block_chips
        if not way.sub_block or not has:
            continue
        taken[way] += most * shape.chips
        if taken[way] > has:
            message = f"sub-block '{way.sub_block}' has {has} chips, but its pools have {taken[way]}"
            slices = f"{counted(has // shape.chips, 'slice')} of {shape.topology}"
            hint = f"write a pool for each sub-block, which holds at most {slices}"
            if shape.chips > has:
                hint = f"leave subBlock out: a slice of {shape.topology} spans several sub-blocks"
            yield site.source.problem("POOL052", (*pool.path, "provisioning", "subBlock"), message, hint)


def _machine(site: ResolvedCluster, catalogue: Catalogue, pool: CpuPool) -> Iterator[Problem]:
    """Yield the problem of a CPU pool with an unknown machine type, or with one that has TPUs."""
    shape = next((row for row in catalogue.rows() if row.machine_type == pool.machine_type), None)
    if shape is None:
        yield from _unknown(site, catalogue, pool)
        return
    message = f"{pool.machine_type} has TPUs, but '{pool.name}' is written as a CPU pool"
    tpu = f"accelerator: {shape.generation}, topology: {shape.topology}, machineType: {shape.machine_type}"
    hint = f"write {{name: {pool.name}, tpu: {{{tpu}}}, slices: 1}}"
    hint += ", with your own topology and slices"
    yield site.source.problem("POOL033", (*pool.path, "machineType"), message, hint)


def _unknown(site: ResolvedCluster, catalogue: Catalogue, pool: CpuPool) -> Iterator[Problem]:
    """Yield the problem of a machine type that the catalogue does not list: it is misspelt, or new.

    It is an error if a quota is computed from it (QUOTA010). Without a quota it is a warning, because the
    catalogue does not have every family. If the quotas have numbers, it is not reported.
    """
    quotas = [quota for quota in site.cluster.quotas if quota.pool == pool.name]
    computed = any(quota.nominal_quota is None for quota in quotas)
    if pool.name in site.machines or (quotas and not computed):
        return
    place = (*pool.path, "machineType")
    near = catalogue.cpu_machines.near(pool.machine_type)
    meant = f"did you mean '{near}'? Otherwise: " if near else ""
    if computed:
        message = f"cpu and memory of machine type '{pool.machine_type}' are not known"
        hint = f"{meant}write nominalQuota: {{cpu: ..., memory: ...}} in each quota of the pool"
        yield site.source.problem("QUOTA010", place, message, hint)
        return
    message = f"unknown machine type '{pool.machine_type}': the catalogue does not list it"
    families = ", ".join(sorted(catalogue.cpu_machines.families))
    hint = f"{meant}write a type of a known family, such as n2-standard-64: {families}"
    hint += "; another family may be correct"
    yield site.source.problem("POOL034", place, message, hint, warning=True)


def _empty(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield problems of a pool that starts empty."""
    if not starts_empty(pool):
        return
    kind = pool.provisioning.type
    if kind == "FlexStartQueued" and shape.machine.queued is None:
        message = f"no source says that {shape.machine_type} is available as FlexStartQueued"
        hint = "write FlexStart unless it is known to work in your project"
        yield site.source.problem("POOL021", (*pool.path, "provisioning"), message, hint, warning=True)
    scales = autoscaling(site, pool)
    if scales and scales.least:
        message = f"a {kind} pool starts empty, but autoscaling.min is {scales.least}"
        hint = "leave min out, or write min: 0"
        yield site.source.problem("POOL022", (*pool.path, "autoscaling", "min"), message, hint)


def _support(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield a warning for a GKE version that is out of support."""
    gke = site.cluster.spec.get("gke", {})
    version, channel = gke.get("version", ""), gke.get("releaseChannel", "regular")
    oldest = OLDEST_EXTENDED if channel == "extended" else OLDEST_SUPPORTED
    if version and version_numbers(version)[:2] < version_numbers(oldest):
        message = f"GKE {version} is out of support: on {SUPPORT_READ} the oldest version in the channel "
        message += f"'{channel}' was {oldest}"
        yield site.source.problem("POOL055", ("spec", "gke", "version"), message, _VERSION, warning=True)


def _versions(site: ResolvedCluster, catalogue: Catalogue, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield features that need a newer version than the cluster has; for multislice it is only a warning."""
    version = site.cluster.spec.get("gke", {}).get("version")
    if version is None:
        return
    autopilot = site.cluster.mode == "Autopilot"
    features = [("autopilot" if autopilot else "standard", shape.generation)]
    if starts_empty(pool):
        features.append(("flexStart", "flex-start"))
    if creates_itself(site, pool):
        features.append(("autoProvisioning", "node auto-provisioning"))
    if pool.slices > 1 and shape.multislice:
        features.append(("multisliceAutopilot" if autopilot else "multislice", "multislice"))
    for feature, name in features:
        minimum = catalogue.generations[shape.generation].minimum_gke.get(feature, ())
        if minimum and is_below(version, minimum):
            needs = f"{name} needs GKE {' or '.join(minimum)}"
            message = f"pool '{pool.name}': {needs}, but the cluster has {version}"
            place = ("spec", "gke", "version")
            yield site.source.problem("POOL023", place, message, _VERSION, warning=name == "multislice")


def _autoscaling(site: ResolvedCluster, pool: TpuPool | CpuPool, unit: str) -> Iterator[Problem]:
    """Yield bounds that exclude the number of nodes that the pool has."""
    scales, has = autoscaling(site, pool), count(pool)
    if scales is None:
        return
    path: Path = (*pool.path, "autoscaling")
    if scales.least > scales.most:
        message = f"autoscaling.min {scales.least} is above autoscaling.max {scales.most}"
        yield site.source.problem("POOL024", (*path, "min"), message, "write min: 0, or a larger max")
    elif scales.most < has:
        message = f"the pool has {unit}: {has}, but autoscaling.max is {scales.most}"
        yield site.source.problem("POOL024", (*path, "max"), message, f"write max: {has} or more")
    elif scales.least > has:
        message = f"the pool has {unit}: {has}, but autoscaling.min is {scales.least}"
        hint = f"write min: {has} or less, or more {unit}"
        yield site.source.problem("POOL024", (*path, "min"), message, hint)


def _policy(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield a name of a workload policy that has no effect, or that Compute Engine would refuse."""
    name = policy_name(site.cluster, pool)
    if not placed_by_policy(shape):
        if "placementPolicyName" in site.cluster.written(pool):
            slices = f"{shape.topology} on {shape.machine_type}"
            message = f"'placementPolicyName' has no effect: no workload policy places {slices}"
            place = (*pool.path, "placementPolicyName")
            yield site.source.problem("POOL025", place, message, "leave the field out", key=True)
    elif len(name) > POLICY_NAME_LENGTH:
        message = f"the name of workload policy '{name}' has {len(name)} characters; "
        message += f"the limit is {POLICY_NAME_LENGTH}"
        hint = "give the cluster or the pool a shorter name"
        hint += ", or create a policy and write its name as placementPolicyName"
        yield site.source.problem("POOL026", (*pool.path, "name"), message, hint)


def _names(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield names that GKE would refuse, and names of further slices that another pool already has."""
    source, name = site.source, site.cluster.name
    if len(name) > NAME_LENGTH:
        message = f"the name has {len(name)} characters; the limit is {NAME_LENGTH}"
        yield source.problem("POOL026", ("metadata", "name"), message, "write a shorter name")
    counts = _counts(site)
    taken = {name: cpu.name for cpu in site.cluster.cpu_pools for name in cpu.node_pool_names}
    taken |= {name: pool.name for pool, _ in counts for name in slice_names(pool, pool.slices)}
    yield from _too_long(site)
    for pool, most in counts:
        for extra in slice_names(pool, most)[pool.slices :]:
            other = taken.setdefault(extra, pool.name)
            if other != pool.name or extra in pool.node_pool_names:
                message = f"duplicate node pool '{extra}'"
                hint = f"pool '{other}' has it too, and autoscaling can add it to this pool: "
                hint += "write other nodePoolNames, or a lower autoscaling.max"
                yield source.problem("POOL001", (*pool.path, "autoscaling", "max"), message, hint)


def _too_long(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the node pools, the longest of each pool, whose names GKE would refuse."""
    longest: dict[str, str] = {}
    for node_pool in node_pools(site):
        if len(node_pool.name) > max(NAME_LENGTH, len(longest.get(node_pool.pool, ""))):
            longest[node_pool.pool] = node_pool.name
    for pool in site.cluster.pools:
        if name := longest.get(pool.name):
            field = "nodePoolNames" if name in pool.node_pool_names and name != pool.name else "name"
            message = f"the name of node pool '{name}' has {len(name)} characters; the limit is {NAME_LENGTH}"
            hint = "write shorter nodePoolNames, or a shorter name"
            yield site.source.problem("POOL026", (*pool.path, field), message, hint)


def _counts(site: ResolvedCluster) -> list[tuple[TpuPool, int]]:
    """Return how many node pools each TPU pool has that are ours to make."""
    if site.cluster.mode == "Autopilot":
        return []
    return [(pool, size_range(site, pool).most) for pool, _ in site.pools if not creates_itself(site, pool)]
