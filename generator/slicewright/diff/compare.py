"""The difference between two trees, and between a tree and its next render, for words and for JSON."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.diff import object_changes, queue_changes, run_changes
from slicewright.diff.object_changes import ObjectChange
from slicewright.diff.pruning import Pruning
from slicewright.diff.queue_changes import Asked, QuotaMove, StopChange, StopPolicies
from slicewright.diff.run_changes import RunChange
from slicewright.diff.tree_version import Effect, TreeVersion, folders
from slicewright.document.text_difference import unified
from slicewright.kubernetes.problem import Problem, counted, errors, in_order
from slicewright.kubernetes.types import plain
from slicewright.rendering import header
from slicewright.rendering.folder import PROVISION, is_controllers_folder, namespace_folder, run_folder
from slicewright.rendering.platform.controller_files import (
    CONTROLLERS,
    Installed,
    Release,
    content,
    installed,
)
from slicewright.rendering.platform_tree import DESTROY
from slicewright.rendering.rendering import Rendering
from slicewright.rendering.repository import Repository

_HEADER = re.compile(rf"\A(#![^\n]*\n)?{re.escape(header.GENERATED)}\n(# inputs: [^\n]*\n)?")
_NODE_POOL = re.compile(r"^ +delete_node_pool (\S+)$", re.MULTILINE)
_WHERE = re.compile(r"^(PROJECT|LOCATION|CLUSTER)=(\S+)$", re.MULTILINE)


class FileChange(Struct, frozen=True):
    """A file below provision/ that says something else."""

    effect: Effect
    cluster: str
    path: str
    note: str
    """What stays in the cloud although no file makes it any more; empty if nothing does."""
    diff: str


def file_changes(before: TreeVersion, after: TreeVersion) -> Iterator[FileChange]:
    """Yield the files that differ in more than their headers."""
    for path in sorted(before.paths | after.paths):
        root, _, below = path.partition("/")
        if root != PROVISION:
            continue
        old, new = _body(before, path), _body(after, path)
        if old == new:
            continue
        effect: Effect = "added" if old is None else "removed" if new is None else "changed"
        cluster, _, name = below.partition("/")
        note = _left(cluster, old or "", new or "", after) if name == DESTROY and effect == "changed" else ""
        yield FileChange(effect, cluster, path, note, unified(path, old, new))


def _body(version: TreeVersion, path: str) -> str | None:
    text = version.read_text(path) if path in version.paths else None
    return None if text is None else _HEADER.sub(r"\1", text.replace("\r\n", "\n"))


def _left(cluster: str, old: str, new: str, after: TreeVersion) -> str:
    """Return a sentence about the node pools that `destroy.sh` no longer deletes; '' if there are none."""
    kept = _NODE_POOL.findall(new)
    gone = [name for name in _NODE_POOL.findall(old) if name not in kept]
    if not gone:
        return ""
    names = ", ".join(gone)
    if any(path.startswith(f"{PROVISION}/{cluster}/") and path.endswith(".tf") for path in after.paths):
        return (
            f"the cluster and its node pools that scripts made ({names}) are not in Terraform's state: "
            "import or delete them before terraform apply"
        )
    flags = " ".join(f"--{key.lower()}={value}" for key, value in sorted(_WHERE.findall(old)))
    left, name = f"node pools {names} were removed from the file, but nothing deletes them", "NAME"
    if len(gone) == 1:
        left, name = f"node pool {names} was removed from the file, but nothing deletes it", names
    return f"{left}: gcloud container node-pools delete {name} {flags}"


class ControllerChange(Struct, frozen=True):
    """A controller of a cluster whose release or copy differs between the trees, or is in only one."""

    cluster: str
    controller: str
    before: str | None
    after: str | None
    before_digest: str | None
    """Of what is installed."""
    after_digest: str | None


def controller_changes(before: TreeVersion, after: TreeVersion) -> Iterator[ControllerChange]:
    """Yield the controllers that differ, by cluster."""
    old, new = _versions(before), _versions(after)
    for cluster in sorted({cluster for cluster, _ in old.keys() | new.keys()}):
        for controller in CONTROLLERS:
            key = (cluster, controller.title)
            (version, digest), (version_now, digest_now) = (
                releases.get(key, (None, None)) for releases in (old, new)
            )
            if (version, digest) != (version_now, digest_now):
                yield ControllerChange(*key, version, version_now, digest, digest_now)


def _versions(version: TreeVersion) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the releases that a tree installs, and their digests, by cluster and controller."""
    digest = cache(lambda release: content(release, version.read_text))
    return {
        (folder.cluster, release.controller.title): (_installed_as(release, controllers), digest(release))
        for folder in folders(version)
        if is_controllers_folder(folder.path) and (controllers := installed(folder.path, version.read_text))
        for release in controllers.releases
    }


