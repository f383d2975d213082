"""What the model of flavors says of rendered platforms whose queues have one shape in several ways."""

from itertools import permutations

import pytest
from tests.check.rules.kit import run
from tests.e2e.test_flavors import WAYS, called, cluster, flavor_names, queue_name, rendered

from slicewright.check.rules.every import RULES
from slicewright.kubernetes.types import Object
from slicewright.kueue.assignment import admit
from slicewright.kueue.quota_read import queue_of, quotas
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.flavor import kept_apart
from slicewright.rendering.platform.platform_files import objects

MIXTURES = [*permutations(WAYS, 2), *permutations(WAYS, 3)]


@pytest.fixture(scope="module")
def everything() -> tuple[ResolvedCluster, list[Object]]:
    """Return a site with each ordered pair and triple of ways in a queue, and runs of each way in it."""
    quotas = {mixture: [{"pool": name, "nominalSlices": 1} for name in mixture] for mixture in MIXTURES}
    specs = {
        name: {"provisioning": way, "queueName": queue_name(next(each for each in MIXTURES if name in each))}
        for name, way in WAYS.items()
    }
    site, runs = rendered(cluster(quotas), specs)
    return site, [
        called(runs[name], f"{queue_name(mixture)}.{name}", queue_name(mixture))
        for mixture in MIXTURES
        for name in mixture
    ]


def _object_set(site: ResolvedCluster, platform: list[Object], runs: list[Object]) -> ObjectSet:
    return ObjectSet([Resource(data, "") for data in (*platform, *runs)], catalogue(), site)


def _given(object_set: ObjectSet) -> dict[str, str]:
    """Return the flavor of each run."""
    found = {}
    for item in object_set.of_kind("Job"):
        queue = queue_of(item, object_set)
        assert queue is not None
        (given,) = admit(quotas(object_set), queue, pod_sets(item, object_set)) or ()
        found[item.name] = given.flavors["google.com/tpu"]
    return found


def _said(object_set: ObjectSet) -> dict[str, str]:
    """Return which rule has something to say of which run."""
    problems = run(object_set, [rule for rule in RULES if rule.id in ("FIT120", "FIT121")])
    return {problem.object: problem.id for problem in problems}


@pytest.mark.slow
def test_rendered_runs_are_given_their_own_flavors(everything: tuple[ResolvedCluster, list[Object]]) -> None:
    """In each ordered pair and triple of ways; the rules of flavors are silent."""
    site, runs = everything
    object_set = _object_set(site, objects(site), runs)
    own = flavor_names(site)

    assert {name: own[name.rpartition(".")[2]] for name in _given(object_set)} == _given(object_set)
    assert len(runs) == len(_given(object_set)) == 30 * 2 + 120 * 3
    assert {} == _said(object_set)


@pytest.mark.slow
def test_without_taints_the_rules_name_every_run_that_is_given_another_flavor(
    everything: tuple[ResolvedCluster, list[Object]],
) -> None:
    """With an error, and no other run; those that can be given another flavor later with a warning."""
    site, runs = everything
    object_set = _object_set(site, objects(site, kept_apart(site)), runs)
    own, said = flavor_names(site), _said(object_set)
    wrong = {name for name, flavor in _given(object_set).items() if flavor != own[name.rpartition(".")[2]]}
    errors, warnings = (
        {name for name, rule in said.items() if rule == ident} for ident in ("FIT120", "FIT121")
    )

    assert {f"Job default/{name}" for name in wrong} == errors
    assert len(runs) > len(errors) > len(runs) // 2
    assert warnings
