"""Kueue's own Configuration, in the ConfigMap that its release reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from slicewright.document.write import write_document
from slicewright.kubernetes import kinds
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.quantity import seconds
from slicewright.rendering.platform.flavor import DEFAULT_KUEUE, is_v1beta2, kueue_release, kueue_release_of
from slicewright.rendering.platform.queues import shares_by_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.intent.validate import Schemas
    from slicewright.kubernetes.problem import Problem, Severity
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

KIND = "Configuration"

_STANDING, _GROWING, _FLEX_START = "30m", "2h", "24h"
"""For how long the pods of an admitted workload may take: on nodes that exist, that come on demand, and that
come when there is capacity. A workload that waits longer goes back into the queue, for others to have its
quota."""
_IGNORES_UNDECLARED_SINCE = (0, 19)
"""The release in which quotaCheckStrategy is on without a feature gate."""
_ZERO_IS_NEVER_SINCE = (0, 16)
"""The release in which a recoveryTimeout of 0s means none; before it 0s evicts immediately."""
_UNCOUNTED = ("cpu", "memory", "ephemeral-storage")


def kueue_configuration(site: ResolvedCluster) -> Iterator[Object]:
    """Yield the ConfigMap if the file has `kueue:` and slicewright does not install Kueue.

    If it does, it patches the ConfigMap of the release instead.
    """
    written = site.cluster.spec.get("kueue")
    if written is not None and not site.cluster.installs:
        yield config_map(write_document(configuration(site, written)))


def config_map(text: str) -> Object:
    """Return the ConfigMap from which Kueue reads a configuration."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": kinds.KUEUE_CONFIG_MAP, "namespace": kinds.KUEUE_NAMESPACE},
        "data": {kinds.CONFIGURATION_KEY: text},
    }


_PLAYED = ("fairSharing", "admissionFairSharing", "resources", "waitForPodsReady")
"""Fields that decide which runs are admitted, and for how long."""
_NEVER = {"timeout": "87600h"}
"""Ten years: the Kueue of a test bed always waits for pods, an older release only if its settings say so."""


def simulated(site: ResolvedCluster) -> dict[str, Any]:
    """Return the settings with which Kueue is rehearsed: the written ones, and our relevant defaults."""
    written: dict[str, Any] | None = site.cluster.spec.get("kueue")
    settings: dict[str, Any] = {}
    if written is not None:
        rendered = configuration(site, written)
        settings = {**written, **{key: rendered[key] for key in _PLAYED if key in rendered}}
    if is_v1beta2(site):
        return settings
    waits = dict(settings.get("waitForPodsReady") or {})
    is_on = waits.pop("enable", False)
    return {**settings, "waitForPodsReady": waits if is_on else _NEVER}


def configuration(site: ResolvedCluster, written: dict[str, Any]) -> dict[str, Any]:
    """Return the Configuration: addresses as in the release, our defaults, and over them what is written."""
    ours: dict[str, Any] = {
        "apiVersion": kinds.KUEUE_CONFIGURATION_VERSION
        if is_v1beta2(site)
        else kinds.OLD_KUEUE_CONFIGURATION_VERSION,
        "kind": KIND,
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 5,
                "Cohort.kueue.x-k8s.io": 1,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "manageJobsWithoutQueueName": False,
        "waitForPodsReady": _wait_for_pods(site),
        "integrations": {"frameworks": ["batch/job", f"{kinds.JOBSET_GROUP}/jobset"]},
        **_shares(site, written),
    }
    configuration: dict[str, Any] = merged(
        {**ours, **_resources(site, written.get("resources", {}))}, written
    )
    return configuration


