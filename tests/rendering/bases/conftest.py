"""A tree with the bases, in which tests put overlays of their own."""

from pathlib import Path

import pytest

from .kit import copy_bases


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a tree with our bases; each test writes into a folder of its own."""
    root = tmp_path_factory.mktemp("tree")
    copy_bases(root)
    return root
