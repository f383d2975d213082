"""The offline quota check against Kueue: what it says never fits is what Kueue never admits."""

import json
from collections.abc import Iterable
from random import Random

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import allow, play, spec

pytestmark = pytest.mark.workflow  # many queues


TPUS = {"small": "v5litepod-8", "large": "v5litepod-16"}
"""The TPU of each pool."""
SEEDS = (4, 11)
"""In each of them borrowing limits, lending limits, lenders and the quota of cohorts matter to a workload."""
PLATFORMS = 5
"""Queues of so many organisations, which lend each other nothing, are drawn from a seed; all play at once."""


class Drawn:
    """Queues and workloads, as chance would have them; the same seeds draw the same."""

    def __init__(self, seeds: Iterable[int]) -> None:
        self.cohorts: list[Object] = []
        self.queues: list[Object] = []
        self.workloads: dict[str, tuple[str, str, int]] = {}
        """(TPU, queue, slices) by name."""
        for seed in seeds:
            self._random = Random(seed)  # noqa: S311 - the same numbers each time
            for number in range(PLATFORMS):
                self._platform(f"org{seed}-{number}")

    def _platform(self, name: str) -> None:
        """Draw up to three queues, most of them in a cohort, which may be part of another."""
        cohort = self._cohort(f"{name}-inner", self._cohort(name, ""))
        for index in range(self._random.randint(1, 3)):
            parent = self._random.choice([cohort, cohort, ""])
            queue = f"{name}-{index}"
            quota = [self._quota(pool, limits=bool(parent)) for pool in self._pools()]
            entry = {"name": queue, "quota": quota, "localQueues": [{"name": queue, "namespace": "default"}]}
            self.queues.append({**entry, "cohortName": parent} if parent else entry)
            for turn in range(self._random.randint(1, 2)):
                tpu = TPUS[self._random.choice(quota)["pool"]]
                self.workloads[f"{queue}-{turn}"] = (tpu, queue, self._random.randint(1, 4))

    def _cohort(self, name: str, parent: str) -> str:
        """Draw a cohort, now and then none: then its members are in the one above."""
        if parent and self._random.random() < 1 / 2:
            return parent
        quota = [self._quota(pool, limits=bool(parent)) for pool in self._pools(0)]
        cohort = {"name": name, "quota": quota} if quota else {"name": name}
        self.cohorts.append({**cohort, "parentName": parent} if parent else cohort)
        return name

    def _pools(self, least: int = 1) -> list[str]:
        return self._random.sample(list(TPUS), self._random.randint(least, len(TPUS)))

    def _quota(self, pool: str, *, limits: bool) -> Object:
        nominal = self._random.randint(0, 2)
        quota: Object = {"pool": pool, "nominalSlices": nominal}
        if limits and self._random.random() < 1 / 2:
            quota["borrowingLimit"] = self._random.randint(0, 2)
        if limits and self._random.random() < 1 / 2:
            quota["lendingLimit"] = self._random.randint(0, nominal)
        return quota

    def cluster(self) -> str:
        """Return the spec of a TPUCluster that has nodes for all quota at once."""
        quotas = [quota for entry in self.cohorts + self.queues for quota in entry.get("quota", ())]
        slices = {
            pool: sum(quota["nominalSlices"] for quota in quotas if quota["pool"] == pool) for pool in TPUS
        }
        pools = [{"name": pool, "tpu": tpu, "slices": max(4, slices[pool])} for pool, tpu in TPUS.items()]
        parts = {"pools": pools, "cohorts": self.cohorts, "clusterQueues": self.queues}
        return "\n".join(f"{key}: {json.dumps(value)}" for key, value in parts.items())


def test_what_never_fits_is_what_kueue_never_admits(bed: Bed, empty: Repo) -> None:
    """When all else is over Kueue has admitted every workload but those that the check says never fit."""
    allow(empty, "FIT101", "Kueue is to show that they never fit")
    drawn = Drawn(SEEDS)
    empty.cluster(spec=drawn.cluster())
    for name, (tpu, queue, slices) in drawn.workloads.items():
        more = f"slices: {slices}\nqueueName: {queue}\nrehearsal: {{duration: 10s}}"
        empty.workload(name, spec(more, tpu=tpu))
    record = play(bed, empty, speed=20)
    never = {entry["run"]: entry["quotaCheck"] for entry in record["workloads"] if entry["quotaCheck"]}
    waited = {entry["run"] for entry in record["workloads"] if entry["admitted"] is None}
    others = [entry for entry in record["workloads"] if entry["run"] not in never]

    assert never.keys() == waited, json.dumps([drawn.cluster(), drawn.workloads, never])
    assert {"finished"} == {entry["outcome"] for entry in others}
    assert waited
