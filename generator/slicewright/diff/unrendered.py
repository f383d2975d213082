"""What is edited and not rendered yet: the tree as a render would leave it, beside the one that is there."""

import posixpath

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.diff.compare import Difference, compare
from slicewright.diff.tree_version import TreeVersion
from slicewright.kubernetes.problem import Problem, counted, errors
from slicewright.rendering.folder import namespace_folder, run_folder
from slicewright.rendering.rendering import Rendering
from slicewright.rendering.repository import Repository


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
    """Tell whether a file of the input is another one than in an earlier version, or is gone."""
    sources = [workload.source for workload in repository.workloads]
    sources += [site.cluster.source for site in repository.sites.values()]
    gone = workloads - {workload.key for workload in repository.workloads}
    return bool(gone) or any(before.read_text(source.file.path) != source.file.text for source in sources)


def refused(rendering: Rendering) -> Problem | None:
    """Return a warning where a render would refuse to write, so that nobody knows what it would do."""
    wrong = len(errors(rendering.problems))
    if not wrong:
        return None
    message = "your unrendered edits are not shown, "
    message += f"because slicewright render finds {counted(wrong, 'error')}"
    return Problem("RUN020", message, "run slicewright render --check", severity="warning")
