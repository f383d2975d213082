"""A kustomization that does not build: why, in one line, and its files, which are checked one by one."""

import os
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from slicewright.check.io.kustomizations import FILE_NAMES, FOLDERS, RESOURCES, Kustomizations, paths_in
from slicewright.check.units import Unit
from slicewright.document.document import is_unfinished, values_in
from slicewright.document.io import read_file
from slicewright.document.read import read_places
from slicewright.kubernetes.problem import Problem, Severity
from slicewright.rendering.kustomization import is_remote

_NEEDED = FOLDERS | {
    *("patches", "path", "patchesstrategicmerge", "configurations"),
    *("crds", "env", "envs", "files", "valuesfile", "additionalvaluesfiles"),
}
"""Fields whose texts are paths that kustomize opens."""


def explained(folder: str, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems of a build: each missing file at its line, and what is remote at its line too."""
    kustomizations = Kustomizations()
    failed = next((problem for problem in problems if problem.id in ("KUS001", "KUS011")), None)
    missing = list(_missing(folder, kustomizations)) if failed else []
    kept = [problem for problem in problems if not missing or problem is not failed]
    return [*missing, *(_placed(problem, kustomizations) for problem in kept)]


def plain_files(unit: Unit) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Return the files that an unbuilt kustomization and its bases list as resources, and those elsewhere.

    A file outside of its kustomization's folder, by a link or not, is refused by kustomize.
    """
    inside: dict[str, Unit] = {}
    elsewhere: dict[str, Unit] = {}
    folder = os.path.realpath(unit.path)
    for base, _, key, entry in _entries(folder, Kustomizations()):
        path = os.path.realpath(os.path.join(base, entry))  # noqa: PTH118 - a text
        if key in RESOURCES and os.path.isfile(path):  # noqa: PTH113
            files = inside if path.startswith(f"{os.path.realpath(base)}/") else elsewhere
            files[path] = Unit("file", path, shown(path, folder, unit), in_repository=unit.in_repository)
    return tuple(inside.values()), tuple(elsewhere.values())


def unbuilt(unit: Unit, files: Sequence[Unit]) -> list[Problem]:
    """Return a note on the files that are checked in the place of what a kustomization builds, if any."""
    message = f"the kustomization cannot be built here, so its files are checked one by one ({len(files)})"
    hint = "correct the kustomization so that it builds; then the result is checked"
    return [Problem("KUS021", message, hint, "note", unit.name)] if files else []


def shown(file: str, folder: str, unit: Unit) -> str:
    """Return what a report calls a file by its place from the folder of a unit."""
    return os.path.normpath(f"{unit.name}/{os.path.relpath(file, folder)}")


def _entries(folder: str, kustomizations: Kustomizations) -> Iterator[tuple[str, str, str, str]]:
    """Yield folder and file of a kustomization that is included, a field and a path that is not remote."""
    for base in (folder, *sorted(kustomizations.included_by(folder))):
        file, spec = kustomizations.spec_of(base)
        for key, entry in paths_in(spec):
            if key in _NEEDED and "\n" not in entry and "\0" not in entry and not is_remote(entry):
                yield base, file, key, entry


def _missing(folder: str, kustomizations: Kustomizations) -> Iterator[Problem]:
    """Yield what is missing, once for each kustomization: of many paths the folder that all of them need."""
    reported: set[tuple[str, str]] = set()
    for base, file, key, entry in _entries(folder, kustomizations):
        name = entry.partition("=")[2] or entry
        path = os.path.join(base, name)  # noqa: PTH118 - a text
        if not os.path.exists(path):  # noqa: PTH110
            name = _first_missing(base, name)
            if (file, name) in reported:
                continue
            reported.add((file, name))
            message = f"'{name}' is missing, so the kustomization does not build"
        elif key in RESOURCES and os.path.isdir(path) and FILE_NAMES.isdisjoint(os.listdir(path)):  # noqa: PTH112, PTH208
            message = f"folder '{name}' has no kustomization.yaml, so the kustomization does not build"
        else:
            continue
        hint = "check the path, or create the file before the check"
        severity: Severity = "note" if is_unfinished(entry) else "error"
        yield _placed(Problem("KUS001", message, hint, severity, file), kustomizations, entry)


def _first_missing(base: str, path: str) -> str:
    """Return a path up to its first part that is not there: `../made` of `../made/istio/base`."""
    parts = path.split("/")
    starts = ("/".join(parts[:number]) for number in range(1, len(parts)))
    return next((part for part in starts if part and not os.path.exists(os.path.join(base, part))), path)  # noqa: PTH110, PTH118


def _placed(problem: Problem, kustomizations: Kustomizations, entry: str = "") -> Problem:
    """Return a problem with the line of the kustomization that has an entry, or what is remote."""
    folder, _, name = problem.file.rpartition("/")
    file, spec = kustomizations.spec_of(folder)
    text = read_file(file, file) if file and name in FILE_NAMES else ""
    entry = entry or problem.message.partition("'")[2].rpartition("' is remote")[0]
    path = next((path for path, value in values_in(spec) if value == entry), ())
    if not (entry and path) or isinstance(text, Problem):
        return problem
    line, column = read_places(text, 0).of(path)
    return replace(problem, line=line, column=column)
