"""Kustomizations on disk: which folder is one, what it includes, what it would fetch, what it builds to.

The real kustomize builds what we do not evaluate ourselves; it gets no network. kustomize reads names of
fields without regard to case, and so does the search for what a build would fetch. Its built-in generators,
transformers and validators take paths as well, so their configurations are searched too.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slicewright.check.units import Unit
from slicewright.document.document import is_unfinished, values_in
from slicewright.document.io import read_file
from slicewright.document.read import read_documents, read_manifests, read_places
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.problem import Problem, Severity, errors
from slicewright.programs.find import find, run
from slicewright.rendering.compose import MAX_FOLDERS, too_many
from slicewright.rendering.header import hint_of_missing
from slicewright.rendering.kustomization import FILE_NAME, is_remote

FILE_NAMES = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""The names that kustomize knows; it refuses a folder with two of them."""
_GROUP = "kustomize.config.k8s.io/"


class Kustomizations:
    """Reads each kustomization once, only as far as needed to know what it is."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[str, dict[str, Any]]] = {}

    def is_kustomization(self, path: Path) -> bool:
        """Tell whether a file is the kustomization of its folder."""
        return path.name in FILE_NAMES and self.kind_of(str(path.parent)) != ""

    def kind_of(self, folder: str) -> str:
        """Return `Kustomization` or `Component`; empty for another folder.

        A file of that name that cannot be read as YAML counts: building it says what is wrong.
        """
        file, spec = self.spec_of(folder)
        if not file:
            return ""
        return "Component" if spec.get("kind") == "Component" else "Kustomization"

    def spec_of(self, folder: str) -> tuple[str, dict[str, Any]]:
        """Return the file and the content of a folder's kustomization; both are empty if there is none."""
        folder = os.path.normpath(folder)
        if folder not in self._read:
            self._read[folder] = _load(folder)
        return self._read[folder]

    def named_by(self, folder: str) -> Iterator[tuple[str, bool]]:
        """Yield the paths that a kustomization names, and whether as a resource: else it is merged."""
        for key, entry in paths_in(self.spec_of(folder)[1]):
            for name in {entry, entry.partition("=")[2] or entry}:
                yield os.path.normpath(os.path.join(folder, name)), key in RESOURCES  # noqa: PTH118 - a text

    def merged_by(self, folder: str) -> Iterator[str]:
        """Yield the paths of patches, and of configurations of generators, transformers and validators."""
        for key, entry in paths_in(self.spec_of(folder)[1]):
            if key in _MERGED and "\n" not in entry:
                yield os.path.normpath(os.path.join(folder, entry))  # noqa: PTH118 - a text

    def included_by(self, folder: str) -> set[str]:
        """Return every folder that a kustomization includes, directly or through another one."""
        included: set[str] = set()
        waiting = [os.path.normpath(folder)]
        while waiting:
            current = waiting.pop()
            for _, entry in paths_in(self.spec_of(current)[1]):
                below = os.path.normpath(os.path.join(current, entry))  # noqa: PTH118 - text, not yet a path
                if below not in included and os.path.isdir(below):  # noqa: PTH112 - any text
                    included.add(below)
                    waiting.append(below)
        included.discard(os.path.normpath(folder))
        return included


def _load(folder: str) -> tuple[str, dict[str, Any]]:
    paths = (f"{folder}/{name}" for name in sorted(FILE_NAMES))
    path = next(filter(os.path.lexists, paths), "")
    text = read_file(path, path) if path else ""
    if isinstance(text, Problem):
        return path, {}
    documents, _ = read_documents(text, path)
    data = mapping(documents[0].data) if len(documents) == 1 else {}
    version = data.get("apiVersion", _GROUP)
    # Flux has a kind of the same name, which people keep in files of this name.
    return ("", {}) if isinstance(version, str) and not version.startswith(_GROUP) else (path, data)


