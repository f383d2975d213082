"""What the offline quota check says of the runs that a rehearsal is about to run."""

from collections.abc import Iterable

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.rules import fit, fit_flavors, provisioning_requests
from slicewright.check.run import RuleSet
from slicewright.kubernetes.problem import errors
from slicewright.kubernetes.types import Object
from slicewright.objects import ObjectSet, Resource, rules_of
from slicewright.rehearse.model.scenario_part import run_key
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_NEVER = ("FIT101", "FIT102", "FIT103", "KQ164")
"""Rules that find workloads that can never be admitted."""
_NOWHERE = "FIT120"
"""The rule that finds workloads that are admitted with quota of nodes on which they cannot run."""
_RULES = tuple(
    rule for rule in rules_of(fit, fit_flavors, provisioning_requests) if rule.id in (*_NEVER, _NOWHERE)
)


def never_fits(
    runs: Iterable[Object],
    platform: Iterable[Object],
    catalogue: Catalogue,
    site: ResolvedCluster | None = None,
) -> dict[str, str]:
    """Return why runs are never admitted by a platform, or do not run on what they get, for those.

    The TPUCluster has the configuration of a Kueue that is installed beside the platform.
    """
    resources = [Resource(item, "") for item in runs]
    object_set = ObjectSet([*(Resource(item, "") for item in platform), *resources], catalogue, site)
    rules, reasons = RuleSet(_RULES), dict[str, str]()
    for resource in resources:
        for problem in errors(rules.problems(object_set, (resource,))):
            reasons.setdefault(run_key(resource.data), f"{problem.id} {problem.message}")
    return reasons


def never_admitted(reason: str) -> bool:
    """Tell whether `never_fits` reason of a run that it is never admitted."""
    return reason.startswith(_NEVER)


def advice(reason: str) -> str:
    """Return what to write instead, about what `never_fits` reason of a run."""
    return {rule.id: rule.hint for rule in _RULES}.get(reason.partition(" ")[0], "")
