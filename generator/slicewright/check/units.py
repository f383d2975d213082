"""Units (files, builds, standard input): what to read, their objects once read, and the scope of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from slicewright.check.passed_by import is_referred, words_of
from slicewright.check.run import Scope
from slicewright.check.selection import is_judged_tool_of
from slicewright.check.unfinished import Placeholders, placeholders_in
from slicewright.document.read import read_manifests
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.kinds import KUSTOMIZATION_VERSION
from slicewright.kubernetes.labels import OURS
from slicewright.kubernetes.problem import Problem
from slicewright.objects import MERGED, Resource
from slicewright.rendering.kustomization import FILE_NAME, OTHER_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slicewright.check.engine import Engine, Verdict
    from slicewright.check.passed_by import PassedBy

Form = Literal["file", "folder", "chart", "stdin"]


class Unit(Struct, frozen=True):
    """One thing to read: a file, a kustomization folder, a chart to render, or stdin."""

    form: Form
    path: str
    """Absolute; empty for stdin."""
    name: str
    """What a report calls it."""
    cluster: str = ""
    """The cluster whose objects are examined together with it."""
    named: bool = False
    """Whether the user named it: then a file without a Kubernetes object is wrong, else it is passed by."""
    in_repository: bool = False
    """Whether it is in a slicewright repository, which is judged as a whole."""
    inside: bool = False
    """Whether a folder above the file has a kustomization, and none names the file."""
    text: str | Problem | None = None
    """What to read in place of it: stdin is read once, and a fixed file may not be written yet."""
    joins: bool = False
    """Whether it is checked with its cluster, but is not of the tree: nothing says that it is synced."""
    beside: bool = False
    """Whether the other units only refer to its objects, and nothing of it is reported."""

    @property
    def folder(self) -> str:
        """Return the folder of a file, absolute; a folder is its own."""
        return self.path if self.form in ("folder", "chart") else self.path.rpartition("/")[0] or "/"

    @property
    def is_ours(self) -> bool:
        """Whether all of its objects are judged, and not only those of some kinds."""
        return self.in_repository or bool(self.cluster)

    @property
    def scope(self) -> Scope:
        """The scope of its objects: their cluster, else what a kustomization builds, or a folder."""
        return Scope(self.cluster) if self.cluster else Scope("", self.form, self.folder)


class Checked(Struct, frozen=True):
    """An object that is judged, what its schema says, and whether anything of it needs to be explained."""

    resource: Resource
    verdict: Verdict
    clean: bool
    placeholders: Placeholders = field(default_factory=dict)


def checked(resource: Resource, engine: Engine, *, is_finished: bool = False) -> Checked:
    """Return an object with the verdict of its schema; a finished one has no placeholders."""
    verdict = engine.verdict(resource)
    held = {} if is_finished else placeholders_in(resource.data)
    return Checked(resource, verdict, not held and engine.is_clean(resource, verdict), held)


class Examined(Struct, frozen=True):
    """A unit, read and checked one object at a time."""

    unit: Unit
    objects: tuple[Checked, ...]
    problems: tuple[Problem, ...]
    kustomizations: tuple[tuple[str, str], ...]
    """Name and text of those that a folder is built from."""
    others: tuple[Resource, ...] = ()
    """Objects of kinds that are not judged, unless one that is judged refers to them."""
    passed_by: tuple[PassedBy, ...] = ()
    """The file, or documents of it, that are not checked."""
    used: frozenset[str] = frozenset()
    """Names of values that were filled in."""


class Read:
    """The units that were read: objects that are judged, the others, and the scope of each."""

    def __init__(self, parts: Sequence[Examined], *, one_cluster: bool) -> None:
        self.parts = parts
        self.one_cluster = one_cluster
        self.objects: list[Checked] = []
        self.others: list[Resource] = []
        self.scopes: dict[int, Scope] = {}
        for part in parts:
            scope = Scope(part.unit.cluster) if one_cluster else part.unit.scope
            resources = (*(one.resource for one in part.objects), *part.others)
            self.scopes |= {id(resource): scope for resource in resources}
            self.objects += part.objects
            self.others += part.others
        self.kustomizations = list(self._kustomizations())

    def add_referred(self, engine: Engine) -> None:
        """Judge also objects that judged ones of their scope refer to, and objects that sync judged ones."""
        if not self.others:
            return
        judged: dict[Scope, list[Resource]] = defaultdict(list)
        for one in self.objects:
            judged[self.scopes[id(one.resource)]].append(one.resource)
        words = {scope: words_of(resources) for scope, resources in judged.items()}
        files = {one.resource.file for one in self.objects}
        others, self.others = self.others, []
        for resource in others:
            is_met = is_referred(resource, words.get(self.scopes[id(resource)], frozenset()))
            if is_met or is_judged_tool_of(resource, files):
                self.objects.append(checked(resource, engine))
            else:
                self.others.append(resource)

    @property
    def resources(self) -> list[Resource]:
        """All objects, judged or not."""
        return [*(one.resource for one in self.objects), *self.others]

    @property
    def inputs(self) -> list[Resource]:
        """The documents of our own input formats."""
        return [one.resource for one in self.objects if is_input(one.resource)]

    @cached_property
    def files_beside(self) -> set[str]:
        """The files and folders that are read only for references to their objects, as reports name them."""
        return self._files(part for part in self.parts if part.unit.beside)

    def files_of_clusters(self) -> set[str]:
        """Return the files and folders of clusters, without those that a folder outside the tree adds."""
        resources = (
            *(one.resource for one in self.objects if not is_input(one.resource)),
            *self.kustomizations,
        )
        files = {resource.file for resource in resources if self.scopes[id(resource)].cluster}
        return files - self._files(part for part in self.parts if part.unit.joins)

    def _files(self, parts: Iterable[Examined]) -> set[str]:
        files = set()
        for part in parts:
            files |= {part.unit.name, *(one.resource.file for one in part.objects)}
            files |= {name for name, _ in part.kustomizations}
        return files

    def _kustomizations(self) -> Iterator[Resource]:
        """Yield the hand-written kustomizations of each cluster and the files that they merge, each once.

        They have rules, and no schema.
        """
        files = {(part.unit.cluster, name): text for part in self.parts for name, text in part.kustomizations}
        for (cluster, name), content in files.items():
            resource = _kustomization(name, content)
            if resource:
                self.scopes[id(resource)] = Scope(cluster)
                yield resource


def _kustomization(name: str, text: str) -> Resource | None:
    """Return a kustomization, or a file that one merges, as an object that rules look at."""
    documents, _ = read_manifests(text, name)
    data = [document.data for document in documents]
    if name.rpartition("/")[2] not in (FILE_NAME, *OTHER_NAMES):
        return Resource({"apiVersion": "v1", "kind": MERGED, "documents": data}, name)
    if len(data) != 1 or not isinstance(data[0], dict):
        return None
    # Both may be left out of a kustomization, and rules go by them.
    whole = {"apiVersion": KUSTOMIZATION_VERSION, "kind": "Kustomization", **data[0]}
    return Resource(whole, name, Source(SourceFile(name, text), documents[0]))


def is_input(resource: Resource) -> bool:
    """Tell whether an object is a document of our own input formats."""
    return str(resource.data["apiVersion"]).startswith(OURS)
