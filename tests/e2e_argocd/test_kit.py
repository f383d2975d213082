"""What the other tests rely on."""

from types import SimpleNamespace
from typing import Any

from tests.e2e_argocd import kit

from slicewright.kubernetes.types import Object


def test_each_request_is_a_change() -> None:
    """Argo CD may lose one, and the API server tells nobody of a patch that changes nothing."""
    patches: list[Object] = []
    bed: Any = SimpleNamespace(api=SimpleNamespace(patch=lambda _, change: patches.append(change)))
    for _ in range(2):
        kit.look(bed, "a")

    assert patches[0] != patches[1]
