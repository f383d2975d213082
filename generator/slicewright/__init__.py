"""slicewright renders a few lines of intent into committed Kustomize overlays for Cloud TPUs on GKE."""

from __future__ import annotations

__version__ = "0.1.0"
