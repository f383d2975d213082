"""The API of GitHub and GitLab, as the tests of pull requests see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .service import Service, service

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def api() -> Iterator[Service]:
    """A service without comments."""
    with service() as running:
        yield running
