"""The semantic rules."""

from __future__ import annotations

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
    from slicewright.core.check.model import Rule

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
