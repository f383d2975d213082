"""The existing tree: the files that slicewright wrote, the frozen runs, and the live runs.

A frozen run that was rendered while the cluster had its shape with one kind of provisioning does not tolerate
the taint of its flavor. If it is evicted, or is not admitted yet, Kueue would never admit it to a flavor
that has one. So the taint waits until such runs are over.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.document.document import values_in
from slicewright.document.read import read_documents
from slicewright.intent.tpucluster import ClusterQueue
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Provisioning
from slicewright.kubernetes.labels import (
    COMPUTE_CLASS,
    FLEX_START,
    PROVISIONING,
    QUEUE,
    RESERVATION,
    SPOT,
    SWEEP,
)
from slicewright.kubernetes.problem import Path, Problem, first_of
from slicewright.rendering import header
from slicewright.rendering.folder import run_folder
from slicewright.rendering.header import FILES
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.plan.placement import provisioning_selector, shape_selector
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import fits
from slicewright.rendering.plans import Planned
from slicewright.rendering.platform.flavor import TpuCapacity, capacities, kept_apart

PATCH = ".patch.yaml"
"""Suffix of the patches of a Fixed overlay."""

_SWEEP = re.compile(
    rf"{re.escape(SWEEP).replace('/', '(?:/|~1)')}(?:|\n +value): \"?([-a-z0-9]+)\"?$", re.MULTILINE
)
"""The label of an entry of a sweep, in an object and in a patch as we write them."""
_BROKEN = header.Frozen(tool="", intact=False)
"""A frozen run with a broken header: it is still a run, and no render may write it again."""


class Existing:
    """The files under overlays/ and provision/, read for what slicewright wrote there."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the text of every file by its path from the root."""
        self.texts = texts
        self.folders: dict[str, list[str]] = defaultdict(list)
        """The files that are ours, by folder."""
        self.frozen: dict[str, header.Frozen] = {}
        """The frozen runs, live or not."""
        for path, text in texts.items():
            if not header.is_ours(text):
                continue
            folder, name = posixpath.split(path)
            self.folders[folder].append(path)
            if name not in (FILE_NAME, FILES) and not name.endswith(PATCH) and run_folder(folder):
                self.frozen[path] = header.read_frozen(text) or _BROKEN

    def is_ours(self, path: str) -> bool:
        """Tell whether slicewright wrote the file at a path."""
        return path in self.folders.get(posixpath.dirname(path), ())

    def is_foreign(self, path: str) -> bool:
        """Tell whether a file exists that slicewright did not write."""
        return path in self.texts and not self.is_ours(path)

    def body(self, path: str) -> str | None:
        """Return the content of a file below its header, or None."""
        text = self.texts.get(path, "")
        return header.body_of(text) if text.count("\n") > 1 else None

    def sweep_of(self, folder: str) -> str:
        """Return the sweep that a workload's folder belongs to, from the labels of its runs; '' for none."""
        labels = (_SWEEP.search(self.texts[path]) for path in self.folders.get(folder, ()))
        return next((label[1] for label in labels if label), "")

    def is_overlay(self, folder: str) -> bool:
        """Tell whether a folder holds a Fixed workload's overlay: then its kustomization names a base."""
        return any(entry.startswith("../") for entry in self._resources(folder) or ())

    def live_runs(self, folder: str) -> list[str]:
        """Return the files of the runs that a folder lists.

        A frozen run that the list does not name was left by a render that was interrupted: it never was
        live. If the list is missing, or cannot be read (markers of a merge conflict), all of them are.
        """
        resources = self._resources(folder)
        if resources is None:
            return sorted(path for path in self.folders.get(folder, ()) if path in self.frozen)
        runs = (entry for entry in resources if not entry.startswith("../") and entry != FILES)
        return sorted(f"{folder}/{entry}" for entry in runs)

    def _resources(self, folder: str) -> list[str] | None:
        documents, problems = read_documents(self.texts.get(f"{folder}/{FILE_NAME}", ""), "")
        if problems or len(documents) != 1 or not isinstance(documents[0].data, dict):
            return None
        entries = documents[0].data.get("resources") or []
        return [str(entry) for entry in entries] if isinstance(entries, list) else None


def reused(existing: Existing, path: str, entry: Planned) -> Iterator[Problem]:
    """Yield a problem if the frozen run at a path was rendered from another intent with the same id."""
    frozen = existing.frozen[path]
    if frozen.intent and frozen.intent != entry.plan.intent:
        message = f"this intent has the id of the run in {path}, which was rendered from another intent"
        hint = "write another value of 'run': slicewright rerun NAME"
        yield entry.workload.source.problem("RUN007", ("spec",), message, hint, key=True)


def missing(path: str) -> Problem:
    """Return the problem of a live run without a file.

    No render writes it again: the run of this name in the cluster may be a different one.
    """
    hint = f"restore it: git checkout -- {path}; or git add it in the checkout that rendered it, or start a "
    hint += "new run: slicewright rerun NAME"
    return Problem("RUN005", "the file of a live run is missing", hint, file=path)


def foreign(path: str) -> Problem:
    """Return the problem of a file that is in the place of one of ours."""
    message = "this file is in the place of a generated file, but slicewright did not write it"
    return Problem("TREE001", message, "move it to custom/, or delete it", file=path)


