"""Pods that keep off nodes of other ways: tolerations and affinity on every pattern, beside the user's."""

from typing import Any

import pytest

from .kit import OURS, PATTERNS, POOLS, run
from .test_provisioning import tpu_pod

TOLERATION = {
    "key": "slicewright.dev/provisioning",
    "operator": "Equal",
    "value": "OnDemand",
    "effect": "NoSchedule",
}
EXPRESSION = {"key": "cloud.google.com/gke-flex-start", "operator": "DoesNotExist"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def cluster(pattern: str) -> dict[str, Any]:
    """Return a cluster that has the shape of a pattern on demand, as Spot and as flex-start."""
    ways = {"standing": "OnDemand", "spot": "Spot", "flex": "FlexStart"}
    tpu = PATTERNS[pattern]["tpu"]
    return {
        "pools": [*POOLS, *({"name": name, "tpu": tpu, "provisioning": way} for name, way in ways.items())],
        "clusterQueues": [
            {
                "name": "c",
                "quota": [{"pool": name} for name in ways],
                "localQueues": [{"name": "lq", "namespace": "ns"}],
            }
        ],
    }


@pytest.mark.parametrize("pattern", OURS)
def test_pods_on_tpu_hosts_keep_off_other_ways(pattern: str) -> None:
    """They tolerate the taint of their way, and match no node with a label of another one."""
    made = run(pattern, cluster=cluster(pattern))

    pod = tpu_pod(pattern, made)
    terms = pod["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [TOLERATION] == pod["tolerations"]
    assert [{"matchExpressions": [EXPRESSION, {**EXPRESSION, "key": "cloud.google.com/gke-spot"}]}] == terms
    assert 1 == str(made.item).count("slicewright.dev/provisioning")


@pytest.mark.parametrize("pattern", OURS)
def test_ladder_prefers_nodes_that_have_no_label(pattern: str) -> None:
    """Pods that may take Spot nodes too prefer those on demand, which Kueue cannot select for them."""
    made = run(pattern, cluster=cluster(pattern), queueName="lq", alternativeProvisioning=["Spot"], slices=1)

    pod = tpu_pod(pattern, made)
    node_pool = {"key": "cloud.google.com/gke-nodepool", "operator": "In", "values": ["standing-0"]}
    assert [TOLERATION, {**TOLERATION, "value": "Spot"}] == pod["tolerations"]
    assert {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION]}]},
        PREFERRED: [{"weight": 50, "preference": {"matchExpressions": [node_pool]}}],
    } == pod["affinity"]["nodeAffinity"]


def test_terms_of_the_user_hold_it_too() -> None:
    """Terms are alternatives: in each of them ours is one more condition."""
    zones = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]} for zone in "ab"]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
    terms = [{"matchExpressions": [zones[0]]}, {"matchExpressions": [zones[1]]}, {"matchFields": fields}]
    preferred = [{"weight": 1, "preference": {"matchExpressions": [zones[0]]}}]
    own = {"key": "mine", "operator": "Exists"}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: preferred}}

    made = run(
        "jobset",
        cluster=cluster("jobset"),
        podTemplate={"spec": {"affinity": affinity, "tolerations": [own]}},
    )

    pod = made.pod("slice")
    ours = [EXPRESSION, {**EXPRESSION, "key": "cloud.google.com/gke-spot"}]
    assert [own, TOLERATION] == pod["tolerations"]
    assert [
        {"matchExpressions": [zones[0], *ours]},
        {"matchExpressions": [zones[1], *ours]},
        {"matchFields": fields, "matchExpressions": ours},
    ] == pod["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert preferred == pod["affinity"]["nodeAffinity"][PREFERRED]


def test_shape_in_one_way_is_as_it_was() -> None:
    """Where nothing can be mixed up, the pods are those of the tutorials."""
    alone = {"pools": [*POOLS, {"name": "standing", "tpu": "v5litepod-16"}]}

    pod = run("jobset", cluster=alone).pod("slice")

    assert {"tolerations", "affinity"}.isdisjoint(pod)
