"""Input files -> workloads and sites: parsed, checked against their schemas, with every problem collected."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, resolve
from slicewright.document.document import values_in
from slicewright.document.read import read_documents
from slicewright.intent import matrix, tpudefaults
from slicewright.intent.source import Mended, Source, SourceFile, mended
from slicewright.intent.tpucluster import decode_cluster
from slicewright.intent.tpudefaults import Levels, defaults_problems
from slicewright.intent.tpuworkload import Workload, decode_workload, tpu_request
from slicewright.intent.validate import SCHEMA_OF, Schemas
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.problem import Problem, did_you_mean, errors
from slicewright.rendering.folder import NamespaceFolder
from slicewright.rendering.gitops.argocd import argocd_problems
from slicewright.rendering.kustomization import ReadText
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, resolve_cluster
from slicewright.rendering.platform.kueue_configuration import validate_configuration
from slicewright.rendering.platform.platform_files import workload_problems
from slicewright.rendering.platform.validate_platform import platform_problems, problems_between
from slicewright.rendering.provision import project_quota, validate_environment, validate_node_pools

Documents = dict[tuple[str, int], Any]
"""Documents that replace those of the files, by file and index."""
_UNKNOWN_ACCELERATOR = "TPU001"


class Settings(Struct, frozen=True):
    """slicewright.yaml: what holds for the whole repository."""

    end_runs: int = 3
    """The most runs that one render ends without being told to."""


class Package(Struct, frozen=True):
    """The data of the package, read once."""

    version: str
    catalogue: Catalogue
    schemas: Schemas
    health: Mapping[str, str]
    """Health checks for Argo CD, in Lua, by `<group>_<Kind>`."""
    releases: Mapping[str, str]
    """Digests of the manifests of controllers, by the names of their folders, such as `kueue-v0.19.2`."""
    provision: Mapping[str, str]
    """Files of `provision/<cluster>/` that are equal for all clusters, by name."""
    hint_of: Callable[[str], str] = str
    """Returns the hint of a rule by its id; the texts are read when a rule is broken."""


class Repository(Struct, frozen=True):
    """A repository's input, checked."""

    package: Package
    settings: Settings
    workloads: tuple[Workload, ...]
    sites: dict[str, ResolvedCluster]
    read_text: ReadText
    """Reads a file of the tree, for bases and components."""
    problems: tuple[Problem, ...] = ()
    refused_clusters: frozenset[str] = frozenset()
    """Clusters whose files have errors: workloads that name them get no problem for it."""
    parts: tuple[Mended, ...] = ()
    """Documents that are valid in part: problems that follow from the invalid part are not reported."""
    levels: Levels = field(default_factory=Levels)
    """The TPUDefaults; `workloads` have those that apply on the first of their clusters."""
    shared: Mapping[NamespaceFolder, Sequence[Source]] = field(default_factory=dict)
    """The objects that the runs of a namespace share."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The documents of the workloads, of the clusters, of the defaults and of what is shared."""
        clusters = (site.cluster.source for site in self.sites.values())
        documents = (defaults.source for defaults in self.levels.documents)
        shared = (source for sources in self.shared.values() for source in sources)
        return (*(workload.source for workload in self.workloads), *clusters, *documents, *shared)

    def on(self, workload: Workload, cluster: str) -> Workload:
        """Return a workload with the defaults that apply to it on one of its clusters."""
        return _on(workload, cluster, self.levels)


def _on(workload: Workload, cluster: str, levels: Levels) -> Workload:
    clusters = (cluster, workload.clusters[0])
    own, first = (levels.chain(name, workload.namespace) for name in clusters)
    if own == first:
        return workload
    return decode_workload(levels.applied(workload.source.written, cluster))


def _elastic_on(workload: Workload, levels: Levels) -> Iterator[str]:
    """Yield the clusters on which a workload is an elastic Pathways."""
    if not workload.pathways:
        return
    for name in workload.clusters:
        runtime = _on(workload, name, levels).pathways
        if runtime is not None and runtime.elastic_slices:
            yield name


