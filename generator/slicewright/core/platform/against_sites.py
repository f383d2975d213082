"""Clusters whose environments would make the same thing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem

_DEFAULTS = {
    "networkName": "{prefix}-network",
    "subnetName": "{prefix}-subnet",
    "tpuSaName": "cloud-tpu-sa",
    "gkeSaName": "gke-sa",
    "artifactRepositoryBucketName": "{prefix}-aiml-repository",
    "artifactRegistryName": "gke-tpu-training",
}
"""Names of the fields' own descriptions, where nothing is written."""
_GLOBAL = frozenset({"artifactRepositoryBucketName"})
"""Names that no other project may have either."""


def problems_between(sites: Iterable[Site]) -> Iterator[Problem]:
    """Yield a problem for each name that two environments have in common.

    Clusters need no such check: a GKE cluster is called as its TPUCluster, of which there is one by name.
    """
    taken: dict[tuple[str, ...], Site] = {}
    for site in sites:
        environment = site.cluster.spec.get("environment")
        if environment is None or not site.cluster.managed:
            continue
        for field, key, shown in _names(site, environment):
            other = taken.setdefault((field, *key), site)
            if other is not site:
                written = field in environment
                place = ("spec", "environment", field) if written else ("spec", "environment")
                message = f"{field} is '{shown}', as in the environment of cluster '{other.cluster.name}'"
                other_name = field if written or "{" not in _DEFAULTS.get(field, "") else "resourcePrefix"
                hint = f"write another {other_name}: two environments cannot make the same thing"
                yield site.cluster.source.problem("ENV021", place, message, hint, key=not written)


def _names(site: Site, environment: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield field, what must be unique, and how it is shown."""
    project: str = site.cluster.spec.get("project", "")
    prefix = environment.get("resourcePrefix", project)
    for field, default in _DEFAULTS.items():
        name = environment.get(field, default.format(prefix=prefix))
        yield field, (name,) if field in _GLOBAL else (project, name), name
    bucket = environment.get("tfStateBucket", f"{project}-tf-state")
    state = environment.get("tfStatePrefix", "gke-tpu-training-environment")
    yield "tfStatePrefix", (bucket, state), state
