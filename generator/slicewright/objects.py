"""What is checked, and by what: an object, all objects that are checked together, and a rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from slicewright.document.document import may_be, pattern
from slicewright.kubernetes.fields import mapping, texts
from slicewright.kubernetes.kinds import GROUP_OF
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.problem import Fix, Path, Problem, Severity, are_both_meant, only_near
from slicewright.rendering.folder import platform_folder

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import ModuleType

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.intent.source import Source
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

Result = TypeVar("Result")
Key = TypeVar("Key", bound="Hashable")

MERGED = "MergedFile"
"""The kind of a file that a kustomization merges or is configured by, which holds its documents."""


class Resource(Struct, frozen=True, dict=True):
    """One Kubernetes object, and its place in a file.

    `file` is the file that has it, or the overlay folder from which it was composed; `source` gives
    line and column, and is None for a composed object. `at` is the path from the root of the document to the
    object, for one that is in a List.
    """

    data: dict[str, Any]
    file: str
    source: Source | None = None
    at: Path = ()

    @cached_property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return str(self.data.get("apiVersion", "")).rpartition("/")[0]

    @cached_property
    def version(self) -> str:
        """The API version without its group."""
        return str(self.data.get("apiVersion", "")).rpartition("/")[2]

    @cached_property
    def kind(self) -> str:
        """The kind."""
        return str(self.data.get("kind", ""))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The metadata; empty if there is none."""
        return mapping(self.data.get("metadata"))

    @cached_property
    def name(self) -> str:
        """The name."""
        return str(self.metadata.get("name", ""))

    @cached_property
    def server_name(self) -> str:
        """The name, else one such as the API server makes of generateName; empty if there is neither.

        The server keeps 58 characters and adds five (apiserver v0.36, pkg/storage/names/generate.go).
        """
        prefix = self.metadata.get("generateName")
        return self.name or (f"{prefix[:58]}x2x2x" if isinstance(prefix, str) and prefix else "")

    @property
    def name_path(self) -> Path:
        """The path to the name, or to `generateName`."""
        return "metadata", "generateName" if self.server_name and not self.name else "name"

    @cached_property
    def namespace(self) -> str:
        """The namespace as written; empty if none is."""
        return str(self.metadata.get("namespace", ""))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels that are strings."""
        return texts(self.metadata.get("labels"))

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The annotations that are strings."""
        return texts(self.metadata.get("annotations"))

    @cached_property
    def is_known(self) -> bool:
        """Whether the kind is of the API group that rules mean by it."""
        if self.kind in ("Kustomization", "Component") and "apiVersion" not in self.data:
            return True
        return GROUP_OF.get(self.kind, self.group) == self.group

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pod templates of the object."""
        if not self.is_known:
            return ()
        return pods_of(self.data, self.kind)

    @cached_property
    def containers(self) -> tuple[tuple[Path, dict[str, Any]], ...]:
        """The containers of all pods with their paths, those of each template before its init containers."""
        return tuple(chain.from_iterable((*pods.containers, *pods.init_containers) for pods in self.pods))

    @cached_property
    def holders(self) -> tuple[tuple[Path, dict[str, Any], Pods | None], ...]:
        """(path, metadata, pods) of the object, its Jobs and its pod templates; pods of these alone."""
        holders: list[tuple[Path, dict[str, Any], Pods | None]] = [(("metadata",), self.metadata, None)]
        for pods in self.pods:
            if pods.job_path and self.kind != "Job":
                holders.append(((*pods.job_path[:-1], "metadata"), pods.job_metadata, None))
            if pods.path:
                holders.append(((*pods.path, "metadata"), mapping(pods.template.get("metadata")), pods))
        return tuple(holders)

    @property
    def subject(self) -> str:
        """What a report calls the object: `Kind namespace/name`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()

    def problem(
        self,
        ident: str,
        path: Path,
        message: str,
        hint: str = "",
        *,
        severity: Severity = "error",
        key: bool = False,
        fix: Fix | None = None,
    ) -> Problem:
        """Return a problem at a path of this object; `key` points at the key instead of the value."""
        line, column = self.source.places.of((*self.at, *path), key=key) if self.source else (0, 0)
        mend = fix.within(self.source.document.index, self.at) if fix and self.source else None
        return Problem(ident, message, hint, severity, self.file, line, column, self.subject, path, fix=mend)

    def placed(self, problem: Problem) -> Problem:
        """Return a problem found in this object's data with its place in the file."""
        return self.problem(
            problem.id,
            problem.path,
            problem.message,
            problem.hint,
            severity=problem.severity,
            key=problem.is_about_key,
            fix=problem.fix,
        )


