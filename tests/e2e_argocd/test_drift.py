"""What Kueue writes into admitted runs is not a drift, whatever it is."""

import pytest
from tests.e2e import kit as clusters
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

TOLERATION = "{key: example.com/any, operator: Exists, effect: NoSchedule}"


@pytest.mark.parametrize("kind", [clusters.JOBSET, clusters.JOB], ids=lambda kind: kind[1])
def test_tolerations_of_git_and_of_the_flavor_agree(bed: Bed, tree: Tree, kind: tuple[str, str]) -> None:
    """A Spot flavor adds tolerations to those of the workload: in sync still, also after the next commit."""
    tree.cluster("slices: 2", "slices: 2, provisioning: Spot")
    spot = (
        "provisioning: Spot",
        f"podTemplate: {{spec: {{tolerations: [{TOLERATION}]}}}}",
        f"api: {kind[1]}",
    )
    tree.workload("hello", *spot)
    ours.begin(bed, tree)
    bed.until("Kueue to admit it", lambda: len(clusters.admitted(bed)) == 1)
    ((name,),) = [clusters.admitted(bed)]
    before = bed.api.get(*kind, name, "default")
    assert len(tolerations(before)) > 1

    tree.workload("other", *spot)
    ours.push(bed, tree, "another workload")

    after = bed.api.get(*kind, name, "default")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert tolerations(after) == tolerations(before)
    assert name not in kit.sync_message(kit.application(bed, ours.RUNS))


def tolerations(item: Object) -> list[Object]:
    """Return the tolerations of the pods of a run."""
    spec = item["spec"]
    if item["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    found: list[Object] = spec["template"]["spec"]["tolerations"]
    return found