_Node = tuple[str, bool]
"""A folder, and whether what it makes configures a generator, transformer or validator."""
_PLUGINS = ("generators", "transformers", "validators")
_MERGED = frozenset({*_PLUGINS, "path", "patchesstrategicmerge"})
RESOURCES = frozenset({"resources", "bases", "components"})
FOLDERS = RESOURCES.union(_PLUGINS)
_PATHS = FOLDERS | {
    *("additionalvaluesfiles", "configurations", "crds", "env", "envs", "files", "patches", "path", "paths"),
    *("patchesstrategicmerge", "repo", "targetfilepath", "valuesfile"),
}
"""Fields of a kustomization, and of what it generates with, whose texts are paths."""
_VALUES = frozenset({"annotations", "commonannotations", "commonlabels", "labels", "valuesinline"})
"""Fields whose keys are free."""
_PLAIN = frozenset(
    {"apiversion", "kind", "metadata", "resources"}
    | {"namespace", "nameprefix", "namesuffix", "commonlabels", "commonannotations"}
)
"""Fields of a kustomization that leave all paths of a configuration alone: they change its metadata."""
_UNBUILT = "name the files that hold it, or a kustomization that has only resources"


def fetch_problems(folder: str) -> list[Problem]:
    """Return a problem for each path that a build would fetch or wait for, and for each unreadable file.

    Files are named by their absolute path. An unreadable file is a problem because it may name such paths.
    """
    problems: list[Problem] = []
    top = (os.path.realpath(folder), False)
    waiting = [top]
    included: dict[_Node, list[_Node]] = {}
    while waiting:
        current, configures = node = waiting.pop()
        if node in included:
            continue
        below = included[node] = []
        for path in (f"{current}/{name}" for name in sorted(FILE_NAMES)):
            if os.path.lexists(path):
                for data in _documents(path, problems):
                    if (
                        configures
                        and isinstance(data, dict)
                        and not _PLAIN.issuperset(map(str.casefold, data))
                    ):
                        message = "the configuration of a transformer or generator is itself made by a build"
                        problems.append(Problem("KUS020", message, _UNBUILT, file=path))
                    below += _folders_in(data, current, path, problems, configures=configures)
        waiting += below
    if _built(top, included) > MAX_FOLDERS:
        problems.append(too_many(f"{top[0]}/{FILE_NAME}"))
    return problems


def _built(top: _Node, included: Mapping[_Node, list[_Node]]) -> int:
    """Return how many kustomizations are built into one, each time counted; 0 if one includes itself."""
    count: dict[_Node, int] = {}
    try:
        for node in TopologicalSorter(included).static_order():
            count[node] = 1 + sum(count[below] for below in included[node])
    except CycleError:
        return 0
    return count[top]


def _folders_in(
    data: Any, folder: str, path: str, problems: list[Problem], *, configures: bool
) -> Iterator[_Node]:
    """Yield the folders that a kustomization includes, and whether they hold configurations."""
    for key, entry in paths_in(data):
        is_plugin = configures or key in _PLUGINS
        inline = read_documents(entry, path)[0] if is_plugin else ()
        if any(isinstance(document.data, dict) for document in inline):
            for document in inline:
                problems += _problems_of_paths(document.data, folder, path)
        elif refused := list(_problems_of_path(entry, folder, path)):
            problems += refused
        elif key in FOLDERS and "\0" not in entry:
            target = os.path.realpath(os.path.join(folder, entry))  # noqa: PTH118 - text, not yet a path
            if os.path.isdir(target):  # noqa: PTH112
                yield target, is_plugin
            elif is_plugin and os.path.exists(target):  # noqa: PTH110
                for configuration in _documents(target, problems):
                    problems += _problems_of_paths(configuration, folder, target)


def _documents(path: str, problems: list[Problem]) -> list[Any]:
    """Return the documents of a file; one that cannot be read is a problem, because it may name paths."""
    text = read_file(path, path)
    if isinstance(text, Problem):
        problems.append(text)
        return []
    documents, unreadable = read_documents(text, path)
    problems += unreadable
    return [document.data for document in documents]


def _problems_of_paths(data: Any, folder: str, file: str) -> Iterator[Problem]:
    for _, entry in paths_in(data):
        yield from _problems_of_path(entry, folder, file)


def _problems_of_path(entry: str, folder: str, file: str) -> Iterator[Problem]:
    """Yield a problem for a path that kustomize would fetch, or wait for."""
    if is_remote(entry):
        message = f"'{entry}' is remote, and validate does not use the network"
        hint = "vendor it into the repository, at a fixed version"
        yield Problem("KUS010", message, hint, "note", file)
        return
    for name in {entry, entry.partition("=")[2]}:
        target = os.path.join(folder, name)  # noqa: PTH118 - text, not yet a path
        if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):  # noqa: PTH110, PTH112, PTH113
            yield Problem("FILE001", f"'{name}' is not a regular file", "name another file", file=file)


