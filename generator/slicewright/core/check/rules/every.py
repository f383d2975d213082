"""Every semantic rule, module by module."""

from __future__ import annotations

from slicewright.core.check.model import rules_of
from slicewright.core.check.rules import (
    computeclass,
    content,
    deployments,
    dynamic_slices,
    fit,
    fit_flavors,
    gang,
    gitops,
    jobs,
    jobset_names,
    jobset_policies,
    keys,
    kueue_flavors,
    kueue_queues,
    kueue_topologies,
    kueue_workloads,
    kustomize,
    leaderworkerset,
    multikueue,
    node_labels,
    object_limits,
    pathways,
    pod_values,
    priorities,
    ray,
    ray_fields,
    references_kueue,
    references_pods,
    security,
    tpu_provisioning,
    tpu_shape,
    tpu_slices,
    trainjob,
    versions,
)

RULES = rules_of(
    *(tpu_shape, tpu_slices, node_labels, priorities, tpu_provisioning),
    *(computeclass, dynamic_slices, security),
    *(jobset_names, jobset_policies, jobs, deployments, leaderworkerset, trainjob, pathways),
    *(ray, ray_fields),
    *(kueue_queues, kueue_flavors, kueue_topologies, kueue_workloads, multikueue, gang, fit, fit_flavors),
    *(keys, versions, pod_values, object_limits),
    *(references_kueue, references_pods, gitops, content, kustomize),
)
"""All rules; `problems/rules/` has their texts."""
