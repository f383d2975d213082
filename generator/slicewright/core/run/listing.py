"""A kustomization that lists what is in its folder, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.document.write import write_document
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Iterable

KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def listing(of: str, entries: Iterable[str]) -> str:
    """Return the text of a list `of` something, as its header says.

    Lists carry no digest, so that two changes side by side merge line by line.
    """
    return header.live(of, write_document({**KUSTOMIZATION, "resources": list(entries)}))