def paths_in(data: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text at the place of a path, with its field in lower case."""
    if isinstance(data, dict):
        for name, value in data.items():
            folded = name.casefold()
            if folded not in _VALUES:
                yield from paths_in(value, folded)
    elif isinstance(data, list):
        for value in data:
            yield from paths_in(value, key)
    elif isinstance(data, str) and key in _PATHS:
        yield key, data


_SECONDS = 60
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that refuses: whatever a build would still fetch fails immediately."""


@cache
def binary() -> Path | Problem:
    """Return a kustomize that overlays are built with, or what is missing; it is looked for once."""
    return find("kustomize", exact=False)


def build(folder: str, name: str) -> tuple[list[Any], tuple[Problem, ...]]:
    """Return the objects that the real kustomize builds, or the problem."""
    program = binary()
    if isinstance(program, Problem):
        message = f"the kustomization uses what only kustomize evaluates, and {program.message}"
        return [], (Problem("TOOL001", message, program.hint, file=name),)
    shortened = partial(last_of_chain, folder=folder)
    text, failure = output_of("kustomize", [str(program), "build", folder], offline(), shortened)
    return ([], (_refused(name, failure),)) if failure else _objects(text, name)


def output_of(
    name: str, command: Sequence[str], environ: Mapping[str, str], shortened: Callable[[str], str]
) -> tuple[str, str]:
    """Return what a program prints, and why it failed if it did: its last line of errors, shortened."""
    try:
        done = run(*command, seconds=_SECONDS, environ=environ)
    except subprocess.TimeoutExpired:
        return "", f"{name} did not finish in {_SECONDS} seconds"
    except OSError as error:
        return "", f"{name} cannot be started: {error.strerror}"
    lines = done.stderr.strip().splitlines() or ["it says nothing"]
    return done.stdout, f"{name}: {shortened(lines[-1].removeprefix('Error: '))}" if done.returncode else ""


def last_of_chain(error: str, folder: str) -> str:
    """Return the last part of an error of kustomize, which first names all folders on the way."""
    error = error.removeprefix("Error: ").rpartition("must resolve to a file': ")[2]
    error = re.sub(r"': must build at directory.*|recursed accumulation of path '[^']*': ", "", error)
    error = re.sub(r"(accumulating|merging) (resources|components): |accumulation err='", "", error)
    error = re.sub(r"(accumulating|merging) (resources|components) from '([^']*)'", r"\3", error)
    error = re.sub(r" &\{0x[0-9a-f]+ <nil>\}", "", error)  # an address, other in each run
    return error.replace(f"{folder}/", "").strip("`: ")[:200]


def _objects(text: str, name: str) -> tuple[list[Any], tuple[Problem, ...]]:
    """Read the objects one by one: together they may be more than one file may hold."""
    objects: list[Any] = []
    problems: list[Problem] = []
    for part in text.split("\n---\n"):
        documents, wrong = read_manifests(part, name)
        objects += [document.data for document in documents]
        # Line numbers in the output of kustomize help nobody.
        problems += [
            Problem(problem.id, problem.message, problem.hint, file=name) for problem in errors(wrong)
        ]
    return objects, tuple(problems)


_OPTION = re.compile(r"must specify (--enable-helm)|external plugins disabled")


def _refused(name: str, message: str) -> Problem:
    option = _OPTION.search(message)
    if not option:
        return Problem("KUS011", message, "run kustomize build on the folder", file=name)
    # It runs other programs, which Argo CD, Flux and scripts ask for.
    build = f"kustomize build {option[1] or '--enable-alpha-plugins'}"
    return Problem("KUS011", message, f"build it with {build}, and check what that writes", "note", file=name)


def offline() -> dict[str, str]:
    """Return an environment in which a program, and the git that it calls, cannot use the network."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), _NOWHERE)
    kept = {key: value for key, value in os.environ.items() if key.upper() not in {"NO_PROXY", "PATH"}}
    return {**kept, **proxies, "PATH": "", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}


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
    """Return a note that files are checked instead of the build of a kustomization, if there are any."""
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
        text = Path(file).read_text(encoding="utf-8")
        hint = hint_of_missing(text, "check the path, or create the file before the check")
        severity: Severity = "note" if is_unfinished(entry) else "error"
        yield _placed(Problem("KUS001", message, hint, severity, file), kustomizations, entry)


def _first_missing(base: str, path: str) -> str:
    """Return a path up to its first part that does not exist: `../made` of `../made/istio/base`."""
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
