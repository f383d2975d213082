"""Compare the TPU pools of all clusters of a project in a region with the project's quotas of TPU chips.

In each region, Compute Engine has two quotas for each TPU family (GKE's accelerator): one for nodes on
demand, and a preemptible one for Spot and flex-start nodes. Nodes of a reservation need none. Which one nodes
of a ComputeClass need is not known before GKE creates them.

Sources: docs.cloud.google.com/kubernetes-engine/docs/troubleshooting/tpus (the quotas, and reservations) and
docs.cloud.google.com/compute/docs/instances/provisioning-models (flex-start).
"""

from collections.abc import Collection, Iterable, Iterator

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.kubernetes.problem import Path, Problem, first_of
from slicewright.rendering.plan.resolved_cluster import (
    ResolvedCluster,
    SizeRange,
    refusal_problem,
    region_of,
    size_range,
)

_QUOTAS = {
    "onDemandChips": ("on-demand", ("OnDemand",)),
    "preemptibleChips": ("preemptible", ("Spot", "FlexStart", "FlexStartQueued")),
}
"""The quotas of a family: their names, and the ways of provisioning that use them."""
_FEW = 6


def problems_between(sites: Collection[ResolvedCluster], catalogue: Catalogue) -> Iterator[Problem]:
    """Yield a problem for each quota that pools exceed; a cluster of an unknown place is compared alone."""
    for site in sites:
        near = [other for other in sites if other is site or _place(other) == _place(site) != ()]
        for index, entry in enumerate(site.cluster.spec.get("projectQuota", ())):
            path: Path = ("spec", "projectQuota", index)
            word: str = entry["accelerator"]
            answer = resolve(catalogue, TpuRequest(accelerator=word))
            if isinstance(answer, Refusal) and word not in catalogue.scopes:
                yield refusal_problem(site.source, path, answer)
                continue
            families = {shape.accelerator for shape in catalogue.scopes[word].shapes.values()}
            for field, (called, ways) in _QUOTAS.items():
                if field in entry:
                    chips = dict(_chips(site, near, families, ways))
                    yield from _exceeded(
                        site, (*path, field), entry[field], f"{called} chips of {word}", chips
                    )


def _place(site: ResolvedCluster) -> tuple[str, ...]:
    """Return the project and the region of a cluster; () if its file does not name both."""
    project, location = (site.cluster.spec.get(field, "") for field in ("project", "location"))
    if project and location:
        return project, region_of(location)
    return ()


def _chips(
    site: ResolvedCluster, near: Iterable[ResolvedCluster], families: set[str], ways: tuple[str, ...]
) -> Iterator[tuple[str, SizeRange]]:
    """Yield the chips of each pool that uses a quota, by a name for messages."""
    for other in near:
        for pool, shape in other.pools:
            if shape.accelerator in families and pool.provisioning.type in ways:
                name = pool.name if other is site else f"{pool.name} of cluster '{other.cluster.name}'"
                size = size_range(other, pool)
                # Autopilot creates nodes only for pods that wait.
                least = 0 if other.cluster.mode == "Autopilot" else size.least
                yield name, SizeRange(least * shape.chips, size.most * shape.chips)


def _exceeded(
    site: ResolvedCluster, path: Path, quota: int, named: str, chips: dict[str, SizeRange]
) -> Iterator[Problem]:
    """Yield the problem of a quota that pools exceed: a warning if they do so only when they grow."""
    used = {name: size.least for name, size in chips.items()}
    verb = "have" if sum(used.values()) > quota else "can grow to"
    if verb != "have":
        used = {name: size.most for name, size in chips.items()}
    number = sum(used.values())
    if number > quota:
        pools = first_of([f"{name} ({count:,})" for name, count in used.items() if count], _FEW)
        message = f"the pools {verb} {number:,} {named}, but the quota of the project is {quota:,}: {pools}"
        hint = f"give the pools {number - quota:,} fewer chips; or request a higher quota, and write "
        hint += f"{path[-1]}: {number} when you have it"
        yield site.source.problem("QUOTA020", path, message, hint, warning=verb != "have")
