"""Kustomizations on disk: which folder is one, what it includes, what it would fetch, what it builds to.

The real kustomize builds what we do not evaluate ourselves; it gets no network. kustomize reads names of
fields without regard to case, and so does the search for what a build would fetch. Its built-in generators,
transformers and validators take paths as well, so their configurations are searched too.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewright.binaries.find import find, run
from slicewright.core.compose.kustomization import FILE_NAME, MAX_FOLDERS, too_many
from slicewright.core.compose.spec import is_remote
from slicewright.core.document.read import read_documents, read_manifests
from slicewright.core.problem import Problem, errors
from slicewright.workspace.text_file import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_NAMES = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""The names that kustomize knows; it refuses a folder with two of them."""
_GROUP = "kustomize.config.k8s.io/"


class Kustomizations:
    """Reads each kustomization once, only as far as needed to know what it is."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[str, dict[str, Any]] | None] = {}

    def is_kustomization(self, path: Path) -> bool:
        """Tell whether a file is the kustomization of its folder."""
        return path.name in FILE_NAMES and self.kind_of(str(path.parent)) != ""

    def kind_of(self, folder: str) -> str:
        """Return `Kustomization` or `Component`; empty for another folder.

        A file of that name that cannot be read as YAML counts: building it says what is wrong.
        """
        spec = self.spec_of(folder)
        if spec is None:
            return ""
        kind = spec[1].get("kind", "Kustomization")
        return kind if kind in ("Kustomization", "Component") else "Kustomization"

    def spec_of(self, folder: str) -> tuple[str, dict[str, Any]] | None:
        """Return the file and the content of a folder's kustomization; None where there is none."""
        folder = os.path.normpath(folder)
        if folder not in self._read:
            self._read[folder] = _load(folder)
        return self._read[folder]

    def named_by(self, folder: str) -> Iterator[tuple[str, bool]]:
        """Yield the paths that a kustomization names, and whether as a resource: else it is merged."""
        spec = self.spec_of(folder)
        for key, entry in paths_in(spec[1] if spec else {}):
            for name in {entry, entry.partition("=")[2] or entry}:
                yield os.path.normpath(os.path.join(folder, name)), key in RESOURCES  # noqa: PTH118 - a text

    def merged_by(self, folder: str) -> Iterator[str]:
        """Yield the paths of patches, and of configurations of generators, transformers and validators."""
        spec = self.spec_of(folder)
        for key, entry in paths_in(spec[1] if spec else {}):
            if key in _MERGED and "\n" not in entry:
                yield os.path.normpath(os.path.join(folder, entry))  # noqa: PTH118 - a text

    def included_by(self, folder: str) -> set[str]:
        """Return every folder that a kustomization includes, directly or through another one."""
        included: set[str] = set()
        waiting = [os.path.normpath(folder)]
        while waiting:
            current = waiting.pop()
            spec = self.spec_of(current)
            for _, entry in paths_in(spec[1] if spec else {}):
                below = os.path.normpath(os.path.join(current, entry))  # noqa: PTH118 - text, not yet a path
                if below not in included and os.path.isdir(below):  # noqa: PTH112 - any text
                    included.add(below)
                    waiting.append(below)
        included.discard(os.path.normpath(folder))
        return included


def _load(folder: str) -> tuple[str, dict[str, Any]] | None:
    for name in sorted(FILE_NAMES):
        path = Path(folder) / name
        if not os.path.lexists(path):
            continue
        text = read_file(path, str(path))
        if isinstance(text, Problem):
            return str(path), {}
        documents, _ = read_documents(text, str(path))
        data = documents[0].data if len(documents) == 1 else {}
        if not isinstance(data, dict):
            return str(path), {}
        version = data.get("apiVersion", _GROUP)
        # Flux has a kind of the same name, which people keep in files of this name.
        if isinstance(version, str) and not version.startswith(_GROUP):
            return None
        return str(path), data
    return None


_Node = tuple[str, bool]
"""A folder, and whether what it makes configures a generator, transformer or validator."""
_PLUGINS = ("generators", "transformers", "validators")
_MERGED = frozenset({*_PLUGINS, "path", "patchesstrategicmerge"})
RESOURCES = frozenset({"resources", "bases", "components"})
_FOLDERS = RESOURCES.union(_PLUGINS)
_PATHS = _FOLDERS | {
    *("additionalvaluesfiles", "configurations", "crds", "env", "envs", "files", "patches", "path", "paths"),
    *("patchesstrategicmerge", "repo", "targetfilepath", "valuesfile"),
}
"""Fields of a kustomization, and of what it generates with, whose texts are paths."""
_VALUES = frozenset({"annotations", "commonannotations", "commonlabels", "labels", "valuesinline"})
"""Fields whose keys are free."""
_PLAIN = frozenset({"apiversion", "kind", "metadata", "resources"})


def fetch_problems(folder: str) -> list[Problem]:
    """Return a problem for each path that a build would fetch or wait for, and for all that would hide one.

    Files are named by their absolute path.
    """
    problems: list[Problem] = []
    top = (os.path.realpath(folder), False)
    waiting = [top]
    included: dict[_Node, list[_Node]] = {}
    while waiting:
        here, configures = node = waiting.pop()
        if node in included:
            continue
        below = included[node] = []
        for file in sorted(FILE_NAMES):
            path = f"{here}/{file}"
            for data in _documents(path, problems) if os.path.lexists(path) else ():
                if configures and isinstance(data, dict) and not _PLAIN.issuperset(map(str.casefold, data)):
                    problems.append(_generated(path))
                below += _folders_in(data, here, path, problems, configures=configures)
        waiting += below
    if _built(top, included) > MAX_FOLDERS:
        problems.append(too_many(f"{top[0]}/{FILE_NAME}"))
    return problems


