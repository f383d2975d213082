"""Workloads that name no queue where there is one: Kueue does not see them, and they take what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem

_DEFAULT = "default"
"""A LocalQueue of this name takes, by Kueue's webhook, what its namespace has without a queue."""


def against_queueless(workload: Workload, site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of a workload without a queue in a namespace for which the platform renders one.

    Of a platform that exists already the file may know a part only, so nothing is said there.
    """
    cluster = site.cluster
    queues = [queue.name for queue in cluster.local_queues if queue.namespace == workload.namespace]
    if workload.queue_name or not cluster.managed or not queues or _DEFAULT in queues:
        return
    have = "a LocalQueue" if len(queues) == 1 else f"{len(queues)} LocalQueues"
    message = f"the workload names no queue, and namespace '{workload.namespace}' has {have} on cluster "
    message += f"'{cluster.name}': {_consequence(site)}"
    wanted = " or ".join(f"queueName: {name}" for name in queues)
    hint = f"add {wanted} to spec; if it is meant, say so with a reason in .slicewright-ignore.yaml"
    yield workload.source.problem("REF008", ("spec",), message, hint, key=True, warning=True)


def _consequence(site: ResolvedCluster) -> str:
    if site.cluster.spec.get("kueue", {}).get("manageJobsWithoutQueueName") is True:
        return "Kueue is told to hold such runs back, and it would wait forever"
    return "it starts at once, beside Kueue, on nodes that are counted for others"
