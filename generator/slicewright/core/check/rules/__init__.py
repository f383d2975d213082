"""The semantic rules, and the one loop that runs them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from slicewright.core.check.rules import (
    bindings,
    content,
    fit,
    fit_flavors,
    fit_nodes,
    gitops_runs,
    gitops_sync,
    jobs,
    jobset_names,
    jobset_policies,
    kueue_flavors,
    kueue_prebuilt,
    kueue_priorities,
    kueue_queues,
    kueue_topology,
    kueue_versions,
    kueue_workloads,
    kustomize,
    pathways,
    pathwaysjob,
    references_kueue,
    references_pods,
    security,
    tpu_priorities,
    tpu_provisioning,
    tpu_shape,
    tpu_slices,
    tpu_topology,
    tpu_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.check.item import Item
    from slicewright.core.check.rule import Rule
    from slicewright.core.check.world import World
    from slicewright.core.problem import Problem

RULES: tuple[Rule, ...] = (
    *tpu_shape.RULES,
    *tpu_slices.RULES,
    *tpu_priorities.RULES,
    *tpu_provisioning.RULES,
    *tpu_topology.RULES,
    *security.RULES,
    *tpu_version.RULES,
    *jobset_names.RULES,
    *jobset_policies.RULES,
    *jobs.RULES,
    *kueue_queues.RULES,
    *kueue_flavors.RULES,
    *kueue_workloads.RULES,
    *kueue_topology.RULES,
    *kueue_prebuilt.RULES,
    *kueue_priorities.RULES,
    *kueue_versions.RULES,
    *pathways.RULES,
    *pathwaysjob.RULES,
    *references_kueue.RULES,
    *references_pods.RULES,
    *bindings.RULES,
    *fit.RULES,
    *fit_nodes.RULES,
    *fit_flavors.RULES,
    *gitops_runs.RULES,
    *gitops_sync.RULES,
    *content.RULES,
    *kustomize.RULES,
)
"""All rules, in the order in which the page of rules shows them."""


def run(
    world: World, rules: Iterable[Rule] = RULES, items: Iterable[Item] | None = None
) -> tuple[Problem, ...]:
    """Return what the rules find in some objects (or all), object by object; nothing is silenced yet."""
    for_all: list[Rule] = []
    by_kind: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        for kind in rule.kinds:
            by_kind[kind].append(rule)
        if not rule.kinds:
            for_all.append(rule)
    return tuple(
        problem
        for item in (world.items if items is None else items)
        for problem in _of_item(item, world, by_kind.get(item.kind, []), for_all)
    )


def _of_item(item: Item, world: World, own: list[Rule], for_all: list[Rule]) -> Iterator[Problem]:
    for rule in (*own, *for_all) if item.is_known else for_all:
        for finding in rule.check(item, world):
            hint = finding.hint or rule.hint
            yield item.problem(rule.id, finding.path, finding.message, hint, severity=rule.severity)
