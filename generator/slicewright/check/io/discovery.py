"""Finds what to check below some paths: files, and folders that are checked as kustomize builds them."""

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.check.io.kustomizations import FILE_NAMES, Kustomizations
from slicewright.check.passed_by import (
    CHART,
    COMPONENT,
    HELM,
    HELM_FOLDERS,
    LINK,
    OUR_BASES,
    PATCH,
    TEMPLATE,
    PassedBy,
    is_template,
    reason_of_folder,
)
from slicewright.check.units import Form, Unit
from slicewright.document.io import SPELLING, read_file, unreadable
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.folder import BASES, SETTINGS
from slicewright.rendering.kustomization import FILE_NAME

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
_IN_TREE = re.compile(r"(?P<root>.*)/overlays/(?P<cluster>[^/]+)/")


class Targets(Struct):
    """The units below some paths, and the problems of paths that could not be read."""

    units: list[Unit] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    """Folders from which nothing was left out, as reports name them; '' is all of a repository."""
    passed_by: list[PassedBy] = field(default_factory=list)

    @property
    def clusters(self) -> set[str]:
        """The clusters whose trees the paths lead to."""
        return {unit.cluster for unit in self.units if unit.cluster}

    def join(self, cluster: str, beside: Iterable[Unit] = ()) -> None:
        """Add the units without a cluster to a cluster, and read the units that they may refer to there."""
        self.units = [
            unit if unit.cluster else replace(unit, cluster=cluster, joins=True) for unit in self.units
        ]
        paths = {unit.path for unit in self.units}
        self.units += (replace(unit, beside=True) for unit in beside if unit.path not in paths)


