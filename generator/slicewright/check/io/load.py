"""A unit -> its documents: read from disk within limits, parsed, or composed from a kustomization."""

import contextlib
import os
import posixpath
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.check.filling import filled, filled_object
from slicewright.check.io import kustomizations as kustomize
from slicewright.check.io.kustomizations import (
    FILE_NAMES,
    Kustomizations,
    explained,
    fetch_problems,
    offline,
    output_of,
    plain_files,
    shown,
    unbuilt,
)
from slicewright.check.passed_by import (
    DEAD_LINK,
    NO_OBJECT,
    OTHERS,
    TEMPLATE,
    PassedBy,
    has_marks,
    names_judged,
    reason,
)
from slicewright.check.units import Unit
from slicewright.document.io import read_file, read_stdin, unreadable
from slicewright.document.read import Document, read_documents, read_manifests
from slicewright.environ import which
from slicewright.kubernetes.problem import Problem, errors
from slicewright.rendering.compose import Composed, compose
from slicewright.rendering.folder import is_controllers_folder
from slicewright.rendering.header import edited, is_edited, is_ours
from slicewright.rendering.io.package_data import releases
from slicewright.rendering.kustomization import Stopped

_SOURCE = re.compile(r"^# Source: [^/\n]+/(.+)$", re.MULTILINE)
"""Helm names the template of what follows, below the name of the chart."""
_MISSING = "get its dependencies first: helm dependency build"


def template(folder: str, name: str) -> tuple[list[tuple[str, Document]], tuple[Problem, ...]]:
    """Return the objects that a chart makes with its own values, each with the name of its template."""
    program = which("helm")
    if program is None:
        hint = "install helm, or leave out --helm"
        return [], (Problem("TOOL001", "helm is missing", hint, file=name),)
    try:
        with tempfile.TemporaryDirectory() as empty:
            kept = {key: value for key, value in offline().items() if not key.startswith("HELM_")}
            own = dict.fromkeys(("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME"), empty)
            environ = {**kept, **own, "KUBECONFIG": f"{empty}/none"}
            command = [program, "template", "release", folder, "--include-crds"]
            text, failure = output_of("helm", command, environ, lambda error: error[:500])
    except OSError as error:  # of the folder
        return [], (_refused(name, f"helm cannot be started: {error.strerror}"),)
    return ([], (_refused(name, failure),)) if failure else _objects(text, name)


def _objects(text: str, name: str) -> tuple[list[tuple[str, Document]], tuple[Problem, ...]]:
    """Read the objects template by template: together they may be more than one file may hold."""
    objects: list[tuple[str, Document]] = []
    problems: list[Problem] = []
    parts = ["", *_SOURCE.split(text)]
    for template_name, part in zip(parts[::2], parts[1::2], strict=True):
        # What names no template of the chart is the chart's: a chart can write such lines itself.
        is_inside = template_name and ".." not in template_name.split("/")
        file = f"{name}/{template_name}" if is_inside else name
        documents, wrong = read_documents(part, file)
        objects += [(file, document) for document in documents]
        # A line of the rendered text is not a line of the template.
        problems += [Problem(problem.id, problem.message, problem.hint, file=file) for problem in wrong]
    return objects, tuple(problems)


def _refused(name: str, message: str) -> Problem:
    hint = _MISSING if "missing in charts/" in message else "run helm template on the chart"
    return Problem("FILE032", message, hint, file=name)


_HEAD = 1024 * 1024
"""Bytes of a file that is not read in which an object would have its apiVersion."""


class Loaded(Struct, frozen=True):
    """What a unit holds."""

    unit: Unit
    text: str = ""
    """Text of a file, to find places in it; empty for a folder, whose built objects are in no file."""
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    kustomizations: tuple[tuple[str, str], ...] = ()
    """Name and text of the hand-written kustomizations that a folder is built from, and of the patches and
    configurations that they name, for rules about them."""
    passed_by: tuple[PassedBy, ...] = ()
    """Files that the user did not name and of which nothing is checked."""
    instead: tuple[Unit, ...] = ()
    """The plain files of a kustomization that does not build, which are checked one by one."""
    files: tuple[str, ...] = ()
    """The template of each document, for a chart."""
    used: frozenset[str] = frozenset()
    """Names of values that were filled in."""
    elsewhere: tuple[Unit, ...] = ()
    """Files outside of its folders that such a kustomization lists, which kustomize refuses."""