class ObjectSet:
    """The objects that rules see together, and their context.

    They are the objects of a cluster, or those of a scope: what one kustomization builds, or one folder.
    Objects `beyond` a scope may be on another cluster, so several may have the same name.
    """

    def __init__(
        self,
        resources: Iterable[Resource],
        catalogue: Catalogue,
        site: ResolvedCluster | None = None,
        beside: Iterable[Resource] = (),
        *,
        beyond: ObjectSet | None = None,
        as_written: Sequence[Resource] = (),
        is_cluster: bool = True,
    ) -> None:
        """Take the objects, the TPU catalogue, the TPUCluster if there is one, and the objects `beside` them.

        Those are the objects in custom/ for all clusters: others can refer to them. A scope also takes the
        objects of all scopes. `as_written` are the objects before samples replaced their placeholders.
        """
        self.beside = tuple(beside)
        self.all = tuple(resources)
        self._as_written = as_written or self.all
        self.catalogue = catalogue
        self.site = site
        self.is_cluster = is_cluster and beyond is None
        self.widest = beyond or self
        """The objects of all scopes; those of a cluster are alone."""
        self._results: dict[Hashable, Any] = {}

    @cached_property
    def _by_kind(self) -> dict[str, list[Resource]]:
        return grouped(self.all, lambda resource: resource.kind)

    @cached_property
    def _first(self) -> dict[tuple[str, str, str], Resource]:
        return {
            (resource.kind, resource.namespace or "default", resource.name): resource
            for resource in reversed(self.all)
        }

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Resource]]:
        return grouped(self.all, lambda resource: (resource.kind, resource.name))

    @cached_property
    def _by_file(self) -> dict[tuple[str, str, str], list[Resource]]:
        return grouped(self.all, lambda resource: (resource.kind, resource.name, resource.file))

    @cached_property
    def _unfinished(self) -> dict[str, list[Resource]]:
        """The objects with placeholders in their names, by kind."""
        unfinished = (one for one in self._as_written if pattern(one.name))
        return grouped(unfinished, lambda resource: resource.kind)

    def of_kind(self, kind: str) -> tuple[Resource, ...]:
        """Return the objects of a kind."""
        return tuple(self._by_kind.get(kind, ()))

    def with_beside(self, kind: str) -> tuple[Resource, ...]:
        """Return the objects of a kind, and then those in custom/."""
        return (*self.of_kind(kind), *(other for other in self.beside if other.kind == kind))

    def find(self, kind: str, name: str, namespace: str = "default") -> Resource | None:
        """Return an object by kind, name and namespace (`default` for cluster-scoped kinds)."""
        if self.is_cluster:
            return self._first.get((kind, namespace or "default", name))
        return next(iter(self.candidates(kind, name, namespace)), None)

    def candidates(self, kind: str, name: str, namespace: str = "", near: str = "") -> tuple[Resource, ...]:
        """Return the objects that a reference may mean: one of a cluster, all of the name in a scope.

        Those in the file `near` hide others. If a namespace is not written, an overlay, a tool or an
        option of kubectl may set any. A name with placeholders means what it can become; no name means none.
        """
        if not name:
            return ()
        if self.is_cluster:
            resource = self.find(kind, name, namespace)
            return () if resource is None else (resource,)
        if kind not in self._by_kind:
            return ()
        in_file = self._by_file.get((kind, name, near), ())
        meant = tuple(resource for resource in in_file if _means(resource, name, namespace))
        if not meant:
            meant = tuple(self.named(kind, name, namespace))
        return tuple(resource for resource in meant if resource.file == near) or meant

    def named(self, kind: str, name: str, namespace: str) -> Iterator[Resource]:
        """Return the objects with a name and a namespace, if the cluster is not known."""
        if pattern(name):
            resources: Iterable[Resource] = self._by_kind.get(kind, ())
        else:
            resources = chain(self._by_name.get((kind, name), ()), self._unfinished.get(kind, ()))
        return (resource for resource in resources if _means(resource, name, namespace))

    def has(self, kind: str, name: str, namespace: str | None = None) -> bool:
        """Tell whether a name may be that of an object here, or of one beyond; None for any namespace."""
        if pattern(name):
            return True
        if not self.is_cluster:
            return any(True for _ in self.widest.named(kind, name, namespace or ""))
        if any(_means(one, name, namespace or "") for one in self._unfinished.get(kind, ())):
            return True
        if namespace is None:
            return bool(self._by_name.get((kind, name)))
        return self.find(kind, name, namespace) is not None

    def misses(self, kind: str, name: str, beside: Resource) -> bool:
        """Tell whether an object that is not among these is missing, and not only elsewhere.

        All objects of a cluster are here. A build or a file that has others of the kind has its own. A name
        of which a letter or two are not those of another is misspelt.
        """
        known = self.of_kind(kind)
        if self.is_cluster or any(resource.file == beside.file for resource in known):
            return True
        meant, is_sure = only_near(name, [resource.name for resource in known])
        return is_sure and not are_both_meant(name, meant)

    def is_platform(self, resource: Resource) -> bool:
        """Tell whether an object is rendered for the platform of the TPUCluster."""
        return self.site is not None and resource.file.startswith(platform_folder(self.site.cluster.name))

    def once(self, name: Hashable, make: Callable[[ObjectSet], Result]) -> Result:
        """Return what a function makes of these objects, made at its first use."""
        if name not in self._results:
            self._results[name] = make(self)
        result: Result = self._results[name]
        return result


