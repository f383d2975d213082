"""What installs JobSet, Kueue and the PathwaysJob operator: overlays/<cluster>/_controllers."""

from __future__ import annotations

import posixpath
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.core.compose.spec import FILE_NAME, Stopped, read_kustomization
from slicewright.core.document.write import write_document
from slicewright.core.kubernetes.kinds import CONFIGURATION_KEY
from slicewright.core.platform import release
from slicewright.core.platform.kueue import has_kueue
from slicewright.core.platform.kueue_configuration import config_map, configuration
from slicewright.core.platform.release import CONTROLLERS, JOBSET, KUEUE, PATHWAYS, Release, release_of
from slicewright.core.run import header
from slicewright.core.run.folder import controllers_folder
from slicewright.core.run.identity import digest
from slicewright.core.run.listing import KUSTOMIZATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.compose.spec import ReadText
    from slicewright.core.intent.workload import Workload
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem

PATCH = "kueue-manager-config.patch.yaml"
RESTART = "kueue-restart.patch.yaml"
_UP = "../../../"
"""The way from the folder to the root of the tree."""
_CONFIGURED = "slicewright.dev/configuration"
"""An annotation of Kueue's pods: another configuration is another pod, for Kueue reads it when it starts."""


def releases(site: ResolvedCluster, workloads: Iterable[Workload]) -> tuple[Release, ...]:
    """Return what a cluster needs, none where somebody else installs it.

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
        Release(one, written.get(one.field, one.default))
        for one in CONTROLLERS
        if one in needed or one.field in written or apis.intersection(one.runs)
    )


def files(site: ResolvedCluster, wanted: Iterable[Release]) -> dict[str, str]:
    """Return the files of a cluster's controllers by path."""
    here = controllers_folder(site.cluster.name)
    listed = list(wanted)
    if not listed:
        return {}
    made: dict[str, str] = {}
    written = site.cluster.spec.get("kueue")
    if written is not None:
        text = write_document(configuration(site, written))
        inputs = header.inputs(site.cluster.source.file.path, site.cluster.name)
        made[PATCH] = header.live(inputs, write_document(_replace(text)))
        made[RESTART] = header.live(inputs, write_document(_restart(text)))
    made[FILE_NAME] = header.live(
        "the controllers of this cluster", _kustomization(listed, patched=bool(made))
    )
    return {f"{here}/{name}": text for name, text in made.items()}


def _kustomization(listed: Iterable[Release], *, patched: bool) -> str:
    spec: dict[str, Any] = {**KUSTOMIZATION, "resources": [f"{_UP}{one.folder}" for one in listed]}
    return write_document({**spec, **({"patches": list(_targets())} if patched else {})})


def _targets() -> Iterator[dict[str, Any]]:
    of_kueue = {"namespace": KUEUE.namespace}
    configured = {"version": "v1", "kind": "ConfigMap", "name": config_map("")["metadata"]["name"]}
    deployed = {"group": "apps", "version": "v1", "kind": "Deployment", "name": KUEUE.deployment}
    yield {"path": PATCH, "target": {**configured, **of_kueue}}
    yield {"path": RESTART, "target": {**deployed, **of_kueue}}


def _replace(text: str) -> list[dict[str, str]]:
    return [{"op": "replace", "path": f"/data/{CONFIGURATION_KEY}", "value": text}]


def _restart(text: str) -> list[dict[str, str]]:
    path = f"/spec/template/metadata/annotations/{_CONFIGURED.replace('/', '~1')}"
    return [{"op": "add", "path": path, "value": digest(text)[:16]}]


def problems(
    site: ResolvedCluster, wanted: Iterable[Release], read_text: ReadText, shipped: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield what is wrong in the controllers of a cluster: a release that is not in the tree, or edited.

    `shipped` holds the digests of the releases that come with slicewright, by the names of their folders.
    """
    source, written = site.cluster.source, site.cluster.spec.get("versions", {})
    for one in wanted:
        field = one.controller.field
        try:
            text = one.read(release.MANIFESTS, read_text)
        except Stopped as stopped:
            yield from filter(None, [stopped.problem])
            continue
        if text is None:
            at: Path = ("spec", "versions", field) if field in written else ("metadata", "name")
            message = f"{one.title} cannot be installed: {one.folder}/{release.MANIFESTS} is missing"
            yield source.problem("CTRL001", at, message, _how(one, shipped))
            continue
        yield from release.problems(one, read_text, shipped, configures="kueue" in site.cluster.spec)


def _how(one: Release, shipped: Mapping[str, str]) -> str:
    """Return how a release comes into the tree."""
    if posixpath.basename(one.folder) in shipped:
        return "slicewright init --upgrade brings it"
    start = f"{one.controller.name}-"
    known = ", ".join(sorted(name.removeprefix(start) for name in shipped if name.startswith(start)))
    return (
        f"slicewright has {known}; for another version, put the manifests of its release there and run "
        "slicewright init --upgrade, or write controllers: {managed: false} if you install it yourself"
    )


class Installed(Struct, frozen=True):
    """What a folder of controllers says, read without reading the releases."""

    releases: tuple[Release, ...] = ()
    configuration: str = ""
    """Kueue's own, as a text; empty where it is that of the release."""
    edited: bool = False
    """Whether anything is not as slicewright writes it, so that it may change more of the releases."""

    @property
    def objects(self) -> tuple[Object, ...]:
        """What is not as it was released: the ConfigMap of Kueue."""
        return (config_map(self.configuration),) if self.configuration else ()


def installed(folder: str, read_text: ReadText) -> Installed | None:
    """Return what a folder of controllers says; None where it lists anything but releases in the tree."""
    text = read_text(f"{folder}/{FILE_NAME}")
    if text is None or not header.is_ours(text):
        return None
    try:
        found = read_kustomization(folder, read_text)
    except Stopped:
        return None
    listed = [release_of(entry.removeprefix(_UP)) for entry in found.resources if entry.startswith(_UP)]
    kept = tuple(one for one in listed if one is not None)
    if len(kept) < len(found.resources) or found.components:
        return None
    patches = [change.operations for change in found.patches]
    value = next((str(one.get("value")) for one in chain(*patches)), "")
    written = [_replace(value), _restart(value)] if patches else []
    as_written = header.body_of(text) == _kustomization(kept, patched=bool(patches)) and patches == written
    return Installed(kept, value, edited=not as_written)
