"""Kueue's own Configuration: rendered where it is asked for, and merged with what is written."""

from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from slicewright.rendering.platform import kueue_configuration
from slicewright.rendering.platform.kueue_configuration import merged, simulated

from .kit import POOLS, documents, one, site

FILE = "kueue-manager-config.yaml"
CPU = """
pools: [{name: tpus, tpu: v5litepod-8}, {name: cpu, machineType: n2-standard-8}]
clusterQueues: [{name: q, quota: [{pool: tpus}, {pool: cpu}]}]
kueue: {}
"""


def configuration(spec: str) -> dict[str, Any]:
    """Return the Configuration that the ConfigMap holds, where somebody else installs Kueue."""
    found = one(f"{spec}\ncontrollers: {{managed: false}}", FILE, "ConfigMap")
    assert found["metadata"] == {"name": "kueue-manager-config", "namespace": "kueue-system"}
    assert list(found["data"]) == ["controller_manager_config.yaml"]
    data: dict[str, Any] = yaml.safe_load(found["data"]["controller_manager_config.yaml"])
    return data


def test_without_a_word_kueue_keeps_the_configuration_of_its_release() -> None:
    """A ConfigMap replaces the whole of it, so there is none unless the file has `kueue`."""
    assert documents(f"{POOLS}\nclusterQueues: []", FILE) == []


def test_defaults() -> None:
    """Addresses are those of the release; jobs and JobSets are queued; what no queue has, is not counted."""
    assert configuration(f"{POOLS}\nkueue: {{}}") == {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
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
        "waitForPodsReady": {
            "timeout": "30m",
            "recoveryTimeout": "30m",
            "blockAdmission": False,
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 3600,
            },
        },
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
        "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
    }


def test_what_is_written_goes_over_ours_key_by_key() -> None:
    """One timeout changes and the other stays; a list stands for the whole."""
    found = configuration(
        f"{POOLS}\nkueue: {{waitForPodsReady: {{timeout: 1h}}, integrations: {{frameworks: [pod]}}, "
        "featureGates: {X: true}}"
    )

    assert (found["waitForPodsReady"]["timeout"], found["waitForPodsReady"]["recoveryTimeout"]) == (
        "1h",
        "30m",
    )
    assert found["integrations"] == {"frameworks": ["pod"]}
    assert found["featureGates"] == {"X": True}


@pytest.mark.parametrize(
    ("pools", "timeout"),
    [
        ("{name: a, tpu: v5e-8}", "30m"),
        ("{name: a, tpu: v5e-8, provisioning: FlexStartQueued}", "30m"),
        ("{name: a, tpu: v5e-8, provisioning: Spot}", "2h"),
        ("{name: a, tpu: v5e-8, autoscaling: {}}", "2h"),
        ("{name: a, tpu: v5e-8, provisioning: {type: ComputeClass, name: c}}", "2h"),
        ("{name: a, tpu: v5e-16, provisioning: FlexStart}, {name: b, tpu: v5e-8, provisioning: Spot}", "24h"),
        ("{name: a, tpu: v5e-8, provisioning: Spot}, {name: b, tpu: v5e-16, provisioning: FlexStart}", "24h"),
    ],
)
def test_kueue_waits_as_long_as_the_slowest_nodes_take(pools: str, timeout: str) -> None:
    """A workload is not evicted while its nodes come; queued nodes are there before it is admitted."""
    found = configuration(f"pools: [{pools}]\nkueue: {{}}")["waitForPodsReady"]

    assert (timeout, timeout) == (found["timeout"], found["recoveryTimeout"])


@pytest.mark.parametrize(
    ("kueue", "written", "recovery"),
    [
        ("v0.19.2", "", "0s"),
        ("v0.16.0", "", "0s"),
        ("v0.15.0", "", None),
        ("v0.19.2", "waitForPodsReady: {recoveryTimeout: 3h}", "3h"),
    ],
)
def test_elastic_runs_keep_their_quota_without_a_slice(
    kueue: str, written: str, recovery: str | None
) -> None:
    """Kueue has one recoveryTimeout for all runs: none where some are elastic, unless the file has one."""
    spec = f"{POOLS}\nversions: {{kueue: {kueue}}}\nkueue: {{{written}}}"
    found = kueue_configuration.configuration(
        replace(site(spec), has_elastic_runs=True), site(spec).cluster.spec["kueue"]
    )["waitForPodsReady"]

    assert ("30m", recovery) == (found["timeout"], found.get("recoveryTimeout"))