def _installed_as(release: Release, controllers: Installed) -> str:
    """Return the version, and the sizes and feature gates that differ from those of the release."""
    settings = controllers.settings.get(release.controller.title)
    return f"{release.version} ({settings})" if settings else release.version


class Difference(Struct, frozen=True):
    """What going from one tree to another does."""

    before: str
    after: str
    runs: tuple[RunChange, ...]
    quotas: tuple[QuotaMove, ...]
    stops: tuple[StopChange, ...]
    asked: tuple[Asked, ...]
    """The chips that are requested of each queue, before and after."""
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
    old, new, problems = object_changes.read_both(before, after)
    pruning, stops = Pruning(old, new), StopPolicies(old, new)
    reasons = pruning.staying(old, new)
    staying = {key: old[key] for key in reasons}
    changed = tuple(object_changes.changes(old, new, reasons, dict(pruning.notes())))
    chips_of = queue_changes.counter(catalogue)
    context = run_changes.Context({change.folder for change in changed}, pruning, reasons, stops, chips_of)
    return Difference(
        before.name,
        after.name,
        tuple(run_changes.changes(old, new, context)),
        tuple(queue_changes.moves(old, staying | new)),
        tuple(stops.changes(run_changes.going_on(old, new, reasons), chips_of)),
        tuple(queue_changes.asked(old, new, staying, chips_of)),
        tuple(controller_changes(before, after)),
        tuple(file_changes(before, after)),
        changed,
        in_order(problems),
    )


class Unrendered(Struct, frozen=True):
    """What the next render does, and to which workloads and clusters."""

    workloads: tuple[str, ...]
    """`namespace/name`."""
    clusters: tuple[str, ...]
    edited: bool
    """Whether a file of the input differs from the earlier version; else the tool or a base does."""
    difference: Difference


def rendered(version: TreeVersion, rendering: Rendering) -> TreeVersion:
    """Return a version of the tree as a render would leave it."""
    deleted, writes = frozenset(rendering.deletes), rendering.writes

    def read_text(path: str) -> str | None:
        return None if path in deleted else writes[path] if path in writes else version.read_text(path)

    return TreeVersion(f"{version.name}, rendered", version.paths - deleted | writes.keys(), read_text)


def unrendered(
    before: TreeVersion, now: TreeVersion, rendering: Rendering, repository: Repository, catalogue: Catalogue
) -> Unrendered | None:
    """Return what the next render does to the tree; None if it writes and deletes nothing."""
    folders = {posixpath.dirname(path) for path in (*rendering.writes, *rendering.deletes)}
    if not folders:
        return None
    workloads = {folder.key for folder in map(run_folder, folders) if folder}
    lists = {folder for folder in folders if run_folder(folder) or (workloads and namespace_folder(folder))}
    clusters = {folder.split("/")[1] for folder in folders - lists}
    difference = compare(now, rendered(now, rendering), catalogue)
    edited = _edited(before, repository, workloads)
    return Unrendered(tuple(sorted(workloads)), tuple(sorted(clusters)), edited, difference)


def _edited(before: TreeVersion, repository: Repository, workloads: set[str]) -> bool:
    """Tell whether an input file differs from its earlier version, or was deleted."""
    sources = [workload.source for workload in repository.workloads]
    sources += [site.cluster.source for site in repository.sites.values()]
    gone = workloads - {workload.key for workload in repository.workloads}
    return bool(gone) or any(before.read_text(source.file.path) != source.file.text for source in sources)


def refused(rendering: Rendering) -> Problem | None:
    """Return a warning if a render would fail, so that its effect is unknown."""
    wrong = len(errors(rendering.problems))
    if not wrong:
        return None
    message = "your unrendered edits are not shown, "
    message += f"because slicewright render finds {counted(wrong, 'error')}"
    return Problem("RUN020", message, "run slicewright render --check", severity="warning")
