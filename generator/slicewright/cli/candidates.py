"""Candidates for the completion of a shell: names, read without checks; what is broken gives none."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source
from slicewright.core.kubernetes.read import entries, mapping, text
from slicewright.core.problem import Problem
from slicewright.core.problem import selectors as selectors_of
from slicewright.workspace.package import package
from slicewright.workspace.repository_reader import NoRepositoryError, catalogue_at, find_root, source_files

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


_NAME = re.compile("(?:[a-z0-9][-.a-z0-9]*/)?[A-Za-z0-9][-.A-Za-z0-9]*")
"""Names of Kubernetes, names of the catalogue, and ids: a shell obeys none of their characters."""


def _complete(names: Callable[[str], Iterable[str]]) -> Complete:
    """Return what click calls: the names that begin with the word, in order.

    Files of the repository may have other names. They are left out: the shell would run `a$(b)`.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
        try:
            return sorted({name for name in names(word) if name.startswith(word) and _NAME.fullmatch(name)})
        except (NoRepositoryError, OSError):
            return []

    return complete


def _sources(folder: str, kind: str) -> Iterator[Source]:
    """Yield the documents of a kind in a folder of the repository."""
    problems: list[Problem] = []
    for file in source_files(find_root(Path()), (folder,), problems):
        for document in read_documents(file.text, file.path)[0]:
            if mapping(document.data).get("kind") == kind:
                yield Source(file, document)


def _documents(folder: str, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield metadata and spec of the documents of a kind in a folder of the repository."""
    for source in _sources(folder, kind):
        yield mapping(source.data.get("metadata")), mapping(source.data.get("spec"))


@_complete
def workloads(word: str) -> Iterator[str]:
    """Yield names, and `namespace/name` where a word or a second workload of the name asks for it.

    With a slash, a word begins a namespace, or the entry of a sweep.
    """
    names: dict[str, list[str]] = {}
    for metadata, _ in _documents("workloads", "TPUWorkload"):
        names.setdefault(text(metadata.get("name")), []).append(text(metadata.get("namespace")) or "default")
    if "/" in word:
        yield from _sweep_entries(word.partition("/")[0])
    for name, namespaces in names.items():
        if "/" in word or len(namespaces) > 1:
            yield from (f"{namespace}/{name}" for namespace in namespaces)
        else:
            yield name


def _sweep_entries(name: str) -> Iterator[str]:
    # Commands import this module for their options, and start without what only a shell's question needs.
    from slicewright.core.intent.matrix import expand  # noqa: PLC0415
    from slicewright.core.render.repository import SCHEMA_OF, against_schema  # noqa: PLC0415

    for source in _sources("workloads", "TPUWorkload"):
        is_meant = mapping(source.data.get("metadata")).get("name") == name
        if is_meant and not against_schema(source, SCHEMA_OF["TPUWorkload"], package().schemas):
            yield from (f"{name}/{entry.sweep.entry}" for entry in expand(source)[0] if entry.sweep)


@_complete
def clusters(_word: str) -> Iterator[str]:
    """Return the names of the TPUClusters."""
    return (text(metadata.get("name")) for metadata, _ in _documents("clusters", "TPUCluster"))


cluster_option = partial(click.option, metavar="CLUSTER", shell_complete=clusters)


@_complete
def queues(_word: str) -> Iterator[str]:
    """Yield the LocalQueues of all clusters."""
    for _, spec in _documents("clusters", "TPUCluster"):
        for _, cluster_queue in entries(spec.get("clusterQueues")):
            for _, queue in entries(cluster_queue.get("localQueues")):
                yield text(queue.get("name"))


def _tpus(_word: str) -> Iterator[str]:
    return (name for row in catalogue_at(Path())[0].rows("listed") for name in row.names)


tpus = _complete(_tpus)


@_complete
def catalogue_names(word: str) -> Iterator[str]:
    """Yield generations, accelerators, machine types and TPU names."""
    for row in catalogue_at(Path())[0].rows("listed"):
        yield from (row.generation, row.accelerator, row.machine_type)
    yield from _tpus(word)


def _ids(_word: str) -> Iterator[str]:
    from slicewright.workspace.meaning import ids  # noqa: PLC0415 - only `rule` needs it, which has it

    return ids()


ids, selectors = _complete(_ids), _complete(lambda word: selectors_of(_ids(word)))