def causes(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems without unknown accelerators if a file of catalog/ is wrong: it may declare them."""
    is_incomplete = any(problem.file.startswith("catalog/") for problem in errors(problems))
    unsure = _UNKNOWN_ACCELERATOR if is_incomplete else ""
    return tuple(problem for problem in problems if problem.id != unsure)


def read_repository(
    files: Iterable[SourceFile],
    settings: Settings,
    package: Package,
    read_text: ReadText,
    changed: Documents | None = None,
) -> Repository:
    """Return the repository that some input files make; its problems are complete, never raised.

    Documents in `changed` replace those of the files.
    """
    problems: list[Problem] = []
    documents: list[tpudefaults.Defaults] = []
    entries: list[Source] = []
    sites: dict[str, ResolvedCluster] = {}
    refused_clusters: set[str] = set()
    parts: list[Mended] = []
    refused: list[Problem] = []
    sources = sorted(_sources(files, problems, changed or {}), key=lambda source: not _is_defaults(source))
    raw = [source.data for source in sources if _is_defaults(source)]
    for original in sources:
        schema = _schema_of(original, problems)
        if schema is None:
            continue
        layers = raw if _is_defaults(original) else [document.layer.data for document in documents]
        checked = tpudefaults.checkable(original, layers) if layers else original
        refusals = against_schema(checked, schema, package.schemas)
        refusals = refusals or tuple(_whole_floats(checked, checked.data))
        refused += refusals
        source = _mended(checked, refusals, schema, package.schemas, parts) if refusals else original
        if source is None:
            problems += _tpu_refusal(original, package.catalogue)
            refused_clusters |= _cluster_name(original)
            continue
        if _is_defaults(source):
            documents.append(tpudefaults.decode(source))
            continue
        if source.data["kind"] == "TPUWorkload":
            expanded, wrong = matrix.expand(source)
            problems += wrong
            entries += expanded
            if parts and parts[-1].source is source:
                parts += [replace(parts[-1], source=entry) for entry in expanded if entry.sweep]
            continue
        site, unresolved = resolve_cluster(decode_cluster(source), package.catalogue)
        problems += unresolved
        problems += map(source.placed, validate_configuration(source.data["spec"], package.schemas))
        first = sites.setdefault(site.cluster.name, site)
        if first is not site:
            problems.append(_duplicate(source, first.cluster.source))
    clusters = [site.cluster for site in sites.values()]
    levels = Levels(documents, clusters)
    applied = (levels.applied(entry, entry.data["spec"]["clusters"][0]) for entry in entries)
    workloads = tuple(map(decode_workload, applied))
    elastic = {name for workload in workloads for name in _elastic_on(workload, levels)}
    sites = {name: replace(site, has_elastic_runs=name in elastic) for name, site in sites.items()}
    problems += defaults_problems(documents, clusters, refused_clusters, workloads)
    problems += identities(workloads)
    problems += _platform_problems(sites, workloads, package.catalogue)
    problems += argocd_problems(sites.values())
    certain = (problem for problem in problems if not any(part.follows(problem) for part in parts))
    return Repository(
        package,
        settings,
        workloads,
        sites,
        read_text,
        (*refused, *certain),
        frozenset(refused_clusters),
        tuple(parts),
        levels,
    )


def _is_defaults(source: Source) -> bool:
    return isinstance(source.data, dict) and source.data.get("kind") == "TPUDefaults"


def _platform_problems(
    sites: Mapping[str, ResolvedCluster], workloads: Iterable[Workload], catalogue: Catalogue
) -> Iterator[Problem]:
    """Yield the problems of each platform, of all platforms together, and of their workloads."""
    for site in sites.values():
        yield from platform_problems(site)
        yield from validate_node_pools.problems(site, catalogue)
    yield from problems_between(sites.values())
    yield from validate_environment.problems_between(sites.values())
    yield from project_quota.problems_between(sites.values(), catalogue)
    yield from workload_problems(sites, workloads)


def _mended(
    source: Source, refusals: Iterable[Problem], schema: str, schemas: Schemas, parts: list[Mended]
) -> Source | None:
    """Return a document if enough of it is valid, and note whether parts are left out."""

    def accepts(data: Any) -> bool:
        return schemas.accepts(schema, data) and not any(_whole_floats(source, data))

    part = mended(source, refusals, accepts)
    if part is None or (source.data["kind"] == "TPUCluster" and not part.tells_of_workloads()):
        return None
    if part.removed:
        parts.append(part)
    return part.source


def _whole_floats(source: Source, data: Any) -> Iterator[Problem]:
    """Refuse 2.0 and 1e3: JSON Schema takes them for integers, and the API server does not.

    What a matrix has under `env` is the text of a variable.
    """
    for path, value in values_in(data):
        is_text = path[:2] == ("spec", "matrix") and "env" in path
        if isinstance(value, float) and value.is_integer() and not is_text:
            yield source.problem(
                "IN001", path, f"the number {value} must be written as an integer", f"write {int(value)}"
            )


def against_schema(source: Source, schema: str, schemas: Schemas) -> tuple[Problem, ...]:
    """Return the problems of a document by its schema, with their places."""
    return tuple(source.placed(problem) for problem in schemas.problems(schema, source.data))


def _cluster_name(source: Source) -> set[str]:
    name = at(source.data, "metadata", "name")
    return {name} if source.data["kind"] == "TPUCluster" and isinstance(name, str) else set()


def _sources(files: Iterable[SourceFile], problems: list[Problem], changed: Documents) -> Iterator[Source]:
    for file in files:
        documents, unread = read_documents(file.text, file.path)
        problems += unread
        if not documents and not unread:
            hint = "add a document, or delete the file to end all that it declared"
            problems.append(Problem("IN008", "the file contains no document", hint, file=file.path))
        for document in documents:
            data = changed.get((file.path, document.index), document.data)
            yield Source(file, replace(document, data=data))


def _schema_of(source: Source, problems: list[Problem]) -> str | None:
    """Return the schema of a document's kind, or note why there is none."""
    data = source.data
    if not isinstance(data, dict):
        problems.append(source.problem("IN007", (), "a document must be a mapping with apiVersion and kind"))
        return None
    kind, version = data.get("kind"), data.get("apiVersion")
    if not isinstance(kind, str) or kind not in SCHEMA_OF:
        message = "'kind' is missing" if kind is None else f"unknown kind '{kind}'"
        if kind is not None and not isinstance(kind, str):
            message = "'kind' must be a string"
        problems.append(source.problem("IN007", ("kind",), message, did_you_mean(str(kind), SCHEMA_OF)))
        return None
    if version != SLICEWRIGHT_VERSION:
        message = "'apiVersion' is missing" if version is None else f"apiVersion '{version}' is not known"
        problems.append(source.problem("IN007", ("apiVersion",), message, f"write {SLICEWRIGHT_VERSION}"))
        return None
    return SCHEMA_OF[kind]


def _tpu_refusal(source: Source, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield problems of the TPU of a workload that its schema refuses: one command shows all problems."""
    tpu = at(source.data, "spec", "tpu")
    if isinstance(tpu, str):
        answer = resolve(catalogue, tpu_request(tpu))
        if isinstance(answer, Refusal):
            yield source.problem(answer.id, ("spec", "tpu"), answer.message, answer.hint)


def _duplicate(source: Source, first: Source) -> Problem:
    line, _ = first.places.of(("metadata", "name"))
    hint = f"the first one is at {first.file.path}:{line}"
    return source.problem("NAME002", ("metadata", "name"), f"{source.subject} is declared twice", hint)


def identities(workloads: Iterable[Workload]) -> Iterator[Problem]:
    """Yield a problem for each duplicate (cluster, namespace, name), those of sweeps too."""
    taken: dict[tuple[str, str], Workload] = {}
    for workload in workloads:
        for index, cluster in enumerate(workload.clusters):
            for name in dict.fromkeys((workload.declared, workload.key)):
                first = taken.setdefault((cluster, name), workload)
                if first.source.is_beside(workload.source):
                    continue
                line, _ = first.source.places.of(("metadata", "name"))
                message = f"workload '{name}' is declared twice for cluster '{cluster}'"
                hint = f"the first one is at {first.source.file.path}:{line}; names are unique in a namespace"
                yield workload.source.problem("NAME002", ("spec", "clusters", index), message, hint)
