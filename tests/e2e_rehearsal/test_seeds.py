"""The tutorials of this repository, played as their `rehearsal:` blocks say."""

import pytest
from tests.conftest import Repo

from slicewright.testbed.bed import Bed

from . import kit
from .seeds import SEEDS, Seed

_WORKLOADS = [kit.ROOT / "workloads" / f"{name}.yaml" for name in ("demo", "multislice")]


@pytest.mark.parametrize(
    "seed",
    [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.workflow) for seed in SEEDS[1:])],
    ids=lambda seed: seed.cluster,
)
def test_tutorial_shows_what_it_promises(bed: Bed, seed: Seed) -> None:
    """A tutorial's cluster passes, and shows in its order, quota, pools and faults what it is about."""
    record = kit.play(bed, kit.scenario(kit.ROOT, seed.cluster), speed=seed.speed)

    assert seed.expected == seed.shown(record)


@pytest.mark.workflow
def test_new_workload_beside_the_tutorial_finishes(bed: Bed, empty: Repo) -> None:
    """As the README makes one: submitted at once, it meets no workload whose pods have another priority."""
    for path in (*kit.ROOT.glob("clusters/multislice-*.yaml"), *_WORKLOADS):
        empty.write(str(path.relative_to(kit.ROOT)), path.read_text(encoding="utf-8"))
    options = (
        "--tpu",
        "v5litepod-8",
        "--slices",
        "2",
        "--cluster",
        "multislice-cluster",
        "--image",
        "python:3.12",
    )
    empty.run("new", "llama", *options, "--", "python", "train.py")
    empty.run("render")
    record = kit.play(bed, kit.scenario(empty.root, "multislice-cluster"), speed=15)

    assert ([], 6) == (record["problems"], record["summary"]["finished"])
    assert record["workloads"][0]["ended"] < record["workloads"][1]["submitted"]