def lost(existing: Existing, path: str) -> Iterator[Problem]:
    """Yield a problem if a live run has no file, or something else is in its place."""
    if existing.is_foreign(path):
        yield foreign(path)
    elif path not in existing.texts and path in existing.live_runs(posixpath.dirname(path)):
        yield missing(path)


_WAYS = (SPOT, FLEX_START, COMPUTE_CLASS, RESERVATION)
"""Prefixes of the labels by which pods select a kind of provisioning."""
_DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue's webhook gives to runs without a queue, if their namespace has it."""
_SHOWN = 3


def locked_out(site: ResolvedCluster, existing: Existing, paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of frozen runs among some paths that a taint would lock out, by the flavor's name."""
    tainted = {
        name: capacity for name, capacity in kept_apart(site).items() if capacity.flavor.may_have_taint
    }
    waiting: dict[str, list[str]] = {}
    start = f"overlays/{site.cluster.name}/"
    if not tainted:
        return waiting
    for path in sorted(paths):
        text = existing.texts[path] if path in existing.frozen and path.startswith(start) else ""
        values = (values_in(document.data) for document in read_documents(text, path)[0])
        parts = [part for value in values for _, part in value if isinstance(part, dict)]
        if not text or any(part.get("key") == PROVISIONING for part in parts):
            continue
        local_queue = next((part[QUEUE] for part in parts if QUEUE in part), _DEFAULT_QUEUE)
        queue = site.cluster.queue_behind(local_queue, path.split("/")[2])
        for name in dict.fromkeys(capacity.flavor.name for capacity in _capacities(site, queue)):
            capacity = tainted.get(name)
            if capacity and _is_of(parts, capacity.shape) and _may_take(parts, capacity.pool.provisioning):
                waiting.setdefault(name, []).append(path)
    return waiting


def waiting_taints(site: ResolvedCluster, untainted: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Warn of each flavor whose taint waits for runs to end."""
    if not site.cluster.managed:
        return
    apart = kept_apart(site)
    for name, paths in untainted.items():
        runs = [posixpath.basename(path).removesuffix(".yaml") for path in paths]
        were, those = ("was", "that run is") if len(runs) == 1 else ("were", "those runs are")
        message = f"flavor '{name}' gets no taint yet: {first_of(runs, _SHOWN)} {were} rendered "
        message += f"without the toleration. Until {those} over, Kueue can count runs "
        message += "with another provisioning in it"
        hint = "wait until the runs are over and delete their workloads, "
        hint += "or start the runs again: slicewright rerun NAME"
        place: Path = ("spec", "pools", apart[name].pool.index, "name")
        yield site.cluster.source.problem("POOL051", place, message, hint, warning=True)


def untolerated_taint(entry: Planned, site: ResolvedCluster) -> Iterator[Problem]:
    """Refuse a new PathwaysJob if all flavors of its provisioning have a taint, which it cannot tolerate.

    Taints of other flavors keep it off them, as they should.
    """
    workload, shape = entry.workload, entry.plan.shape
    if entry.plan.pattern != "pathwaysjob" or not site.cluster.managed:
        return
    queue = site.cluster.queue_behind(workload.queue_name or _DEFAULT_QUEUE, workload.namespace)
    apart = kept_apart(site)
    own = [
        capacity
        for capacity in _capacities(site, queue)
        if capacity.shape == shape and any(fits(way, capacity.pool.provisioning) for way in workload.ways)
    ]
    if own and all(capacity.flavor.name in apart and capacity.flavor.may_have_taint for capacity in own):
        name, pool = own[0].flavor.name, own[0].pool.name
        message = f"flavor '{name}' of the queue has a taint, but a PathwaysJob cannot tolerate it"
        hint = f"{DIRECT_JOBSET}, or flavorTaint: false in pool "
        hint += f"'{pool}' of {site.cluster.source.file.path}"
        yield workload.source.problem("REF152", ("spec", "api"), message, hint)


def _capacities(site: ResolvedCluster, queue: ClusterQueue | None) -> list[TpuCapacity]:
    """Return the TPU pools of a queue in the order in which Kueue tries their flavors."""
    known = capacities(site)
    pools = [known.get(quota.pool) for quota in queue.quota] if queue else []
    return [capacity for capacity in pools if isinstance(capacity, TpuCapacity)]


def _may_take(parts: list[dict[str, Any]], way: Provisioning) -> bool:
    """Tell whether a frozen run may have been admitted to the flavor of a kind of provisioning.

    A PathwaysJob tolerates no taint: it was admitted only to its own kind.
    """
    if not any(part.get("kind") == "PathwaysJob" for part in parts):
        return True
    own = {key: value for part in parts for key, value in part.items() if str(key).startswith(_WAYS)}
    labels = provisioning_selector(way)
    return own.items() <= labels.items() and bool(own) == bool(labels)


def _is_of(parts: list[dict[str, Any]], shape: Shape) -> bool:
    """Tell whether pods of a frozen run select a shape; workers of a PathwaysJob name its machine type."""
    of_worker = {"type": shape.machine_type, "topology": shape.topology}
    selectors = (shape_selector(shape), of_worker)
    return any(selector.items() <= part.items() for selector in selectors for part in parts)
