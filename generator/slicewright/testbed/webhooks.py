"""Whether the webhooks of JobSet and Kueue answer: a ready pod or process need not mean that they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.kinds import JOBSET_VERSION, KUEUE_GROUP

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.testbed.api import Api


def jobset_answers(api: Api) -> bool:
    """Return true once a dry run has passed through JobSet's webhooks. Raises ApiError while it does not."""
    return _accepted(api, _JOBSET)


def kueue_answers(api: Api) -> bool:
    """Return true once dry runs have passed through Kueue's webhooks and its conversion. Raises ApiError."""
    return all(_accepted(api, item) for item in _CLUSTER_QUEUES)


def _accepted(api: Api, item: Object) -> bool:
    return bool(api.create(item, dryRun="All"))


_JOBSET: Object = {
    "apiVersion": JOBSET_VERSION,
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {
        "replicatedJobs": [
            {
                "name": "a",
                "template": {
                    "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "probe"}]}}}
                },
            }
        ]
    },
}
_CLUSTER_QUEUES: tuple[Object, ...] = tuple(
    {
        "apiVersion": f"{KUEUE_GROUP}/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "probe"},
        "spec": {"namespaceSelector": {}},
    }
    for version in ("v1beta2", "v1beta1")
)
"""Both versions: the older one is converted by Kueue on its way in."""
