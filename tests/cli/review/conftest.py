"""The API of GitHub and GitLab, as the tests of pull requests see it."""

from collections.abc import Iterator

import pytest

from .service import Service, service


@pytest.fixture
def api() -> Iterator[Service]:
    """A service without comments."""
    with service() as running:
        yield running