def once(make: Callable[[ObjectSet], Result]) -> Callable[[ObjectSet], Result]:
    """Make a function of objects one that works once for each set of them."""
    return lambda objects: objects.once(make, make)


def grouped(resources: Iterable[Resource], key_of: Callable[[Resource], Key]) -> dict[Key, list[Resource]]:
    """Return objects by a key, in their order."""
    groups: dict[Key, list[Resource]] = defaultdict(list)
    for resource in resources:
        groups[key_of(resource)].append(resource)
    return groups


def _means(resource: Resource, name: str, namespace: str) -> bool:
    """Tell whether a reference may mean an object; a namespace that is not written may become any."""
    is_there = not namespace or not resource.namespace or may_be(resource.namespace, namespace)
    return is_there and may_be(resource.name, name)


class Finding(Struct, frozen=True):
    """Where an object breaks a rule, and how to correct it; an empty hint means the hint of the rule.

    What is not certain rests on what the files do not show: other objects, nodes, gates of a controller.
    Then an error is a warning.
    """

    path: Path
    message: str
    hint: str = ""
    fix: Fix | None = None
    is_certain: bool = True


Findings = Iterator[Finding]
"""What a check yields."""
Check = Callable[["Resource", "ObjectSet"], Iterable[Finding]]


class Rule(Struct, frozen=True):
    """One semantic rule. `slicewright rule ID` and the page of rules show its texts.

    `severity` is `error` if the API server (strict validation) or a controller refuses the object, or if it
    can never run. It is `warning` if defaulting or pruning makes the object acceptable, or if it is a trap,
    and `note` if no action is needed. The texts of slicewright's own rules are in `problems/rules/`, and
    empty here.
    """

    id: str
    severity: Severity
    title: str
    """One line: what is wrong."""
    why: str
    """What happens then, and who says so."""
    hint: str
    """What to write instead."""
    kinds: frozenset[str]
    """The kinds that the rule looks at; empty: all."""
    check: Check
    sources: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    """Messages of CEL rules of CRDs that report the same mistake, at the place of a finding or above."""


def rule(
    ident: str,
    kinds: Iterable[str] = (),
    severity: Severity = "error",
    *,
    hint: str = "",
    says: tuple[str, ...] = (),
) -> Callable[[Check], Rule]:
    """Make a check a rule of slicewright. Only a hint that a rehearsal needs too is given here."""
    return lambda check: Rule(ident, severity, "", "", hint, frozenset(kinds), check, says=says)


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """Return the rules of some modules, in the order in which they are written."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Rule))
