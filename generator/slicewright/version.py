"""The version of the tool, on its own so that nothing else is imported for it."""

from __future__ import annotations

__version__ = "0.1.0"