class Discovery:
    """Walks through paths; links to folders are not followed, and hidden folders are skipped."""

    def __init__(self, exclude: Iterable[str] = (), base: Path | None = None, *, helm: bool = False) -> None:
        """Take patterns of what to leave out, and the folder that reported names are relative to."""
        self._helm = helm
        self._base = str((base or Path.cwd()).absolute())
        # `./site` and `site/` are other spellings of `site`.
        joined = ((os.path.normpath(os.path.join(self._base, path)), path) for path in exclude)  # noqa: PTH118
        self._exclude = {self.name(whole): path for whole, path in joined}
        self._unused = set(self._exclude)
        self._has_walked = False
        self._kustomizations = Kustomizations()
        self._repositories: dict[str, bool] = {}
        self._components: set[str] = set()

    def find(self, paths: Iterable[str], cluster: str = "") -> Targets:
        """Return what is to be read for the paths that a user gives."""
        targets = Targets()
        for path in paths:
            if path == STDIN:
                is_ours = self._is_in_repository(str(Path.cwd()))
                targets.units.append(Unit("stdin", "", "stdin", cluster, named=True, in_repository=is_ours))
            elif path:
                self._path(_straight(path), targets, cluster)
            else:  # a shell variable that is not set: the current folder is not meant
                problem = Problem("FILE001", "an empty path was given", "name a file or a folder")
                targets.problems.append(problem)
        if self._has_walked:
            for pattern in sorted(self._unused):
                message = f"--exclude {self._exclude[pattern]} matches no folder or YAML file below the paths"
                hint = "look at the spelling, or leave it out"
                targets.problems.append(Problem("IGN105", message, hint, "warning"))
        return _without_included(targets, self._kustomizations, self._components)

    def _path(self, path: Path, targets: Targets, cluster: str) -> None:
        name = self.name(path)
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except OSError as error:  # no permission to enter a folder on the way
            targets.problems.append(unreadable(name, error))
            return
        if is_folder:
            targets.whole += () if self._exclude else (name,)
            self._folder(path, targets, cluster)
        elif not exists:
            targets.problems.append(Problem("FILE001", "no such file or folder", SPELLING, file=name))
        elif self._kustomizations.is_kustomization(path):
            targets.units.append(self._kustomization(str(path.parent), cluster, named=True))
        else:
            targets.units.append(self._unit("file", str(path), name, cluster, named=True))

    def _folder(self, folder: Path, targets: Targets, cluster: str) -> None:
        def report(error: OSError) -> None:
            targets.problems.append(unreadable(self.name(error.filename or str(folder)), error))

        inside = chart = outer = ""
        self._has_walked = True
        top = os.path.realpath(folder)
        in_charts: Counter[str] = Counter()
        for base, folders, names in os.walk(folder, onerror=report):
            folders[:] = sorted(name for name in folders if not self._is_left_out(base, name, folder=True))
            if SETTINGS in names and BASES in folders:  # fields of the bases wait for those of runs
                folders.remove(BASES)
                targets.passed_by.append(PassedBy(self.name(f"{base}/{BASES}"), OUR_BASES))
            for name in tuple(folders):
                if why := reason_of_folder(name, names):
                    folders.remove(name)
                    targets.passed_by.append(PassedBy(self.name(f"{base}/{name}"), why))
            for name in folders:
                if os.path.islink(path := f"{base}/{name}") and not _is_below(os.path.realpath(path), top):  # noqa: PTH114
                    targets.passed_by.append(PassedBy(self.name(path), LINK))
            if not _is_below(base, inside):
                inside = ""
            kind = "" if FILE_NAMES.isdisjoint(names) else self._kustomizations.kind_of(base)
            if kind == "Kustomization":
                targets.units.append(self._kustomization(base, cluster))
            if kind == "Component":
                self._components.add(base)
            if kind == "Component" and base == str(folder):
                message = "a Component is checked through the kustomizations that include it"
                hint = "name a kustomization that includes it"
                targets.problems.append(Problem("KUS012", message, hint, file=self.name(folder)))
            if kind:
                inside = inside or base
            if CHART in names and base == str(folder):
                outer = base
            if not _is_below(base, chart):
                chart = outer
            is_read = _is_below(base, chart) and (chart != outer or _is_of_helm(base, chart))
            if CHART in names and not is_read:  # beside what Helm reads of the chart at the path
                chart, is_read = base, True
            if is_read:
                in_charts[chart] += len(names)
                continue
            shown = self.name(base)
            for name in sorted(names):
                if name.endswith(SUFFIXES) and not self._is_left_out(base, name):
                    called = name if shown == "." else f"{shown}/{name}"
                    unit = self._unit("file", f"{base}/{name}", called, cluster, inside=bool(inside))
                    targets.units.append(unit)
                elif is_template(name) and not self._is_left_out(base, name):
                    targets.passed_by.append(PassedBy(self.name(f"{base}/{name}"), TEMPLATE))
        for path, files in in_charts.items():
            if self._helm and not _is_library(path):
                targets.units.append(self._unit("chart", path, self.name(path), cluster))
            else:
                targets.passed_by.append(PassedBy(self.name(path), HELM, files))

    def _kustomization(self, folder: str, cluster: str, *, named: bool = False) -> Unit:
        cluster = cluster or self._cluster(folder)
        return self._unit("folder", folder, self.name(folder), cluster, named=named)

    def _unit(
        self, form: Form, path: str, name: str, cluster: str, *, named: bool = False, inside: bool = False
    ) -> Unit:
        folder = path.rpartition("/")[0] if form == "file" else path
        return Unit(form, path, name, cluster, named, self._is_in_repository(folder), inside)

    def _cluster(self, folder: str) -> str:
        """Return the cluster of a folder in a repository's tree: two clusters may name their queues alike."""
        place = _IN_TREE.match(f"{folder}/")
        return place["cluster"] if place and _has_settings(place["root"]) else ""

    def _is_in_repository(self, folder: str) -> bool:
        """Tell whether a folder is in a repository of ours: all of its objects are judged."""
        if folder not in self._repositories:
            above = os.path.dirname(folder)  # noqa: PTH120 - a text
            is_below = above != folder and self._is_in_repository(above)
            self._repositories[folder] = is_below or _has_settings(folder)
        return self._repositories[folder]

    def _is_left_out(self, base: str, name: str, *, folder: bool = False) -> bool:
        path = self.name(f"{base}/{name}") if self._exclude else ""
        patterns = {
            pattern
            for pattern in self._exclude
            if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(name, pattern)
        }
        self._unused -= patterns
        # Ignore files, and what macOS writes beside a file.
        return bool(patterns) or name.startswith("." if folder else (".slicewright-", "._"))

    def name(self, path: Path | str) -> str:
        """Return what a report calls a path: relative if it is below the base, else as it is."""
        text = os.fspath(path)
        if text == self._base:
            return "."
        return text.removeprefix(self._base.rstrip("/") + "/")