@pytest.mark.parametrize(
    ("kueue", "spec", "resources"),
    [
        ("v0.19.2", CPU, {"quotaCheckStrategy": "IgnoreUndeclared"}),
        ("v0.18.0", CPU, {"excludeResourcePrefixes": ["ephemeral-storage"]}),
        (
            "v0.18.0",
            CPU.replace("{pool: cpu}", "{pool: cpu, nominalQuota: {cpu: 1, ephemeral-storage: 1Gi}}"),
            {"excludeResourcePrefixes": ["memory"]},
        ),
        (
            "v0.18.0",
            CPU.replace(
                "{pool: cpu}", "{pool: cpu, nominalQuota: {cpu: 1, memory: 1, ephemeral-storage: 1Gi}}"
            ),
            None,
        ),
        (
            "v0.18.0",
            f"{POOLS}\nkueue: {{}}",
            {"excludeResourcePrefixes": ["cpu", "memory", "ephemeral-storage"]},
        ),
        (
            "v0.19.2",
            f"{POOLS}\nkueue: {{resources: {{excludeResourcePrefixes: [x]}}}}",
            {"excludeResourcePrefixes": ["x"]},
        ),
        (
            "v0.18.0",
            f"{POOLS}\nkueue: {{resources: {{quotaCheckStrategy: BlockUndeclared}}}}",
            {"quotaCheckStrategy": "BlockUndeclared"},
        ),
        (
            "v0.19.2",
            f"{POOLS}\nkueue: {{resources: {{transformations: []}}}}",
            {"quotaCheckStrategy": "IgnoreUndeclared", "transformations": []},
        ),
    ],
)
def test_what_no_queue_has_quota_of_keeps_no_workload_waiting(
    kueue: str, spec: str, resources: dict[str, Any] | None
) -> None:
    """By the release: one strategy for all, or the list of what is not counted; what is written wins."""
    assert resources == configuration(f"versions: {{kueue: {kueue}}}\n{spec}").get("resources")


def test_fair_sharing_is_on_where_something_has_a_weight() -> None:
    """Queues and cohorts share by weight, LocalQueues by what they used; without a weight nothing is said."""
    queue = "clusterQueues: [{name: q, fairSharing: {weight: 2}, localQueues: [{name: l, fairSharing: {}}]}]"
    found = configuration(f"{POOLS}\n{queue}\nkueue: {{}}")
    cohort = configuration(f"{POOLS}\ncohorts: [{{name: c, fairSharing: {{}}}}]\nkueue: {{}}")

    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    assert {"preemptionStrategies": strategies} == found["fairSharing"] == cohort["fairSharing"]
    assert {"usageHalfLifeTime": "168h", "usageSamplingInterval": "5m"} == found["admissionFairSharing"]
    assert "admissionFairSharing" not in cohort


def test_spelling_of_older_releases() -> None:
    """Before v1beta2 a block had to be enabled by a word of its own."""
    queue = "clusterQueues: [{name: q, fairSharing: {weight: 2}, localQueues: [{name: l, fairSharing: {}}]}]"
    found = configuration(f"{POOLS}\nversions: {{kueue: v0.14.1}}\n{queue}\nkueue: {{}}")

    assert found["apiVersion"] == "config.kueue.x-k8s.io/v1beta1"
    assert (found["waitForPodsReady"]["enable"], found["fairSharing"]["enable"]) == (True, True)
    assert "admissionFairSharing" not in found


def test_merging_takes_what_is_no_mapping_as_a_whole() -> None:
    """A mapping in place of a word replaces it, and the other way round."""
    assert {"a": {"b": 1}, "c": 2, "d": None} == merged(
        {"a": 1, "c": {"x": 1}}, {"a": {"b": 1}, "c": 2, "d": None}
    )


def test_rehearsals_decide_as_the_rendered_configuration_does() -> None:
    """What decides who is admitted, and for how long, is simulated as rendered."""
    queue = "clusterQueues: [{name: q, fairSharing: {weight: 2}}]"
    rendered = configuration(f"{POOLS}\n{queue}\nkueue: {{}}")
    found = simulated(site(f"{POOLS}\n{queue}\nkueue: {{waitForPodsReady: {{timeout: 1h}}}}"))

    assert {
        "waitForPodsReady": {**rendered["waitForPodsReady"], "timeout": "1h"},
        "fairSharing": rendered["fairSharing"],
        "resources": rendered["resources"],
    } == found
    assert simulated(site(f"{POOLS}\n{queue}")) == {}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", {"timeout": "87600h"}),
        ("kueue: {waitForPodsReady: {enable: false}}", {"timeout": "87600h"}),
        ("kueue: {waitForPodsReady: {timeout: 1h}}", {"timeout": "1h", "recoveryTimeout": "30m"}),
    ],
)
def test_older_releases_wait_for_pods_only_where_they_are_told_to(
    written: str, expected: dict[str, str]
) -> None:
    """The Kueue of a test bed does so by default, and does not know `enable`."""
    found = simulated(site(f"{POOLS}\nversions: {{kueue: v0.14.0}}\n{written}"))["waitForPodsReady"]

    assert expected == {key: value for key, value in found.items() if key in ("timeout", "recoveryTimeout")}
    assert "enable" not in found
