"""The tutorials of this repository, played as their `rehearsal:` blocks say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import kit
from .seeds import SEEDS, Seed

if TYPE_CHECKING:
    from slicewright.testbed.bed import Bed


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.cluster)
def test_tutorial_shows_what_it_promises(bed: Bed, seed: Seed) -> None:
    """A tutorial's cluster passes, and shows in its order, quota, pools and faults what it is about."""
    record = kit.play(bed, kit.scene(kit.ROOT, seed.cluster), speed=seed.speed)

    assert seed.expected == seed.shown(record)
