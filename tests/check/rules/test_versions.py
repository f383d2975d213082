"""Which release of a controller a tree installs, by the addresses of its manifests and images."""

import pytest

from slicewright.check.rules.versions import _PINNED


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("registry.k8s.io/kueue/kueue:v0.14.3", [("kueue", "v0.14.3")]),
        ("https://github.com/kubernetes-sigs/jobset.git//config?ref=v0.8.0", [("jobset", "v0.8.0")]),
        ("quay.io/open-cluster-management/kueue-addon:v0.1.4", []),
        ("ghcr.io/konflux-ci/tekton-kueue:v0.2.0", []),
        ("https://github.com/konflux-ci/tekton-kueue//config?ref=v0.2.0", []),
    ],
)
def test_release_of_an_add_on_is_no_release_of_kueue(address: str, expected: list[tuple[str, str]]) -> None:
    """Only the controller itself tells which versions of its API are served."""
    assert expected == _PINNED.findall(address)
