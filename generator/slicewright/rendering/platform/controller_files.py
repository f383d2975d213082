"""The files that install JobSet, Kueue and the PathwaysJob operator: overlays/<cluster>/_controllers."""

from __future__ import annotations

import posixpath
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import CONFIGURATION_KEY, KUEUE_CONFIG_MAP
from slicewright.rendering.compose.spec import FILE_NAME, Stopped, read_kustomization
from slicewright.rendering.platform.kueue_configuration import config_map, configuration
from slicewright.rendering.platform.kueue_objects import has_kueue
from slicewright.rendering.platform.release import (
    CONTROLLERS,
    JOBSET,
    KUEUE,
    MANIFESTS,
    PATHWAYS,
    Release,
    release_of,
)
from slicewright.rendering.platform.release import problems as release_problems
from slicewright.rendering.run import header
from slicewright.rendering.run.folder import controllers_folder
from slicewright.rendering.run.identity import digest
from slicewright.rendering.run.listing import KUSTOMIZATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Path, Problem
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.compose.spec import ReadText
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

PATCH = "kueue-manager-config.patch.yaml"
RESTART = "kueue-restart.patch.yaml"
_UP = "../../../"
"""The way from the folder to the root of the tree."""
_CONFIGURED = "slicewright.dev/configuration"
"""An annotation of Kueue's pods: another configuration is another pod, for Kueue reads it when it starts."""


def releases(site: ResolvedCluster, workloads: Iterable[Workload]) -> tuple[Release, ...]:
    """Return what a cluster needs, none if somebody else installs it.

    Kueue where the file says anything of it, JobSet for Kueue and for all that makes JobSets, the operator of
    PathwaysJobs for those alone. A version that is written is wanted in any case.
    """
    cluster = site.cluster
    if not cluster.installs:
        return ()
    written = cluster.spec.get("versions", {})
    apis = {workload.api for workload in workloads if cluster.name in workload.clusters}
    needed = {KUEUE, JOBSET} if has_kueue(site) else {JOBSET} if PATHWAYS.field in written else set()
    return tuple(
        Release(controller, written.get(controller.field, controller.default))
        for controller in CONTROLLERS
        if controller in needed or controller.field in written or apis.intersection(controller.runs)
    )


def files(site: ResolvedCluster, releases: Sequence[Release]) -> dict[str, str]:
    """Return the files of a cluster's controllers by path."""
    if not releases:
        return {}
    contents: dict[str, str] = {}
    written = site.cluster.spec.get("kueue")
    if written is not None:
        text = write_document(configuration(site, written))
        contents[PATCH] = site.live(write_document(_replace(text)))
        contents[RESTART] = site.live(write_document(_restart(text)))
    listing = _kustomization(releases, patched=bool(contents))
    contents[FILE_NAME] = header.live("the controllers of this cluster", listing)
    return {f"{controllers_folder(site.cluster.name)}/{name}": text for name, text in contents.items()}


def _kustomization(releases: Iterable[Release], *, patched: bool) -> str:
    resources = [f"{_UP}{release.folder}" for release in releases]
    patches = {"patches": _PATCHES} if patched else {}
    return write_document({**KUSTOMIZATION, "resources": resources, **patches})


_CONFIG_MAP = {"version": "v1", "kind": "ConfigMap", "name": KUEUE_CONFIG_MAP}
_DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment", "name": KUEUE.deployment}
_PATCHES = [
    {"path": PATCH, "target": {**_CONFIG_MAP, "namespace": KUEUE.namespace}},
    {"path": RESTART, "target": {**_DEPLOYMENT, "namespace": KUEUE.namespace}},
]


def _replace(text: str) -> list[dict[str, str]]:
    return [{"op": "replace", "path": f"/data/{CONFIGURATION_KEY}", "value": text}]


def _restart(text: str) -> list[dict[str, str]]:
    path = f"/spec/template/metadata/annotations/{_CONFIGURED.replace('/', '~1')}"
    return [{"op": "add", "path": path, "value": digest(text)[:16]}]


def problems(
    site: ResolvedCluster, releases: Iterable[Release], read_text: ReadText, shipped: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield the problems of a cluster's controllers: a release that is not in the tree, or is edited.

    `shipped` holds the digests of the releases that come with slicewright, by the names of their folders.
    """
    for release in releases:
        field = release.controller.field
        try:
            text = release.read(MANIFESTS, read_text)
        except Stopped as stopped:
            yield from filter(None, [stopped.problem])
            continue
        if text is None:
            is_written = field in site.cluster.spec.get("versions", {})
            at: Path = ("spec", "versions", field) if is_written else ("metadata", "name")
            message = f"{release.title} cannot be installed: {release.folder}/{MANIFESTS} is missing"
            yield site.source.problem("CTRL001", at, message, _remedy(release, shipped))
            continue
        yield from release_problems(release, read_text, shipped, configures="kueue" in site.cluster.spec)


def _remedy(release: Release, shipped: Mapping[str, str]) -> str:
    """Return the hint that says how to add a release to the tree."""
    if posixpath.basename(release.folder) in shipped:
        return "run slicewright init --upgrade to add it"
    start = f"{release.controller.name}-"
    known = ", ".join(sorted(name.removeprefix(start) for name in shipped if name.startswith(start)))
    return (
        f"slicewright has {known}; for another version, put the manifests of its release into that folder "
        "and run slicewright init --upgrade, or write controllers: {managed: false} if you install it "
        "yourself"
    )


class Installed(Struct, frozen=True):
    """The content of a folder of controllers, without the releases themselves."""

    releases: tuple[Release, ...] = ()
    configuration: str = ""
    """Kueue's Configuration as text; empty if it is the release's own."""
    edited: bool = False
    """Whether somebody edited the folder, so that it may change more of the releases."""

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects that differ from the release: Kueue's ConfigMap, or none."""
        if not self.configuration:
            return ()
        return (config_map(self.configuration),)


def installed(folder: str, read_text: ReadText) -> Installed | None:
    """Read a folder of controllers; None if it lists anything but releases in the tree."""
    text = read_text(f"{folder}/{FILE_NAME}")
    if text is None or not header.is_ours(text):
        return None
    try:
        spec = read_kustomization(folder, read_text)
    except Stopped:
        return None
    listed = (release_of(entry.removeprefix(_UP)) for entry in spec.resources if entry.startswith(_UP))
    releases = tuple(release for release in listed if release is not None)
    if len(releases) < len(spec.resources) or spec.components:
        return None
    patches = [patch.operations for patch in spec.patches]
    value = next((str(operation.get("value")) for operation in chain(*patches)), "")
    as_written = header.body_of(text) == _kustomization(releases, patched=bool(patches))
    as_written &= patches == ([_replace(value), _restart(value)] if patches else [])
    return Installed(releases, value, edited=not as_written)
