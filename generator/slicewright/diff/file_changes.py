"""What is compared by files: scripts without their headers, controllers by release and digest."""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from slicewright.diff.tree_version import Effect, TreeVersion, folders
from slicewright.document.text_difference import unified
from slicewright.rendering import header
from slicewright.rendering.folder import PROVISION, is_controllers_folder
from slicewright.rendering.platform.controller_files import CONTROLLERS, content, installed
from slicewright.rendering.platform_tree import DESTROY

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
    """Return what becomes of the node pools that `destroy.sh` deleted before, and deletes no more."""
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
    """A controller of a cluster that has another release, another copy of it, or none, before or after."""

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
        (folder.cluster, release.controller.title): (release.version, digest(release))
        for folder in folders(version)
        if is_controllers_folder(folder.path) and (controllers := installed(folder.path, version.read_text))
        for release in controllers.releases
    }
