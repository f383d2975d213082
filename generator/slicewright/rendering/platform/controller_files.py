"""The releases of JobSet, Kueue and the PathwaysJob operator in the tree, and the files that install them.

bases/controllers/<name>-<version> holds each as it was released. Kustomize cannot pin what it fetches by a
digest, so the tree holds a copy, and its kustomization the digest. overlays/<cluster>/_controllers installs
them.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import CONFIGURATION_KEY, KUEUE_CONFIG_MAP, Api
from slicewright.kubernetes.labels import KEPT
from slicewright.kubernetes.problem import Problem
from slicewright.rendering import header
from slicewright.rendering.folder import controllers_folder, digest
from slicewright.rendering.header import KUSTOMIZATION
from slicewright.rendering.kustomization import (
    FILE_NAME,
    OTHER_NAMES,
    ReadText,
    Stopped,
    read_kustomization,
    second,
)
from slicewright.rendering.platform.controller_settings import (
    is_size,
    jobset_configuration,
    size_operations,
    size_words,
)
from slicewright.rendering.platform.flavor import DEFAULT_KUEUE, has_kueue
from slicewright.rendering.platform.kueue_configuration import config_map, configuration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Path
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

ROOT = "bases/controllers"
MANIFESTS = "manifests.yaml"
_CONTENTS = 8
"""Digests to keep in memory: a tree has a few manifests, and every cluster reads them."""


class Controller(Struct, frozen=True):
    """A controller that slicewright installs."""

    field: str
    """Its key in `versions`."""
    title: str
    name: str
    """Prefix of the folders of its releases; also the start of its Deployment and its namespace."""
    default: str
    """The release of a TPUCluster that names none."""
    runs: tuple[Api, ...] = ()
    """The kinds of runs that need it."""

    @property
    def namespace(self) -> str:
        """The namespace of its pod."""
        return f"{self.name}-system"

    @property
    def deployment(self) -> str:
        """The Deployment of its pod."""
        return f"{self.name}-controller-manager"


JOBSET = Controller("jobset", "JobSet", "jobset", "v0.12.0", ("JobSet", "PathwaysJob"))
KUEUE = Controller("kueue", "Kueue", "kueue", DEFAULT_KUEUE)
PATHWAYS = Controller("pathwaysJob", "PathwaysJob", "pathways-job", "v0.1.4", ("PathwaysJob",))
CONTROLLERS = (JOBSET, KUEUE, PATHWAYS)
"""In the order in which they are listed and applied."""


class Release(Struct, frozen=True):
    """One release of a controller."""

    controller: Controller
    version: str

    @property
    def folder(self) -> str:
        """The folder of its copy in the tree."""
        return f"{ROOT}/{self.controller.name}-{self.version}"

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.controller.title} {self.version}"

    def read(self, name: str, read_text: ReadText) -> str | None:
        """Return the text of a file of its copy, whose lines end in line feeds on every system."""
        text = read_text(f"{self.folder}/{name}")
        return None if text is None else text.replace("\r\n", "\n")


def release_of(folder: str) -> Release | None:
    """Return the release whose copy a folder of the tree holds; None for another folder."""
    for controller in CONTROLLERS:
        version = folder.removeprefix(f"{ROOT}/{controller.name}-")
        if _VERSION.fullmatch(version):
            return Release(controller, version)
    return None


_VERSION = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z][-0-9A-Za-z.]*)?")
"""As the schema of `versions` has it."""
_HEAD = re.compile(r"# [^\n]*; sha256:([0-9a-f]{64})\n")
_KEEP = [
    {"op": "add", "path": f"/metadata/annotations/{key.replace('/', '~1')}", "value": value}
    for key, value in KEPT.items()
]
_DEFINITIONS = {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition"}
_RELEASE_PATCHES = [{"target": _DEFINITIONS, "patch": write_document(_KEEP)}]
_RELEASE_BODY = write_document({**KUSTOMIZATION, "resources": [MANIFESTS], "patches": _RELEASE_PATCHES})
"""The kustomization of a copy. It forbids pruning CRDs: without its CRD every run would be deleted."""


def kustomization(source: str, manifests: str) -> str:
    """Return the kustomization of a copy, with the digest of the manifests that came from a source."""
    return f"# {source}; sha256:{digest_of(manifests)}\n{_RELEASE_BODY}"


@lru_cache(maxsize=_CONTENTS)
def digest_of(manifests: str) -> str:
    """Return the digest of manifests; how lines end does not count."""
    return hashlib.sha256(manifests.replace("\r\n", "\n").encode()).hexdigest()


def recorded(text: str) -> str:
    """Return the digest that our kustomization records; empty for any other one."""
    head = _HEAD.match(text)
    return head[1] if head and text[head.end() :] == _RELEASE_BODY else ""


def content(release: Release, read_text: ReadText) -> str:
    """Return the digest of a copy: its manifests, and its kustomization without the header."""
    written = release.read(FILE_NAME, read_text) or ""
    head = _HEAD.match(written)
    return digest_of(f"{written[head.end() if head else 0 :]}{release.read(MANIFESTS, read_text) or ''}")


_REWRITE = "delete the file: slicewright init --upgrade writes it again, with the digest of the manifests"


def release_problems(
    release: Release, read_text: ReadText, shipped: Mapping[str, str], *, configures: bool
) -> Iterator[Problem]:
    """Yield the problems of a copy in the tree.

    `shipped` holds the digests of the releases that come with slicewright, by the names of their folders;
    `configures` tells whether a cluster changes the configuration of Kueue.
    """
    manifests, file = f"{release.folder}/{MANIFESTS}", f"{release.folder}/{FILE_NAME}"
    written = release.read(FILE_NAME, read_text) or ""
    digest = recorded(written)
    text = release.read(MANIFESTS, read_text) or ""
    others = (name for name in OTHER_NAMES if release.read(name, read_text) is not None)
    yield from second(release.folder, others)
    folder = posixpath.basename(release.folder)
    expected = shipped.get(folder, digest)
    restore = (
        f"restore it: git checkout -- {release.folder}; or delete the folder: slicewright init --upgrade "
    )
    restore += "writes the original"
    if not digest:
        message = f"{FILE_NAME} of {release.title} is missing, or was edited"
        yield Problem("CTRL003", message, _REWRITE, file=file)
    elif names := set(_VERSION.findall(written.partition("\n")[0])) - {release.version}:
        message = f"the first line of {FILE_NAME} of {release.title} names {' and '.join(sorted(names))}"
        yield Problem("CTRL003", message, _REWRITE, file=file)
    elif digest_of(text) != expected:
        message = f"the manifests of {release.title} were edited: "
        message += "they do not match the recorded digest"
        yield Problem("CTRL002", message, restore, file=manifests)
    elif digest != expected:
        message = f"the digest of {release.title} was edited: it differs from the digest of the release"
        yield Problem("CTRL002", message, restore, file=file)
    else:
        mistakes = list(_content_problems(release, text, manifests, configures=configures))
        yield from mistakes
        if not mistakes and folder not in shipped:
            message = f"slicewright does not know the digest of {release.title}: its manifests may be edited"
            hint = "compare them with those that its authors published, then add this file, CTRL007 "
            hint += "and this reason to .slicewright-ignore.yaml"
            yield Problem("CTRL007", message, hint, severity="warning", file=manifests)


def _content_problems(release: Release, text: str, file: str, *, configures: bool) -> Iterator[Problem]:
    """Yield the problems of manifests that are not of this package."""
    others = sorted(_tags(release.controller.name, text) - {release.version})
    if others:
        message = f"the manifests of {release.title} run the image of {others[0]}"
        hint = (
            f"put the manifests of {release.version} into this folder and delete its {FILE_NAME}, or write "
            f"{release.controller.field}: {others[0]}; then run slicewright init --upgrade"
        )
        yield Problem("CTRL006", message, hint, file=file)
    if configures and release.controller == KUEUE and lacks_configuration(text):
        message = (
            f"the manifests of {release.title} have no ConfigMap or Deployment that 'kueue' could change"
        )
        hint = "vendor the manifests.yaml of Kueue's release, or write controllers: {managed: false}"
        yield Problem("CTRL004", message, hint, file=file)


_IMAGE = re.compile(r"""^[ -]*image: ["']?(?:\S*/)?([^/:@\s]+):([^/:@\s"']+)""", re.MULTILINE)


@lru_cache(maxsize=_CONTENTS)
def _tags(name: str, manifests: str) -> frozenset[str]:
    """Return the tags of a controller's image, `.../kueue:v0.19.2`; an image may have only a digest."""
    start = name.replace("-", "")
    return frozenset(tag for image, tag in _IMAGE.findall(manifests) if image.startswith(start))


def lacks_configuration(text: str) -> bool:
    """Tell whether manifests of Kueue have no ConfigMap or Deployment under the names of its release."""
    return f"name: {KUEUE_CONFIG_MAP}\n" not in text or f"name: {KUEUE.deployment}\n" not in text


PATCH = "kueue-manager-config.patch.yaml"
RESTART = "kueue-restart.patch.yaml"
JOBSET_PATCH = "jobset-manager-config.patch.yaml"
JOBSET_RESTART = "jobset-restart.patch.yaml"
_SIZE = "-size.patch.yaml"
_UP = "../../../"
"""The path from the folder to the root of the tree."""
_CONFIGURED = "slicewright.dev/configuration"
"""An annotation of Kueue's pods: another configuration is another pod, for Kueue reads it when it starts."""


def needed_releases(site: ResolvedCluster, workloads: Iterable[Workload]) -> tuple[Release, ...]:
    """Return the releases that a cluster needs; none if it installs its controllers otherwise.

    Kueue is needed if the file uses it, JobSet for Kueue and for everything that makes JobSets, and the
    operator of PathwaysJobs for PathwaysJobs. A version or a size in the file is installed in any case.
    """
    cluster = site.cluster
    if not cluster.installs:
        return ()
    written = cluster.spec.get("versions", {})
    named = {*written, *cluster.spec.get("controllers", {})}
    apis = {workload.api for workload in workloads if cluster.name in workload.clusters}
    needed = {KUEUE, JOBSET} if has_kueue(site) else {JOBSET} if PATHWAYS.field in named else set()
    return tuple(
        Release(controller, written.get(controller.field, controller.default))
        for controller in CONTROLLERS
        if controller in needed or controller.field in named or apis.intersection(controller.runs)
    )


def controller_files(site: ResolvedCluster, releases: Sequence[Release]) -> dict[str, str]:
    """Return the files of a cluster's controllers by path."""
    if not releases:
        return {}
    patches: dict[str, list[Object]] = {}
    written = site.cluster.spec.get("kueue")
    if written is not None:
        text = write_document(configuration(site, written))
        patches |= {PATCH: _replace(text), RESTART: _restart(text)}
    if gates := site.cluster.jobset_gates:
        text = jobset_configuration(gates)
        patches |= {JOBSET_PATCH: _replace(text), JOBSET_RESTART: _restart(text)}
    for controller in (release.controller for release in releases):
        if operations := size_operations(site, controller.field):
            patches[f"{controller.name}{_SIZE}"] = operations
    contents = {name: site.live(write_document(operations)) for name, operations in patches.items()}
    listing = _kustomization(releases, patches)
    contents[FILE_NAME] = header.live("the controllers of this cluster", listing)
    return {f"{controllers_folder(site.cluster.name)}/{name}": text for name, text in contents.items()}


def _kustomization(releases: Iterable[Release], patches: Iterable[str]) -> str:
    resources = [f"{_UP}{release.folder}" for release in releases]
    entries = [{"path": name, "target": _TARGETS[name]} for name in patches]
    listed = {"patches": entries} if entries else {}
    return write_document({**KUSTOMIZATION, "resources": resources, **listed})


def _deployment(controller: Controller) -> Object:
    named = {"name": controller.deployment, "namespace": controller.namespace}
    return {"group": "apps", "version": "v1", "kind": "Deployment", **named}


def _config_map(controller: Controller, name: str) -> Object:
    return {"version": "v1", "kind": "ConfigMap", "name": name, "namespace": controller.namespace}


_TARGETS = {
    PATCH: _config_map(KUEUE, KUEUE_CONFIG_MAP),
    RESTART: _deployment(KUEUE),
    JOBSET_PATCH: _config_map(JOBSET, "jobset-manager-config"),
    JOBSET_RESTART: _deployment(JOBSET),
    **{f"{controller.name}{_SIZE}": _deployment(controller) for controller in CONTROLLERS},
}
"""The patches of a folder in their order, and what each changes."""


def _replace(text: str) -> list[Object]:
    return [{"op": "replace", "path": f"/data/{CONFIGURATION_KEY}", "value": text}]


def _restart(text: str) -> list[Object]:
    path = f"/spec/template/metadata/annotations/{_CONFIGURED.replace('/', '~1')}"
    return [{"op": "add", "path": path, "value": digest(text)[:16]}]


def controller_problems(
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
    settings: dict[str, str] = field(default_factory=dict)
    """What differs of the others' pods and gates, in words, by the title of the controller."""
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
    names = [name for name in _TARGETS if read_text(f"{folder}/{name}") is not None]
    as_written = header.body_of(text) == _kustomization(releases, names)
    patches = dict(zip(names, (patch.operations for patch in spec.patches), strict=False))
    values = {name: _value(patches.get(name, [])) for name in (PATCH, JOBSET_PATCH)}
    for (name, value), restart in zip(values.items(), (RESTART, JOBSET_RESTART), strict=True):
        as_written &= not {name, restart} & patches.keys() or (
            patches.get(name) == _replace(value) and patches.get(restart) == _restart(value)
        )
    words: dict[str, list[str]] = {}
    for controller in CONTROLLERS:
        size = patches.get(f"{controller.name}{_SIZE}", [])
        as_written &= is_size(size)
        words[controller.title] = size_words(size)
    if gates := _GATE.findall(values[JOBSET_PATCH].partition("featureGates:")[2]):
        words[JOBSET.title].append(f"feature gates {', '.join(gates)}")
    settings = {title: ", ".join(parts) for title, parts in words.items() if parts}
    return Installed(releases, values[PATCH], settings, edited=not as_written)


_GATE = re.compile(r"^  (\w+): true$", re.MULTILINE)


def _value(operations: Sequence[Object]) -> str:
    return str(operations[0].get("value")) if operations else ""
