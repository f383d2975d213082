"""The semantic rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Rule
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
    from types import ModuleType

_MODULES = (
    tpu_shape,
    tpu_slices,
    tpu_priorities,
    tpu_provisioning,
    tpu_topology,
    security,
    tpu_version,
    jobset_names,
    jobset_policies,
    jobs,
    kueue_queues,
    kueue_flavors,
    kueue_workloads,
    kueue_topology,
    kueue_prebuilt,
    kueue_priorities,
    kueue_versions,
    pathways,
    pathwaysjob,
    references_kueue,
    references_pods,
    bindings,
    fit,
    fit_nodes,
    fit_flavors,
    gitops_runs,
    gitops_sync,
    content,
    kustomize,
)


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """Return the rules of some modules, in the order in which they are written."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Rule))


RULES = rules_of(*_MODULES)
"""All rules; `problems/rules/` has their texts."""
