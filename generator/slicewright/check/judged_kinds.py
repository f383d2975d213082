"""What `validate` judges outside of a repository of ours: its kinds, and the objects that these refer to."""

import re
from collections.abc import Iterable
from functools import lru_cache

from slicewright.check.unpack import holds_configuration
from slicewright.document.document import values_in
from slicewright.kubernetes import kinds
from slicewright.kubernetes.fields import at, texts
from slicewright.kubernetes.labels import OURS
from slicewright.kubernetes.problem import only_near
from slicewright.objects import Resource

_GROUPS = frozenset(
    {kinds.JOBSET_GROUP, "config.jobset.x-k8s.io", kinds.PATHWAYS_GROUP, kinds.LWS_GROUP, kinds.RAY_GROUP}
    | {kinds.KUEUE_GROUP, "config.kueue.x-k8s.io", kinds.TRAINER_GROUP, "accelerator.gke.io"}
    | {OURS.removesuffix("/")}
)
"""API groups of which all kinds are judged."""
_OTHERS = frozenset(
    {("batch", "Job"), ("cloud.google.com", "ComputeClass"), ("autoscaling.x-k8s.io", "ProvisioningRequest")}
)
"""Kinds of other groups that are judged, by group and kind."""
_KINDS = frozenset(
    kind for kind, group in kinds.GROUP_OF.items() if group in _GROUPS or (group, kind) in _OTHERS
)
_ASKS = re.compile(r"google\.com/(gke-)?tpu|kueue\.x-k8s\.io/|x-k8s\.io/queue-name")
"""The resource of chips, a node label of TPUs, or a label of Kueue."""
_NAMED = re.compile(r"""(?:^|[\s{,"'-])(apiVersion|kind)["']?[ \t]*:[ \t]*["']?([\w./-]+)""", re.MULTILINE)
_REFERRED = frozenset(
    {"ConfigMap", "Secret", "PersistentVolumeClaim", "StorageClass", "ServiceAccount", "Service", "Namespace"}
    | {"PriorityClass", "PodGroup", "PodTemplate"}
)
"""Kinds that pods and runs refer to."""


def is_judged(resource: Resource) -> bool:
    """Tell whether an object is judged: one of the kinds, or one with pods for TPUs or for a queue."""
    if resource.group in _GROUPS or (resource.group, resource.kind) in _OTHERS:
        return True
    return holds_configuration(resource) or (resource.kind in kinds.PODS_OF and _asks(resource))


def may_be_misspelt(resource: Resource) -> bool:
    """Tell whether an object of an unknown kind may be one that is judged, with a mistake in its kind."""
    return _is_near(resource.group, resource.kind) or _asks(resource)


def names_judged(text: str) -> bool:
    """Tell whether a text that cannot be read names a kind that is judged, chips or a queue."""
    if _ASKS.search(text):
        return True
    for key, word in _NAMED.findall(text):
        group, kind = (word.rpartition("/")[0], "") if key == "apiVersion" else ("", word)
        if _is_near(group, kind):
            return True
    return False


def words_of(judged: Iterable[Resource]) -> frozenset[str]:
    """Return all texts in some objects: the names of what they refer to are among them."""
    values = (value for resource in judged for _, value in values_in(resource.data))
    return frozenset(value for value in values if isinstance(value, str))


def is_referred(resource: Resource, words: frozenset[str]) -> bool:
    """Tell whether objects with some words refer to an object; a Service refers to pods by their labels."""
    if resource.kind not in _REFERRED or not resource.is_known:
        return False
    selector = texts(at(resource.data, "spec", "selector")) if resource.kind == "Service" else {}
    return resource.name in words or not words.isdisjoint(selector.values())


def _asks(resource: Resource) -> bool:
    """Tell whether a key of an object names TPUs or Kueue, or the key of an affinity or a toleration does."""
    for path, value in values_in(resource.data):
        key = path[-1] if path else ""
        word = value if key == "key" else key
        if isinstance(word, str) and _ASKS.search(word):
            return True
    return False


@lru_cache(maxsize=4096)
def _is_near(group: str, kind: str) -> bool:
    """Tell whether a kind is one that is judged, or a kind or a group is one with a mistake."""
    return kind in _KINDS or only_near(kind, _KINDS)[1] or only_near(group, _GROUPS)[1]
