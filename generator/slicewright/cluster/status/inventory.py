"""The objects of a live cluster, and those that each run owns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from slicewright.kubernetes.fields import conditions, is_true
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import QUEUE, WORKLOAD
from slicewright.kubernetes.types import Object

QUOTA_KINDS = ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology")
"""The kinds that say what quota a queue has."""


class Inventory(Struct, frozen=True, dict=True):
    """The objects of a cluster by kind. A kind that the cluster lacks has no objects."""

    objects: Mapping[str, tuple[Object, ...]]
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kinds that could not be read completely, with the API server's message."""
    positions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The place of Workloads in their ClusterQueue from 1 on, as Kueue says, by namespace and name."""

    def of(self, kind: str) -> tuple[Object, ...]:
        """Return the objects of a kind."""
        return self.objects.get(kind, ())

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return an object by its name."""
        names = (name, namespace)
        return next((item for item in self.of(kind) if (name_of(item), namespace_of(item)) == names), None)

    @cached_property
    def families(self) -> dict[str, Family]:
        """The runs and the objects that each owns, by uid.

        A run is an object without an owner that has a label of a TPUWorkload or of a queue.
        """
        controllers = {item["metadata"]["uid"]: item for kind in RUN_KINDS for item in self.of(kind)}
        families: dict[str, Family] = {}
        for kind in (*RUN_KINDS, "Workload", "Pod"):
            for item in self.of(kind):
                root, passed = item, set[str]()
                # Owner references can form a cycle: the API server does not check them.
                while (owner := _controller(root)) in controllers and owner not in passed:
                    root = controllers[owner]
                    passed.add(owner)
                family = families.setdefault(root["metadata"]["uid"], Family(root))
                family.members[kind].append(item)
        return {
            uid: family
            for uid, family in families.items()
            if family.run["kind"] in RUN_KINDS and {WORKLOAD, QUEUE} & labels_of(family.run).keys()
        }

    @cached_property
    def warnings(self) -> dict[str, list[Object]]:
        """The warnings about each object, by its uid, the latest first."""
        warnings: dict[str, list[Object]] = defaultdict(list)
        for event in sorted(self.of("Event"), key=_when, reverse=True):
            warnings[event["involvedObject"].get("uid", "")].append(event)
        return warnings

    @cached_property
    def run_of(self) -> dict[str, str]:
        """The runs of Workloads and pods, by the uid of these: `namespace/name`."""
        return {
            item["metadata"]["uid"]: called(family.run)
            for family in self.families.values()
            for item in (*family.members["Workload"], *family.pods)
        }


class Family(Struct, frozen=True):
    """A run, and the objects that belong to it."""

    run: Object
    members: dict[str, list[Object]] = field(default_factory=lambda: defaultdict(list))
    """By kind; the run is one of them."""

    @property
    def workload(self) -> Object | None:
        """Kueue's Workload that is not over, else the last one, else None."""

        def rank(item: Object) -> tuple[bool, str]:
            is_over = is_true(conditions(item.get("status", {})), "Finished")
            return not is_over, item["metadata"].get("creationTimestamp", "")

        return max(reversed(self.members["Workload"]), key=rank, default=None)

    @property
    def pods(self) -> list[Object]:
        """The pods that are not being deleted."""
        return [pod for pod in self.members["Pod"] if "deletionTimestamp" not in pod["metadata"]]

    @property
    def queue(self) -> str:
        """The LocalQueue, which a PathwaysJob hands on to its JobSet."""
        return labels_of(self.run).get(QUEUE, "")


def labels_of(item: Object) -> dict[str, str]:
    """Return the labels of an object."""
    labels: dict[str, str] = item["metadata"].get("labels") or {}
    return labels


def name_of(item: Object) -> str:
    """Return the name of an object."""
    return str(item["metadata"]["name"])


def namespace_of(item: Object) -> str:
    """Return the namespace of an object; empty if it has none."""
    return str(item["metadata"].get("namespace", ""))


def called(item: Object) -> str:
    """Return how messages call an object that has a namespace: `namespace/name`."""
    return f"{namespace_of(item)}/{name_of(item)}"


def _controller(item: Object) -> str:
    owners = item["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")


def _when(event: Object) -> str:
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp", "")
    )
