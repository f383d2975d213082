"""What the offline quota check says of runs, by the rules that `slicewright validate` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.rehearsal.model.offline import never_fits
from slicewright.workspace.package import package

from .kit import job, jobset, replicated_job

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object

KUEUE = "kueue.x-k8s.io/v1beta2"


def platform(chips: int) -> list[Object]:
    """Return a queue with chips to give away."""
    resource = {"name": "google.com/tpu", "nominalQuota": str(chips)}
    group = {
        "coveredResources": ["google.com/tpu"],
        "flavors": [{"name": "f", "resources": [resource]}],
    }
    specs: list[tuple[str, str, Object, Object]] = [
        ("ResourceFlavor", "f", {}, {}),
        ("ClusterQueue", "cq", {}, {"namespaceSelector": {}, "resourceGroups": [group]}),
        ("LocalQueue", "q", {"namespace": "default"}, {"clusterQueue": "cq"}),
    ]
    return [
        {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
        for kind, name, metadata, spec in specs
    ]


def test_run_that_asks_for_more_than_its_queue_has_never_fits() -> None:
    """One that fits, and one that asks no queue, are not told of."""
    runs = [
        jobset("fits", replicated_job("slice", replicas=2), queue="q"),
        jobset("large", replicated_job("slice", replicas=3), queue="q"),
        job("alone", pods=100),
    ]
    found = never_fits(runs, platform(16), package().catalogue)

    assert ["default/large"] == list(found)
    assert found["default/large"].startswith("FIT1")