def _has_settings(folder: str) -> bool:
    return os.path.isfile(f"{folder}/{SETTINGS}")  # noqa: PTH113 - a text


def _is_below(folder: str, above: str) -> bool:
    return bool(above) and f"{folder}/".startswith(f"{above}/")


def _is_library(chart: str) -> bool:
    """Tell whether a chart is only a library of templates, which makes no object."""
    text = read_file(f"{chart}/{CHART}", chart)
    return isinstance(text, str) and re.search(r"^type: *[\"']?library", text, re.MULTILINE) is not None


def _is_of_helm(folder: str, chart: str) -> bool:
    """Tell whether Helm reads a folder of a chart; a repository may be a chart and hold more."""
    return folder == chart or folder.removeprefix(f"{chart}/").partition("/")[0] in HELM_FOLDERS


def _straight(path: str) -> Path:
    """Return an absolute path without `..`, unless a link makes that another file."""
    absolute = os.path.abspath(path)  # noqa: PTH100 - a Path keeps ..
    try:
        same = os.path.samefile(path, absolute)  # noqa: PTH121 - of texts
    except OSError:
        same = False
    return Path(absolute) if same else Path(path).absolute()


def _without_included(targets: Targets, kustomizations: Kustomizations, components: set[str]) -> Targets:
    """Leave out what kustomizations build upon, which is checked through them, and files that they merge.

    A component that none of them includes merges its files too.
    """
    folders = {unit.path for unit in targets.units if unit.form == "folder"}
    included = {path for folder in folders for path in kustomizations.included_by(folder)}
    named = [entry for folder in folders | included for entry in kustomizations.named_by(folder)]
    merged = {path for path, is_resource in named if not is_resource}
    merged |= {path for folder in components - included for path in kustomizations.merged_by(folder)}
    built = {path for path, _ in named}
    built |= {f"{folder}/{name}" for folder in folders | included for name in FILE_NAMES}
    kept: dict[tuple[str, str], Unit] = {}
    for unit in targets.units:
        key = (unit.form, unit.path)
        if (unit.form == "folder" and not unit.named and unit.path in included) or (
            unit.inside and unit.path in built
        ):
            continue
        if unit.form == "file" and unit.folder in components and unit.path.rpartition("/")[2] in FILE_NAMES:
            targets.passed_by.append(PassedBy(unit.name, COMPONENT))
        elif unit.form == "file" and not unit.named and unit.path in merged:
            targets.passed_by.append(PassedBy(unit.name, PATCH))
        elif unit.named or key not in kept:
            kept[key] = unit
    targets.units = list(kept.values())
    return targets


def of_custom(root: Path, exclude: Iterable[str] = ()) -> Targets:
    """Return what to check in custom/. Components are left out with their parts: runs include them."""
    folder = root / "custom"
    targets = Discovery(exclude, root).find([str(folder)]) if folder.is_dir() else Targets()
    targets.units = [unit for unit in targets.units if not unit.inside]
    targets.passed_by = [passed for passed in targets.passed_by if passed.reason != COMPONENT]
    return targets


def of_overlays(root: Path) -> Iterator[Unit]:
    """Yield the folders of a repository's tree: each workload of each cluster, and what begins with '_'."""
    for cluster in _folders(root, "overlays"):
        for namespace in _folders(root, cluster):
            is_ours = namespace.rpartition("/")[2].startswith("_")
            folders = [namespace, *_below(root, namespace)] if is_ours else _folders(root, namespace)
            for folder in folders:
                path = os.path.join(root, folder)  # noqa: PTH118 - thousands of texts
                if os.path.isfile(f"{path}/{FILE_NAME}"):  # noqa: PTH113
                    yield Unit("folder", path, folder, cluster.rpartition("/")[2])


def _folders(root: Path, folder: str) -> list[str]:
    """Return the folders in one, by their paths from the root: texts, because there are thousands."""
    try:
        with os.scandir(root / folder) as entries:
            return sorted(f"{folder}/{entry.name}" for entry in entries if entry.is_dir())
    except OSError:
        return []


def _below(root: Path, folder: str) -> Iterator[str]:
    """Yield the folders below one; links are not followed, because they may lead back."""
    for child in _folders(root, folder):
        if not os.path.islink(os.path.join(root, child)):  # noqa: PTH114, PTH118 - as above
            yield child
            yield from _below(root, child)
