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

_TPU = (
    tpu_shape,
    tpu_slices,
    node_labels,
    priorities,
    tpu_provisioning,
    computeclass,
    dynamic_slices,
    security,
)
_JOBS = (jobset_names, jobset_policies, jobs, deployments, leaderworkerset, trainjob, pathways)
_RAY = (ray, ray_fields)
_QUEUES = (kueue_queues, kueue_flavors, kueue_topologies, kueue_workloads, multikueue, gang, fit, fit_flavors)
_KEYS = (keys, versions, pod_values, object_limits)
_TREE = (references_kueue, references_pods, gitops, content, kustomize)
RULES = rules_of(*_TPU, *_JOBS, *_RAY, *_QUEUES, *_KEYS, *_TREE)
"""All rules; `problems/rules/` has their texts."""
