"""Causes that only a real kubelet can show: an image that nobody has, and a Secret that is missing."""

from typing import Any

from tests.e2e.test_status import one, run_of, why

from slicewright.testbed.bed import Bed

from .controllers import CONTROL_PLANE, TOLERATION


def test_kubelet_says_what_is_missing(bed: Bed, container_image: str, real_nodes: set[str]) -> None:
    """An image that cannot be pulled and a Secret that is missing are named with the kubelet's words."""
    assert real_nodes
    place: dict[str, Any] = {"nodeSelector": {CONTROL_PLANE: ""}, "tolerations": [TOLERATION]}
    bed.api.create(one(**place))

    assert "image no.example/train:1 cannot be pulled" in why(bed, "ImageNotPulled")
    assert "Starting" == run_of(bed).state

    secret = one(**place)
    secret["metadata"]["name"] = "secret"
    (container,) = secret["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    container |= {"image": container_image, "envFrom": [{"secretRef": {"name": "token"}}]}
    bed.api.create(secret)

    said = why(bed, "ReferenceMissing", "secret")
    assert "Secret token does not exist in the namespace | CreateContainerConfigError" in said
