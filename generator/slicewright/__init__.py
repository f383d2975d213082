"""slicewright renders a few lines of intent into committed Kustomize overlays for Cloud TPUs on GKE.

The Python interface is `load`, `plan`, `render` and `compose`; see docs/reference/python.md. They are
imported when they are first used, so that `slicewright --version` does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.version import __version__

if TYPE_CHECKING:
    from slicewright.api import NoRepositoryError, Plans, WrongVersionError, compose, load, plan, render

__all__ = [
    "NoRepositoryError",
    "Plans",
    "WrongVersionError",
    "__version__",
    "compose",
    "load",
    "plan",
    "render",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from slicewright import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module 'slicewright' has no attribute '{name}'")
