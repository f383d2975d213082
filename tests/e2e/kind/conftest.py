"""What is there on kind alone."""

import pytest

from slicewright.testbed.bed import Bed

from .settings import settings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what brings a bed of its own: while the shared one stands, its KWOK plays every node."""
    items.sort(key=lambda item: "shared_bed" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def container_image() -> str:
    """Return an image with a shell, for a container that really runs."""
    return settings().container_image


@pytest.fixture(scope="session")
def real_nodes(shared_bed: Bed) -> set[str]:
    """Return the names of the nodes of kind."""
    nodes = shared_bed.api.list("v1", "Node", labels="node-role.kubernetes.io/control-plane")
    return {node["metadata"]["name"] for node in nodes}
