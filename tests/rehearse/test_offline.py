"""What the offline quota check says of runs, by the rules that `slicewright validate` has."""

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.scenario_problems import never_fits
from slicewright.rendering.io.package_data import package

from .kit import job, jobset, replicated_job

LABELS = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "4x4",
}
KUEUE = "kueue.x-k8s.io/v1beta2"


def platform(chips: int) -> list[Object]:
    """Return a queue with chips to give away."""
    resource = {"name": "google.com/tpu", "nominalQuota": str(chips)}
    group = {"coveredResources": ["google.com/tpu"], "flavors": [{"name": "f", "resources": [resource]}]}
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


@pytest.mark.parametrize(("slices", "others", "found"), [(1, 0, []), (2, 0, ["KQ164"]), (2, 1, [])])
def test_queued_run_of_several_slices_never_fits(slices: int, others: int, found: list[str]) -> None:
    """GKE provisions one node pool for it; a run that can also get other nodes may run there."""
    flavor, queue, local = platform(64)
    flavor["spec"] = {"nodeLabels": LABELS}
    flavors = queue["spec"]["resourceGroups"][0]["flavors"]
    flavors += [{**flavors[0], "name": "g"}] * others
    queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "dws", "onFlavors": ["f"]}]}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws"}
    check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    config = {"provisioningClassName": "queued-provisioning.gke.io"}
    objects = [flavor, {**flavor, "metadata": {"name": "g"}}, queue, local]
    for kind, spec in (("AdmissionCheck", check), ("ProvisioningRequestConfig", config)):
        objects.append({"apiVersion": KUEUE, "kind": kind, "metadata": {"name": "dws"}, "spec": spec})
    run = jobset("run", replicated_job("slice", replicas=slices, pods=4), queue="q")

    reasons = never_fits([run], objects, package().catalogue)

    assert found == [reason.split()[0] for reason in reasons.values()]
