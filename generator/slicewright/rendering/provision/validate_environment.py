"""Validate an environment: values that Google Cloud would refuse, some of them only after minutes."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision.node_pool import NodePool, node_pools
from slicewright.rendering.provision.terraform import DEFAULTS, TPU_MAX_PODS, Environment, environment

_AT: Path = ("spec", "environment")
_SYSTEM_POOL = "{name: system, machineType: n2-standard-8, nodes: 2}"
"""The machine type and the number of nodes that cluster-toolkit's TPU examples have for system pods.

Source: examples/gke-tpu-v6e/gke-tpu-v6e.yaml and modules/scheduler/gke-cluster/variables.tf of
GoogleCloudPlatform/cluster-toolkit at 10470803.
"""
_RANGES = ("subnetIpRange", "podsIpRange", "servicesIpRange")
_ACCOUNTS = ("tpuSaName", "gkeSaName")
_ACCOUNT_LENGTH = (6, 30)
_CPU_MAX_PODS = 110
"""Pods a node may run unless something else is said."""
_RESERVED = 4
"""Addresses of a subnet that Google Cloud keeps."""
_COMPUTE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_BUCKET_NAME = re.compile(r"(?=.{3,222}$)[a-z0-9][-a-z0-9_]{0,62}(\.[-a-z0-9_]{1,63})*")
_DERIVED = {
    "networkName": _COMPUTE_NAME,
    "subnetName": _COMPUTE_NAME,
    "artifactRepositoryBucketName": _BUCKET_NAME,
    "tfStateBucket": _BUCKET_NAME,
}
"""Names with defaults that are made from others."""


def problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of the environment of one cluster; nothing if it has none."""
    if "environment" not in site.cluster.spec:
        return
    if not site.cluster.managed:
        message = "'environment' has no effect with managed: false"
        hint = "leave the field out, or write managed: true"
        yield site.source.problem("FIELD002", _AT, message, hint, key=True)
        return
    settings = environment(site)
    missing = list(_missing(site, settings))
    yield from missing
    if not missing:
        yield from _names(site, settings.fields)
    if not settings.autopilot and not site.cluster.cpu_pools:
        message = "no node for DNS, Kueue and JobSet: Terraform removes the default pool, "
        message += "and pods without chips cannot run on TPU nodes"
        hint = f"add a CPU pool to spec.pools: {_SYSTEM_POOL}"
        yield site.source.problem("ENV022", ("spec", "pools"), message, hint, key=True)
    yield from _accounts(site, settings.fields)
    yield from _ranges(site, settings.fields)
    yield from _team(site, settings.fields)


_UNIQUE = (
    *("networkName", "subnetName", "tpuSaName", "gkeSaName"),
    *("artifactRepositoryBucketName", "artifactRegistryName", "tfStatePrefix"),
)


def problems_between(sites: Iterable[ResolvedCluster]) -> Iterator[Problem]:
    """Yield a problem for each name that the environments of two clusters have in common."""
    taken: dict[tuple[str, str, str], ResolvedCluster] = {}
    for site in sites:
        written = site.cluster.spec.get("environment")
        if written is None or not site.cluster.managed:
            continue
        settings = environment(site)
        # No other project has the name of a bucket; a state is unique in its bucket.
        within = {"artifactRepositoryBucketName": "", "tfStatePrefix": settings.fields["tfStateBucket"]}
        for field in _UNIQUE:
            name = settings.fields[field]
            other = taken.setdefault((field, within.get(field, settings.project), name), site)
            if other is not site:
                message = f"{field} '{name}' is also in the environment of cluster '{other.cluster.name}'"
                changed = field if field in written or field in DEFAULTS else "resourcePrefix"
                hint = f"write another {changed}: two environments cannot create the same resource"
                yield _problem(site, "ENV021", field, message, hint)


def _missing(site: ResolvedCluster, settings: Environment) -> Iterator[Problem]:
    """Yield the missing fields that only Terraform needs; the location is checked elsewhere."""
    needed = [("project", "my-project", settings.project)]
    if not settings.autopilot:
        needed.append(("nodeLocations", "[us-west4-a]", settings.zone))
    for field, example, value in needed:
        if not value:
            message, hint = f"an environment needs spec.{field}", f"add {field}: {example}"
            yield site.source.problem("ENV001", _AT, message, hint, key=True)