def _built(top: _Node, included: Mapping[_Node, list[_Node]]) -> int:
    """Return how many kustomizations are built into one, each time counted; 0 where one includes itself."""
    count: dict[_Node, int] = {}
    try:
        for node in TopologicalSorter(included).static_order():
            count[node] = 1 + sum(count[below] for below in included[node])
    except CycleError:
        return 0
    return count[top]


def _folders_in(
    data: Any, here: str, path: str, problems: list[Problem], *, configures: bool
) -> Iterator[_Node]:
    """Yield the folders that a kustomization includes, and whether they hold configurations."""
    for key, entry in paths_in(data):
        is_plugin = configures or key in _PLUGINS
        inline = read_documents(entry, path)[0] if is_plugin else ()
        if any(isinstance(document.data, dict) for document in inline):
            for document in inline:
                problems += _problems_of_paths(document.data, here, path)
        elif refused := list(_problems_of_path(entry, here, path)):
            problems += refused
        elif key in _FOLDERS and "\0" not in entry:
            target = os.path.realpath(os.path.join(here, entry))  # noqa: PTH118 - text, not yet a path
            if os.path.isdir(target):  # noqa: PTH112
                yield target, is_plugin
            elif is_plugin and os.path.exists(target):  # noqa: PTH110
                for configuration in _documents(target, problems):
                    problems += _problems_of_paths(configuration, here, target)


def _documents(path: str, problems: list[Problem]) -> list[Any]:
    """Return the documents of a file; one that cannot be read is a problem, for it hides the rest."""
    text = read_file(path, path)
    if isinstance(text, Problem):
        problems.append(text)
        return []
    documents, unreadable = read_documents(text, path)
    problems += unreadable
    return [document.data for document in documents]


def _problems_of_paths(data: Any, here: str, file: str) -> Iterator[Problem]:
    for _, entry in paths_in(data):
        yield from _problems_of_path(entry, here, file)


def _problems_of_path(entry: str, here: str, file: str) -> Iterator[Problem]:
    """Yield a problem for a path that kustomize would fetch, or wait for."""
    if is_remote(entry):
        message = f"'{entry}' is remote, and validate does not use the network"
        hint = "vendor it into the repository, at a version that you chose"
        yield Problem("KUS010", message, hint, "note", file)
        return
    for name in {entry, entry.partition("=")[2]}:
        target = os.path.join(here, name)  # noqa: PTH118 - text, not yet a path
        if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):  # noqa: PTH110, PTH112, PTH113
            yield Problem("FILE001", f"'{name}' is not a regular file", "name another file", file=file)


def paths_in(data: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a path's place, with its field in small letters."""
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


def _generated(file: str) -> Problem:
    message = "the configuration of a transformer or generator is itself made by a build"
    hint = "name the files that hold it, or a kustomization with nothing but resources"
    return Problem("KUS020", message, hint, file=file)


_SECONDS = 60
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that refuses: whatever a build would still fetch fails at once."""


@cache
def binary() -> Path | Problem:
    """Return the pinned kustomize, or what is missing; it is looked for once."""
    return find("kustomize")


def build(folder: str, name: str) -> tuple[list[Any], tuple[Problem, ...]]:
    """Return the objects that the real kustomize builds, or the problem."""
    program = binary()
    if isinstance(program, Problem):
        message = f"the kustomization uses what only kustomize evaluates, and {program.message}"
        return [], (Problem("TOOL001", message, program.hint, file=name),)
    try:
        done = run(program, "build", folder, seconds=_SECONDS, environ=offline())
    except subprocess.TimeoutExpired:
        return [], (_refused(name, f"kustomize did not finish in {_SECONDS} seconds"),)
    except OSError as error:
        return [], (_refused(name, f"kustomize cannot be started: {error.strerror}"),)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it says nothing"]
        return [], (_refused(name, f"kustomize: {last_of_chain(lines[-1], folder)}"),)
    return _objects(done.stdout, name)


def last_of_chain(said: str, folder: str) -> str:
    """Return the last part of what kustomize says, which is a chain of all folders on the way."""
    said = said.removeprefix("Error: ").rpartition("must resolve to a file': ")[2]
    said = re.sub(r"': must build at directory.*|recursed accumulation of path '[^']*': ", "", said)
    said = re.sub(r"(accumulating|merging) (resources|components): |accumulation err='", "", said)
    said = re.sub(r"(accumulating|merging) (resources|components) from '([^']*)'", r"\3", said)
    said = re.sub(r" &\{0x[0-9a-f]+ <nil>\}", "", said)  # an address, other in each run
    return said.replace(f"{folder}/", "").strip("`: ")[:200]


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
    hint = (
        f"build it with kustomize build {option[1] or '--enable-alpha-plugins'}, and check what that writes"
    )
    return Problem("KUS011", message, hint, "note", file=name)


def offline() -> dict[str, str]:
    """Return an environment in which neither a program nor the git that it calls reaches anything."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), _NOWHERE)
    kept = {key: value for key, value in os.environ.items() if key.upper() not in {"NO_PROXY", "PATH"}}
    return {**kept, **proxies, "PATH": "", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
