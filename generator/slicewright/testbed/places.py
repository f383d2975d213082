"""Where clusters have their folders: one root for all clusters of a user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slicewright.binaries.find import cache_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def clusters_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds one folder a running cluster, and the logs of those that failed."""
    return cache_root(environ) / "clusters"