def merged(below: Any, above: Any) -> Any:
    """Return mappings merged key by key; any other value replaces the whole."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}


def _wait_for_pods(site: ResolvedCluster) -> dict[str, Any]:
    timeout = _STANDING
    for pool, _ in site.pools:
        scales = "autoscaling" in site.cluster.written(pool)
        if pool.provisioning.type == "FlexStart":
            timeout = _FLEX_START
        elif timeout == _STANDING and (pool.provisioning.type in ("Spot", "ComputeClass") or scales):
            timeout = _GROWING
    return {
        **_enabled(site),
        "timeout": timeout,
        **_recovery(site, timeout),
        "blockAdmission": False,
        "requeuingStrategy": {"timestamp": "Eviction", "backoffBaseSeconds": 60, "backoffMaxSeconds": 3600},
    }


def _recovery(site: ResolvedCluster, timeout: str) -> dict[str, str]:
    """Return for how long a run may lack pods that were ready, which Kueue can say for all runs alone.

    An elastic Pathways goes on without a slice for as long as that takes: then nothing is evicted for it.
    """
    if not site.has_elastic_runs:
        return {"recoveryTimeout": timeout}
    return {"recoveryTimeout": "0s"} if kueue_release(site) >= _ZERO_IS_NEVER_SINCE else {}


def evicts_nothing_that_recovers(site: ResolvedCluster) -> bool:
    """Tell whether runs that lose pods keep their quota without a limit, because some runs are elastic."""
    written = site.cluster.spec.get("kueue")
    if written is None or not site.has_elastic_runs:
        return False
    wait = mapping(configuration(site, written)["waitForPodsReady"])
    return seconds(wait.get("recoveryTimeout", "0s")) == 0


def _shares(site: ResolvedCluster, written: dict[str, Any]) -> dict[str, Any]:
    """Turn fair sharing on if something has a weight; Kueue has no default for the strategies."""
    settings: dict[str, Any] = {}
    is_written = isinstance(written.get("fairSharing"), dict)
    if is_written or any(holder.fair_sharing is not None for holder in site.cluster.holders):
        strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        settings["fairSharing"] = {**_enabled(site), "preemptionStrategies": strategies}
    if is_v1beta2(site) and shares_by_usage(site):
        settings["admissionFairSharing"] = {"usageHalfLifeTime": "168h", "usageSamplingInterval": "5m"}
    return settings


def _enabled(site: ResolvedCluster) -> dict[str, Any]:
    return {} if is_v1beta2(site) else {"enable": True}


def _resources(site: ResolvedCluster, written: dict[str, Any]) -> dict[str, Any]:
    """Return how Kueue treats resources without quota: pods that request cpu can still be admitted.

    Kueue allows one of the two settings, so our default gives way to a written one.
    """
    if not {"quotaCheckStrategy", "excludeResourcePrefixes"}.isdisjoint(written):
        return {}
    if kueue_release(site) >= _IGNORES_UNDECLARED_SINCE:
        return {"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}
    # of CPU pools queues have quota of cpu and memory, or of what the file writes
    cpus = {pool.name for pool in site.cluster.cpu_pools}
    quotas = [quota.nominal_quota for quota in site.cluster.quotas if quota.pool in cpus]
    covered = {name for quota in quotas for name in (("cpu", "memory") if quota is None else quota)}
    prefixes = [name for name in _UNCOUNTED if name not in covered]
    return {"resources": {"excludeResourcePrefixes": prefixes}} if prefixes else {}


SCHEMA = "kinds/config.kueue.x-k8s.io/configuration_v1beta2.json"
"""The schema of Kueue's Configuration, by its path among ours."""

_FIELD = "kueue"


def validate_configuration(spec: dict[str, Any], schemas: Schemas) -> Iterator[Problem]:
    """Yield the problems of `kueue` in the spec of a TPUCluster, with paths but without lines.

    Ids are those of the input formats (IN001 to IN006). The schema is that of v0.19.2: of a release with the
    same version of the API the problems are warnings, and of an earlier version nothing is known.
    """
    written, release = spec.get(_FIELD), kueue_release_of(spec)
    if not isinstance(written, dict) or release < kinds.V1BETA2_SINCE:
        return
    whole = {"apiVersion": kinds.KUEUE_CONFIGURATION_VERSION, "kind": KIND, **written}
    is_known = release == kueue_release_of({"versions": {"kueue": DEFAULT_KUEUE}})
    severity: Severity = "error" if is_known else "warning"
    for problem in schemas.problems(SCHEMA, whole):
        yield replace(problem, path=("spec", _FIELD, *problem.path), severity=severity)