def load(unit: Unit, values: Mapping[str, str] | None = None) -> Loaded:
    """Read a unit, with values for its placeholders; whatever is wrong with it is among the problems."""
    if unit.form == "folder":
        return _filled(_compose(unit), values) if values else _compose(unit)
    if unit.form == "chart":
        objects, problems = template(unit.path, unit.name)
        files = tuple(file for file, _ in objects)
        documents = tuple(document for _, document in objects)
        return Loaded(unit, documents=documents, problems=problems, files=files)
    text = unit.text
    if text is None:
        text = read_stdin() if unit.form == "stdin" else read_file(unit.path, unit.name, or_stdin=True)
    if isinstance(text, Problem):
        unread = "" if unit.named else _unread(unit, text.id)
        if unread:
            return Loaded(unit, passed_by=(PassedBy(unit.name, unread),))
        return Loaded(unit, problems=(text,))
    text, used = filled(text, values) if values else (text, frozenset())
    documents, problems = read_manifests(text, unit.name)
    is_broken = any(problem.id != "YAML002" for problem in errors(problems))
    data = [document.data for document in documents]
    why = "" if unit.named else reason(text, data, is_broken=is_broken)
    if why:
        return Loaded(unit, passed_by=(PassedBy(unit.name, why),), used=used)
    if not (unit.named or unit.is_ours or names_judged(text)):
        if errors(problems):
            return Loaded(unit, text, documents, passed_by=(PassedBy(unit.name, OTHERS),), used=used)
        return Loaded(unit, text, documents, used=used)
    return Loaded(unit, text, documents, problems, used=used)


def _unread(unit: Unit, problem: str) -> str:
    """Return why an unreadable file is passed by, unless the user named it; '' if it is a problem."""
    if os.path.islink(unit.path) and not os.path.exists(unit.path):  # noqa: PTH110, PTH114 - a text
        return DEAD_LINK
    if problem not in ("FILE002", "FILE005"):  # not UTF-8, or too large
        return ""
    with open(unit.path, "rb") as file:  # noqa: PTH123 - a text
        head = file.read(_HEAD).replace(b"\0", b"").decode("latin-1")  # UTF-16 has a zero beside each letter
    if "apiVersion" not in head:
        return NO_OBJECT
    return "" if unit.is_ours or names_judged(head) else OTHERS


def _filled(loaded: Loaded, values: Mapping[str, str]) -> Loaded:
    """Return what a folder builds with values in it, as Flux substitutes them."""
    parts = [filled_object(document.data, loaded.unit.name, values) for document in loaded.documents]
    return replace(
        loaded,
        documents=tuple(Document(data, index, 0) for index, (data, _, _) in enumerate(parts)),
        problems=(*loaded.problems, *(problem for _, problems, _ in parts for problem in problems)),
        used=frozenset().union(*(used for _, _, used in parts)),
    )


