"""TPU pods of a rehearsal stay on its own nodes."""

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.surroundings import owned

from .kit import job, jobset, pathwaysjob, replicated_job

OURS = {"slicewright.dev/rehearsal": "1f"}


def selectors(item: Object) -> list[Object]:
    """Return the node selectors of the pods of a JobSet."""
    pods = [entry["template"]["spec"]["template"]["spec"] for entry in item["spec"]["replicatedJobs"]]
    return [pod.get("nodeSelector", {}) for pod in pods]


def flavor(**labels: str) -> Object:
    """Return a ResourceFlavor."""
    return {"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {"nodeLabels": labels}}


def test_pods_with_chips_ask_for_our_nodes() -> None:
    """Beside what they ask for; pods without chips go where they like, and what was given stays as it is."""
    given = jobset("a", replicated_job("slice"), replicated_job("driver", chips=0))
    given["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}

    assert [{"a": "b", **OURS}, {}] == selectors(owned(given, "1f"))
    assert [{"a": "b"}, {}] == selectors(given)


def test_every_kind_of_run_is_owned() -> None:
    """A Job by its pods, a PathwaysJob by its workers; what runs nothing is left as it is."""
    workers = pathwaysjob() | {"spec": {"workers": [{"type": "ct5lp-hightpu-4t"}]}}
    service = {"kind": "Service", "metadata": {"name": "a"}, "spec": {}}
    labelled = {"kind": "Service", "metadata": {"name": "a", "labels": OURS}, "spec": {}}

    assert OURS == owned(job(), "1f")["spec"]["template"]["spec"]["nodeSelector"]
    assert [{"type": "ct5lp-hightpu-4t", "nodeSelector": OURS}] == owned(workers, "1f")["spec"]["workers"]
    assert labelled == owned(service, "1f")


def test_flavor_of_tpu_nodes_is_of_our_nodes() -> None:
    """Kueue counts the nodes of a flavor for a topology; a flavor of other nodes, or a full one, stays."""
    tpu = {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice"}
    full = {**tpu, **{f"label-{number}": "x" for number in range(7)}}
    bare = {"kind": "ResourceFlavor", "metadata": {"name": "f"}}

    assert {**tpu, **OURS} == owned(flavor(**tpu), "1f")["spec"]["nodeLabels"]
    assert full == owned(flavor(**full), "1f")["spec"]["nodeLabels"]
    assert {"a": "b"} == owned(flavor(a="b"), "1f")["spec"]["nodeLabels"]
    assert "spec" not in owned(bare, "1f")


def test_objects_are_copied_and_labelled() -> None:
    """What a rehearsal creates can be found again, and the tree's own objects are not changed."""
    before = jobset()
    made = owned(before, "1f")

    assert jobset() == before
    assert OURS == made["metadata"]["labels"]
