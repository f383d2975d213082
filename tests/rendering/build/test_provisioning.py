"""The six ways of provisioning, on every pattern."""

from typing import Any

import pytest

from .kit import DIRECT, JOBS, PATTERNS, Run, refused, run

SHAPE = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "4x4",
}
SPOT = {"cloud.google.com/gke-spot": "true"}
FLEX = {"cloud.google.com/gke-flex-start": "true"}
RESERVED = {"type": "Reservation", "name": "r"}
BLOCK = {**RESERVED, "project": "p", "block": "b"}
KINDS: dict[str, tuple[Any, dict[str, str]]] = {
    "on-demand": ("OnDemand", {}),
    "spot": ("Spot", SPOT),
    "flex-start": ("FlexStart", FLEX),
    "reservation": (RESERVED, {"cloud.google.com/reservation-name": "r"}),
    "reservation-block": (
        BLOCK,
        {
            "cloud.google.com/reservation-name": "r",
            "cloud.google.com/reservation-project": "p",
            "cloud.google.com/reservation-blocks": "b",
        },
    ),
    "compute-class": ({"type": "ComputeClass", "name": "cc"}, {"cloud.google.com/compute-class": "cc"}),
}
OWN_PODS = [pattern for pattern in PATTERNS if pattern != "pathwaysjob"]


def tpu_pod(pattern: str, made: Run) -> dict[str, Any]:
    """Return the pod spec on TPU hosts."""
    return made.pod({"jobset": "slice", **dict.fromkeys(DIRECT, "worker")}.get(pattern, ""))


def shape(pattern: str) -> dict[str, str]:
    """Return the selectors of the pattern's shape."""
    return {**SHAPE, "cloud.google.com/gke-tpu-topology": "2x2"} if pattern == "job" else SHAPE


@pytest.mark.parametrize("pattern", OWN_PODS)
@pytest.mark.parametrize("kind", KINDS)
def test_pods_select_their_hosts(pattern: str, kind: str) -> None:
    """Pods on TPU hosts select shape and provisioning; only Spot is tolerated, GKE tolerates the rest."""
    written, selector = KINDS[kind]
    pod = tpu_pod(pattern, run(pattern, provisioning=written))
    spot = [{"key": next(iter(SPOT)), "operator": "Equal", "value": "true", "effect": "NoSchedule"}]

    assert pod["nodeSelector"] == {**shape(pattern), **selector}
    assert pod.get("tolerations", []) == (spot if kind == "spot" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_pathwaysjob_selects_its_hosts(kind: str) -> None:
    """A PathwaysJob carries the selectors of the provisioning; its controller adds those of the shape."""
    written, selector = KINDS[kind]
    (workers,) = run("pathwaysjob", provisioning=written).item["spec"]["workers"]

    assert selector == workers.get("nodeSelector", {})


@pytest.mark.parametrize("pattern", OWN_PODS)
@pytest.mark.parametrize(("seconds", "expected"), [(None, "604800"), (3600, "3600")])
def test_queued_flex_start(pattern: str, seconds: int | None, expected: str) -> None:
    """Queued flex-start is an annotation for Kueue and tolerations; without a time it is seven days."""
    made = run(pattern, provisioning="FlexStartQueued", queueName="lq", maxRunDurationSeconds=seconds)
    pod = tpu_pod(pattern, made)

    assert made.item["metadata"]["annotations"] == {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": expected}
    assert [item["key"] for item in pod["tolerations"]] == ["cloud.google.com/gke-queued", "google.com/tpu"]
    assert pod["nodeSelector"] == shape(pattern)


def test_queued_flex_start_of_a_pathwaysjob_is_refused() -> None:
    """Workers of a PathwaysJob cannot be given the toleration that queued machines need."""
    problems = refused("pathwaysjob", provisioning="FlexStartQueued", queueName="lq")

    assert [problem.id for problem in problems] == ["TPU013"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_run_time_of_flex_start_is_a_selector(pattern: str) -> None:
    """On Autopilot `maxRunDurationSeconds` is a node label in seconds, by which GKE makes the nodes."""
    made = run(pattern, provisioning="FlexStart", maxRunDurationSeconds=3600, cluster={"mode": "Autopilot"})
    key = "cloud.google.com/gke-max-run-duration-seconds"
    if pattern == "pathwaysjob":
        selector = made.item["spec"]["workers"][0]["nodeSelector"]
    else:
        selector = tpu_pod(pattern, made)["nodeSelector"]

    assert selector[key] == "3600"
    assert selector[next(iter(FLEX))] == "true"


@pytest.mark.parametrize("pattern", DIRECT)
@pytest.mark.parametrize("kind", KINDS)
def test_head_stays_on_its_pool(pattern: str, kind: str) -> None:
    """Provisioning is for the workers: the head selects its CPU pool and tolerates nothing."""
    head = run(pattern, provisioning=KINDS[kind][0]).pod("pathways-head")

    assert head["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu"}
    assert "tolerations" not in head


@pytest.mark.parametrize("pattern", JOBS)
def test_ambiguous_shapes_select_the_chips_of_a_host(pattern: str) -> None:
    """2x4 exists on one host of eight chips and on two of four; the pod says which it means."""
    machine = {"job": "ct5lp-hightpu-8t", "indexed-job": "ct5lp-hightpu-4t"}[pattern]
    made = run(pattern, tpu={"accelerator": "v5e", "topology": "2x4", "machineType": machine})

    assert made.pod()["nodeSelector"]["cloud.google.com/gke-accelerator-count"] == machine[-2]
    assert made.container()["resources"]["limits"]["google.com/tpu"] == machine[-2]
