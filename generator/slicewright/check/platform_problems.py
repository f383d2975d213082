"""What the rules of Kueue's objects say of those that a TPUCluster makes, at the lines of its file.

A platform is checked by the rules that check anybody's objects, before it is rendered. Left out are the rules
of runs, and those of references: what nothing declares is a problem of the file itself (QUOTA002).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from slicewright.check.origin import of_cluster
from slicewright.check.rules import kueue_flavors, kueue_queues, pods_ready
from slicewright.check.run import RuleSet
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.problem import Path, Problem
from slicewright.objects import ObjectSet, Resource, rules_of
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.flavor import capacities, has_kueue
from slicewright.rendering.platform.platform_files import kueue_objects
from slicewright.rendering.repository import Package, Repository

_RULES = rules_of(kueue_queues, kueue_flavors, pods_ready)
_COMPARES = "KQ104"
"""The rule that compares two numbers of a flavor; each is the sum of what the file says of several pools."""


def with_platforms(repository: Repository) -> Repository:
    """Return a repository with the problems that Kueue's rules find in the platforms of its clusters."""
    found = (
        problem
        for site in repository.sites.values()
        if site.cluster.managed and has_kueue(site)
        for problem in _problems(site, repository.package)
        if not any(part.follows(problem) for part in repository.parts)
    )
    return replace(repository, problems=(*repository.problems, *found))


def _problems(site: ResolvedCluster, package: Package) -> Iterator[Problem]:
    """Yield the problems of one platform, at most one for each rule and field of the file."""
    below = platform_folder(site.cluster.name)
    resources = [Resource(data, below) for data in kueue_objects(site)]
    objects = ObjectSet(resources, package.catalogue, site)
    rules = RuleSet(_RULES, package.hint_of)
    reported: set[tuple[str, Path]] = set()
    for resource in resources:
        for problem in rules.problems(objects, (resource,)):
            path = of_cluster(site, resource.data, problem.path)
            if (problem.id, path) not in reported:
                reported.add((problem.id, path))
                message = problem.message + (_summed(site, path) if problem.id == _COMPARES else "")
                is_warning = problem.severity == "warning"
                yield site.cluster.source.problem(problem.id, path, message, problem.hint, warning=is_warning)


def _summed(site: ResolvedCluster, path: Path) -> str:
    """Return the end of a message that names the pools whose quotas are added up; '' for a single pool."""
    quotas = at(site.cluster.spec, *path[1:4])
    flavors = {pool: capacity.flavor.name for pool, capacity in capacities(site).items()}
    flavor = flavors[at(quotas, path[4], "pool")]
    pools = [quota["pool"] for quota in quotas if flavors.get(quota["pool"]) == flavor]
    if len(pools) == 1:
        return ""
    return f", both summed over the pools of flavor '{flavor}': {', '.join(pools)}"
