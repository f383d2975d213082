"""The whole difference between two trees, for words and for JSON."""

from typing import Any

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.diff import file_changes as files
from slicewright.diff import object_changes as objects
from slicewright.diff import queue_changes as queues
from slicewright.diff import run_changes as runs
from slicewright.diff.file_changes import ControllerChange, FileChange
from slicewright.diff.object_changes import ObjectChange
from slicewright.diff.pruning import Pruning
from slicewright.diff.queue_changes import Asked, QuotaMove
from slicewright.diff.run_changes import RunChange
from slicewright.diff.stop_policies import StopChange, StopPolicies
from slicewright.diff.tree_version import TreeVersion
from slicewright.kubernetes.problem import Problem, in_order
from slicewright.kubernetes.types import plain


class Difference(Struct, frozen=True):
    """What going from one tree to another does."""

    before: str
    after: str
    runs: tuple[RunChange, ...]
    quotas: tuple[QuotaMove, ...]
    stops: tuple[StopChange, ...]
    asked: tuple[Asked, ...]
    """Of every queue of which something is asked, before or after."""
    controllers: tuple[ControllerChange, ...]
    provision: tuple[FileChange, ...]
    objects: tuple[ObjectChange, ...]
    problems: tuple[Problem, ...]

    @property
    def differs(self) -> bool:
        """Whether anything does, or could not be compared."""
        return bool(self.objects or self.controllers or self.provision or self.problems)

    @property
    def platform(self) -> tuple[ObjectChange, ...]:
        """The objects that differ and belong to no workload: queues, flavors, namespaces."""
        return tuple(change for change in self.objects if change.is_platform)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters in which something differs."""
        names = {change.cluster for change in self.objects} | {change.cluster for change in self.provision}
        return tuple(sorted(names | {change.cluster for change in self.controllers}))

    def chips(self, cluster: str) -> tuple[int, int]:
        """Return the chips asked for in a cluster, before and after."""
        own = [entry for entry in self.asked if entry.cluster == cluster]
        return sum(entry.before for entry in own), sum(entry.after for entry in own)

    def record(self) -> dict[str, Any]:
        """Return the JSON form, of schemas/slicewright/diff.json."""
        return {
            "before": self.before,
            "after": self.after,
            "differs": self.differs,
            "runs": plain(self.runs),
            "platform": [change.head() for change in self.platform],
            "quotas": plain(self.quotas),
            "stopPolicies": plain(self.stops),
            "chips": plain(self.asked),
            "controllers": plain(self.controllers),
            "provision": plain(self.provision),
            "objects": plain(self.objects),
            "problems": plain(self.problems),
        }


def compare(before: TreeVersion, after: TreeVersion, catalogue: Catalogue) -> Difference:
    """Return what going from one version of a tree to another does to the clusters."""
    old, new, problems = objects.read_both(before, after)
    pruning, stops = Pruning(old, new), StopPolicies(old, new)
    reasons = pruning.staying(old, new)
    staying = {key: old[key] for key in reasons}
    changed = tuple(objects.changes(old, new, reasons, dict(pruning.notes())))
    chips_of = queues.counter(catalogue)
    context = runs.Context({change.folder for change in changed}, pruning, reasons, stops, chips_of)
    return Difference(
        before.name,
        after.name,
        tuple(runs.changes(old, new, context)),
        tuple(queues.moves(old, staying | new)),
        tuple(stops.changes(runs.going_on(old, new, reasons), chips_of)),
        tuple(queues.asked(old, new, staying, chips_of)),
        tuple(files.controller_changes(before, after)),
        tuple(files.file_changes(before, after)),
        changed,
        in_order(problems),
    )
