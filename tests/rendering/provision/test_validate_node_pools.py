"""What stands against the pools of a cluster that we provision."""

from pathlib import Path

import pytest
import yaml
from tests.words import places

from .kit import committed, surveyed, text

REFUSED = yaml.load((Path(__file__).parent / "refused.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.parametrize("case", REFUSED, ids=[case["when"] for case in REFUSED])
def test_refusal(case: dict[str, str]) -> None:
    """What GKE would refuse, or make differently, is said with its place and with what to write."""
    _, said = surveyed(text(case["spec"], name=case.get("name", "c1")))

    assert case["where"] == places(said)


def test_nothing_against_a_platform_of_others() -> None:
    """What somebody else provisions is not judged."""
    written = text("pools: [{name: a, tpu: v5e-16, slices: 5000}]").replace("managed: true", "managed: false")

    assert surveyed(written)[1] == ""


def test_sub_block_holds_slices_of_64_chips_in_all() -> None:
    """A slice of a sub-block's size, and beside it one of half the size twice in another sub-block, pass."""
    pool = "provisioning: {type: Reservation, name: r, block: b, subBlock: %s}}"
    written = f"""
    location: us-central1
    nodeLocations: [us-central1-c]
    pools:
    - {{name: whole, tpu: {{accelerator: tpu7x, topology: 4x4x4}}, {pool % "s0"}
    - {{name: halves, tpu: {{accelerator: tpu7x, topology: 2x4x4}}, slices: 2, {pool % "s1"}
    """

    assert surveyed(text(written))[1] == ""


@pytest.mark.parametrize(
    "name",
    [
        "flex-start-cluster",
        "gke-tpu-training-cluster",
        "multislice-autopilot",
        "multislice-cluster",
        "pathways-cluster",
    ],
)
def test_clusters_of_this_repository(name: str) -> None:
    """Nothing stands against the clusters of the tutorials."""
    site = committed(name)

    assert surveyed(site.cluster.source.file.text, site.cluster.source.file.path)[1] == ""
