"""Names of Flux Kustomizations: short enough for the label that Flux puts on all that it applies."""

from __future__ import annotations

from slicewright.core.run.identity import digest

LONGEST = 63
"""Characters of a label's value: `kustomize.toolkit.fluxcd.io/name` is the name of the Kustomization."""
_DIGITS = 8


def flux_name(*parts: str) -> str:
    """Return the parts with dots between them; one that is too long keeps its end, and gets a digest.

    The end names the namespace and the workload; the cluster before it is the same for all of one Flux.
    """
    whole = ".".join(parts)
    if len(whole) <= LONGEST:
        return whole
    end = whole[_DIGITS + 1 - LONGEST :].lstrip("-.")
    return f"{end}-{digest(whole)[:_DIGITS]}"
