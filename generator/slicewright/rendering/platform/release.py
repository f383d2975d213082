"""A controller's release in the tree: bases/controllers/<name>-<version>, as it was released.

Kustomize cannot pin what it fetches by a digest, so the tree holds a copy, and its kustomization the digest.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import KUEUE_CONFIG_MAP, Api
from slicewright.kubernetes.labels import KEPT
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.compose.spec import FILE_NAME, OTHER_NAMES, ReadText, second
from slicewright.rendering.platform.kueue_objects import DEFAULT_RELEASE
from slicewright.rendering.run.listing import KUSTOMIZATION

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
    """The release that a TPUCluster has which does not say."""
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
KUEUE = Controller("kueue", "Kueue", "kueue", DEFAULT_RELEASE)
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
_PATCHES = [{"target": _DEFINITIONS, "patch": write_document(_KEEP)}]
_BODY = write_document({**KUSTOMIZATION, "resources": [MANIFESTS], "patches": _PATCHES})
"""The kustomization of a copy. It forbids pruning CRDs: without its CRD every run would be deleted."""


def kustomization(source: str, manifests: str) -> str:
    """Return the kustomization of a copy, with the digest of the manifests that came from a source."""
    return f"# {source}; sha256:{digest_of(manifests)}\n{_BODY}"


@lru_cache(maxsize=_CONTENTS)
def digest_of(manifests: str) -> str:
    """Return the digest of manifests; how lines end does not count."""
    return hashlib.sha256(manifests.replace("\r\n", "\n").encode()).hexdigest()


def recorded(text: str) -> str:
    """Return the digest that our kustomization records; empty for any other one."""
    head = _HEAD.match(text)
    return head[1] if head and text[head.end() :] == _BODY else ""


def content(release: Release, read_text: ReadText) -> str:
    """Return the digest of a copy: its manifests, and its kustomization without the header."""
    written = release.read(FILE_NAME, read_text) or ""
    head = _HEAD.match(written)
    return digest_of(f"{written[head.end() if head else 0 :]}{release.read(MANIFESTS, read_text) or ''}")


_REWRITE = "delete the file: slicewright init --upgrade writes it again, with the digest of the manifests"


def problems(
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
    """Yield the problems of manifests that somebody else provided."""
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