def _names(site: ResolvedCluster, fields: dict[str, Any]) -> Iterator[Problem]:
    """Yield derived names that Google Cloud refuses; the schema checks written names.

    A name with capitals comes from a placeholder such as PROJECT_ID, and is not reported.
    """
    for field, allowed in _DERIVED.items():
        if fields[field].islower() and not allowed.fullmatch(fields[field]):
            message = f"{field} would be '{fields[field]}', which Google Cloud does not allow"
            hint = f"write environment.{field}"
            hint += ", or a short resourcePrefix of lower-case letters, digits and hyphens"
            yield _problem(site, "ENV002", field, message, hint)


def _accounts(site: ResolvedCluster, fields: dict[str, Any]) -> Iterator[Problem]:
    low, high = _ACCOUNT_LENGTH
    for field in _ACCOUNTS:
        name = fields[field]
        if not low <= len(name) <= high:
            message = f"'{name}' is not a valid service account name: "
            message += f"a name must have {low} to {high} characters"
            yield _problem(site, "ENV003", field, message, f"write a name of {low} to {high} characters")
    if fields["tpuSaName"] == fields["gkeSaName"]:
        message = "workloads and nodes have the same service account"
        hint = "write another tpuSaName: nodes must not have the permissions of workloads"
        yield _problem(site, "ENV003", "gkeSaName", message, hint)


def _ranges(site: ResolvedCluster, fields: dict[str, Any]) -> Iterator[Problem]:
    networks: dict[str, IPv4Network] = {}
    for field in _RANGES:
        try:
            networks[field] = IPv4Network(fields[field])
        except ValueError as error:
            hint = "write the first address of the range and its length: 10.129.0.0/20"
            yield _problem(site, "ENV004", field, f"not a valid IP address range: {error}", hint)
    for (first, network), (second, other) in combinations(networks.items(), 2):
        if network.overlaps(other):
            message = f"{other} ({second}) overlaps {network} ({first})"
            yield _problem(site, "ENV004", second, message, "choose ranges that do not overlap")
    pools = node_pools(site)
    nodes = sum(_most(pool) for pool in pools)
    pods = sum(_most(pool) * _addresses(pool) for pool in pools)
    reserved = f"; Google Cloud reserves {_RESERVED} in each subnet"
    for field, needed, why in (("subnetIpRange", nodes + _RESERVED, reserved), ("podsIpRange", pods, "")):
        if field in networks and (size := networks[field].num_addresses) < needed:
            message = f"{networks[field]} has {size} addresses, but {nodes} nodes need {needed}{why}"
            hint = f"write a range of length /{32 - (needed - 1).bit_length()} or wider"
            yield _problem(site, "ENV005", field, message, hint)


def _most(pool: NodePool) -> int:
    """Return how many nodes a node pool has at most, in all its zones."""
    return (pool.scaling.most if pool.scaling else pool.nodes) * max(1, len(pool.zones))


def _addresses(pool: NodePool) -> int:
    """Return how many pod addresses GKE gives a node: a power of two, at least two for each pod."""
    pods = TPU_MAX_PODS if pool.shape else _CPU_MAX_PODS
    return 1 << (2 * pods - 1).bit_length()


def _team(site: ResolvedCluster, fields: dict[str, Any]) -> Iterator[Problem]:
    """Yield warnings if no team has the Kubernetes service account that Workload Identity is bound to."""
    namespace, account = fields["tpuNamespace"], fields["tpuSaName"]
    accounts = [(team.namespace, team.service_account_name) for team in site.cluster.teams]
    if "teams" not in site.cluster.spec or (namespace, account) in accounts:
        return
    message = f"no team has the service account '{account}' in namespace '{namespace}'"
    hint = f"write namespace: {namespace} and serviceAccountName: {account} in spec.teams"
    yield _problem(site, "ENV006", "tpuNamespace", message, hint, warning=True)


def _problem(
    site: ResolvedCluster, ident: str, field: str, message: str, hint: str, *, warning: bool = False
) -> Problem:
    """Return a problem at a field of the block, at the block itself where the field is a default."""
    written = field in site.cluster.spec["environment"]
    at = (*_AT, field) if written else _AT
    return site.source.problem(ident, at, message, hint, key=not written, warning=warning)