class _Tree(Struct):
    """Reads the files of kustomizations by their path from the root of the file system."""

    refused: dict[str, Problem] = field(default_factory=dict)
    kustomizations: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)
    """Frozen runs that are not as slicewright wrote them."""
    straight: dict[str, bool] = field(default_factory=dict)
    """Whether no link leads to a folder."""

    def __call__(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist, or cannot be read (kept in `refused`).

        Raises Stopped for a link, because kustomize follows some links and refuses others.
        """
        file = f"/{path}"
        if not os.path.isfile(file):  # noqa: PTH113 - a few thousand times, and a Path takes its time
            return None
        folder, _, name = file.rpartition("/")
        if folder not in self.straight:
            self.straight[folder] = os.path.realpath(folder) == folder
        if not self.straight[folder] or os.path.islink(file):  # noqa: PTH114
            raise Stopped(outside=f"{path}: a link")
        text = read_file(file, path)
        if isinstance(text, Problem):
            self.refused[path] = text
            return None
        if name in FILE_NAMES and not is_ours(text):
            self.kustomizations[path] = text
        elif is_edited(text):
            self.edited[path] = text
        return text


def _controllers(folder: str, tree: _Tree) -> tuple[list[Any] | None, tuple[Problem, ...]]:
    """Return the objects of a cluster's controllers that we write, and the problems of their releases.

    Releases are large and come from elsewhere: the digest is checked, not each object for each cluster. For a
    folder that is not as slicewright writes it None is returned, so that all of it is composed.
    """
    root, _, cluster = folder.lstrip("/").rpartition("/overlays/")
    if not is_controllers_folder(cluster):
        return None, ()
    from slicewright.rendering.platform import controller_files  # noqa: PLC0415 - 12 ms, for few folders

    def read_text(path: str) -> str | None:
        return tree(f"{root}/{path}")

    try:
        installed = controller_files.installed(f"overlays/{cluster}", read_text)
        if installed is None:
            return None, ()
        configures, problems = bool(installed.configuration), list[Problem]()
        for release in installed.releases:
            problems += controller_files.release_problems(
                release, read_text, releases(), configures=configures
            )
    except Stopped:  # links are for kustomize
        return None, ()
    if installed.edited:
        message = "the controllers are not as slicewright writes them: what installs them was edited"
        hint = "slicewright render writes the folder again"
        return None, (Problem("CTRL003", message, hint, file=f"{folder}/kustomization.yaml"),)
    # A file that was not read has one problem: why it was not.
    named = tuple(replace(problem, file=f"{root}/{problem.file}") for problem in problems)
    return list(installed.objects), tuple(tree.refused.values()) or named


_READ_BY_KUSTOMIZE = frozenset({"YAML003", "YAML005", "YAML006"})
"""What is refused in our own files, and has a meaning in those of others."""


def _compose(unit: Unit) -> Loaded:
    folder = os.path.realpath(unit.path)
    tree = _Tree(straight={folder: True})
    try:
        of_controllers, refused = _controllers(folder, tree)
        composed = Composed() if of_controllers is not None else compose(folder.lstrip("/"), tree)
    except OSError as error:
        return Loaded(unit, problems=(unreadable(unit.name, error),))
    if of_controllers is not None:
        objects, problems = of_controllers, refused
    elif composed.outside or _READ_BY_KUSTOMIZE & {problem.id for problem in composed.problems}:
        objects, problems = _built(folder, unit, tree)
    else:
        objects = list(composed.objects)
        # As above: compose would report each file that was not read once more.
        problems = tuple(tree.refused.values()) or (*refused, *composed.problems)
        if not unit.cluster and any(problem.id == "KUS006" for problem in problems):
            built, _ = _built(folder, unit, tree)  # kustomize is laxer; what it refuses has our words
            objects, problems = (built, ()) if built else (objects, problems)
    named = [_renamed(problem, folder, unit) for problem in explained(folder, problems)]
    if unit.cluster and not unit.joins:  # our own tree: elsewhere people may have copied a run to edit it
        named += (edited(shown(f"/{path}", folder, unit), text) for path, text in tree.edited.items())
    documents = tuple(Document(data, index, 0) for index, data in enumerate(objects))
    by_hand = {} if of_controllers is not None else tree.kustomizations | _merged(tree.kustomizations)
    texts = tuple((shown(f"/{path}", folder, unit), text) for path, text in sorted(by_hand.items()))
    loaded = Loaded(unit, "", documents, tuple(named), texts)
    if objects or unit.cluster or {problem.id for problem in problems} <= {"TOOL001"}:
        return loaded  # overlays that we render are whole, and a missing program is to be installed
    instead, elsewhere = plain_files(unit)
    if not (unit.named or unit.is_ours) and any(map(_is_template, by_hand.values())):
        return Loaded(unit, passed_by=(PassedBy(unit.name, TEMPLATE),), instead=instead)
    return replace(loaded, problems=(*named, *unbuilt(unit, instead)), instead=instead, elsewhere=elsewhere)


def _is_template(text: str) -> bool:
    return has_marks(text) and bool(errors(read_manifests(text, "")[1]))


_MERGES = re.compile(r"patches|replacements|generators|transformers|validators")


def _merged(kustomizations: Mapping[str, str]) -> dict[str, str]:
    """Return the files of patches, replacements and configurations that some kustomizations name."""
    known = Kustomizations()
    merged = {}
    for path, text in kustomizations.items():
        folder = posixpath.dirname(f"/{path}")
        if _MERGES.search(text):
            for file in known.merged_by(folder):
                content = read_file(file, file) if os.path.isfile(file) else None  # noqa: PTH113 - any text
                if isinstance(content, str):
                    merged[file.lstrip("/")] = content
    return merged


def _built(folder: str, unit: Unit, tree: _Tree) -> tuple[list[Any], tuple[Problem, ...]]:
    """Let kustomize build what is outside of our subset, unless it would have to fetch something."""
    kustomizations = Kustomizations()
    for included in (folder, *sorted(kustomizations.included_by(folder))):
        file, _ = kustomizations.spec_of(included)
        if file:
            with contextlib.suppress(Stopped):
                tree(file.lstrip("/"))
    refused = tuple(fetch_problems(folder))
    return ([], refused) if refused else kustomize.build(folder, unit.name)


def _renamed(problem: Problem, folder: str, unit: Unit) -> Problem:
    """Return a problem with the names of files as the user sees them."""
    if problem.file == unit.name:
        return problem
    message = problem.message
    if folder.endswith(f"/{unit.name}"):
        message = message.replace(folder.removesuffix(unit.name).lstrip("/"), "")
    file = shown(f"/{problem.file.lstrip('/')}", folder, unit) if problem.file else unit.name
    return replace(problem, file=file, message=message)
