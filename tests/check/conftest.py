"""What tests of the check share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from slicewright.core.check.cel import library

if TYPE_CHECKING:
    from collections.abc import Iterator


def _forget() -> None:
    library._library.cache_clear()
    library.is_installed.cache_clear()
    library.is_computable.cache_clear()


@pytest.fixture
def without_library() -> Iterator[None]:
    """Take the CEL library away."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "cel", None)
        _forget()
        yield
    _forget()
