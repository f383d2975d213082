"""Problems are ignored with a reason: an annotation on the object, or an entry of `.slicewright-ignore.yaml`.

Either may suppress any problem of an object. A reason that is empty suppresses nothing,
and one that meets no problem is a problem itself. An annotation of a TPUWorkload or TPUCluster ignores
warnings, of the file and of the objects that are rendered from it, and no errors. Nor does one of a rendered
object, which patches and components of the same file write.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from slicewright.core.check.model import Resource
from slicewright.core.document.read import read_documents
from slicewright.core.intent.source import Source, SourceFile
from slicewright.core.kubernetes.labels import ACKNOWLEDGED
from slicewright.core.kubernetes.read import entries, mapping, text
from slicewright.core.problem import Problem, did_you_mean, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from slicewright.core.problem import Path

FILE_NAME = ".slicewright-ignore.yaml"
_KEYS = ("rule", "object", "file", "reason")
_INPUT = ("TPUWorkload", "TPUCluster")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the file: what it suppresses and why. Patterns are those of a shell, `*` matching all."""

    rule: str
    object: str
    file: str
    reason: str
    problem: Problem
    """What to report where the entry suppresses nothing."""


@dataclass(frozen=True, slots=True)
class Ignores:
    """The entries of a file, and what is wrong with it."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_ignores(text_of_file: str, file: str, known: Iterable[str] = ()) -> Ignores:
    """Return the entries of an ignore file.

    The file is `ignore:` with a list of `{rule, object, file, reason}`; `object` is a pattern of
    `Kind namespace/name`, `file` one of the path, and either may be left out for all. `known` are the ids of
    rules, for hints about misspelt ones.
    """
    documents, problems = read_documents(text_of_file, file)
    found: list[Entry] = []
    wrong: list[Problem] = list(problems)
    for document in documents:
        source = Source(SourceFile(file, text_of_file), document)
        data = mapping(document.data)
        if set(data) != {"ignore"} or not isinstance(data["ignore"], list):
            hint = "write ignore: with a list of {rule, object, reason}"
            wrong.append(source.problem("IGN103", (), "expected a mapping with the one key 'ignore'", hint))
            continue
        for index, _ in enumerate(data["ignore"]):
            entry, against = _entry(source, index, tuple(known))
            wrong += against
            if entry is not None:
                found.append(entry)
    return Ignores(tuple(found), tuple(wrong))


def _entry(source: Source, index: int, known: tuple[str, ...]) -> tuple[Entry | None, list[Problem]]:
    path: Path = ("ignore", index)
    written = next((value for at, value in entries(source.data["ignore"]) if at == index), {})
    wrong = [key for key in written if key not in _KEYS or not isinstance(written[key], str)]
    if wrong or not text(written.get("rule")):
        message = f"an entry has no field '{wrong[0]}' of that kind" if wrong else "an entry names no rule"
        hint = "write rule and reason, and object or file: all are texts"
        return None, [source.problem("IGN103", path, message, hint)]
    rule = written["rule"]
    if known and rule not in known:
        message = f"rule '{rule}' is not defined"
        return None, [source.problem("IGN103", (*path, "rule"), message, did_you_mean(rule, known))]
    if not text(written.get("reason")).strip():
        message = f"{rule} is ignored without a reason, so it is still reported"
        return None, [source.problem("IGN101", path, message, _WHY, warning=True)]
    unused = source.problem("IGN102", path, f"nothing here breaks {rule}", "remove the entry", warning=True)
    return Entry(rule, written.get("object", "*"), written.get("file", "*"), written["reason"], unused), []


_WHY = "add a reason: a reader must know why this is not a problem here"


def suppress(
    problems: Iterable[Problem],
    resources: Iterable[Resource],
    ignored: Sequence[Entry] = (),
    known: Callable[[], Collection[str]] = tuple,
) -> tuple[Problem, ...]:
    """Return the problems that no reason suppresses, and what is wrong with the reasons.

    `known` returns the ids that there are; it is asked where an annotation meets no problem, and with none
    any id is taken for one.
    """
    used: set[Entry] = set()
    marks: dict[_Holder, Resource] = {}
    written: set[_Holder] = set()
    for resource in resources:
        if resource.kind in _INPUT:
            written.add(_holder(resource))
        if _marks(resource):
            marks[_holder(resource)] = resource
    met: set[tuple[_Holder, str]] = set()
    left: list[Problem] = []
    for problem in problems:
        holders = _holders(problem)
        met.update((holder, problem.id) for holder in holders)
        by = [entry for entry in ignored if _suppresses(entry, problem)]
        used.update(by)
        key = ACKNOWLEDGED + problem.id
        may = problem.severity != "error" or written.isdisjoint(holders)
        held = [marks[at].annotations for at in holders if may and at in marks]
        if not by and not any(notes.get(key, "").strip() for notes in held):
            left.append(problem)
    left += [entry.problem for entry in ignored if entry not in used]
    for holder, resource in marks.items():
        left += _of_annotations(resource, {ident for at, ident in met if at == holder}, known)
    return tuple(left)


def acknowledged(
    problems: Sequence[Problem], sources: Iterable[Source], ignored: Sequence[Entry]
) -> tuple[Problem, ...]:
    """Return the problems of an input but the warnings that are suppressed.

    What is wrong with the reasons themselves is for `validate` to say; no reason lets a render go on.
    """
    if len(errors(problems)) == len(problems):
        return tuple(problems)
    left = suppress(problems, inputs(sources), ignored)
    return tuple(problem for problem in problems if problem.severity == "error" or problem in left)


def inputs(sources: Iterable[Source]) -> list[Resource]:
    """Return documents of our own input formats as objects that may carry annotations."""
    return [Resource(source.data, source.file.path, source) for source in sources]


_Holder = tuple[str, str]
"""The file of an object, and the object; a document of our input formats is known by its name alone."""


def _holder(resource: Resource) -> _Holder:
    if resource.kind == "TPUWorkload":
        return "", f"{resource.kind} {resource.namespace or 'default'}/{resource.name}"
    return ("" if resource.kind == "TPUCluster" else resource.file), resource.subject


def _holders(problem: Problem) -> list[_Holder]:
    """Return where a reason may be: at the object of a problem, and at what it is rendered from."""
    folder = problem.folder or problem.file
    own = "" if problem.object.startswith(("TPUWorkload ", "TPUCluster ")) else folder
    match folder.split("/"):
        case ["overlays", cluster, below, *_] if below.startswith("_"):
            return [(own, problem.object), ("", f"TPUCluster {cluster}")]
        case ["overlays", _, namespace, name, *_]:
            return [(own, problem.object), ("", f"TPUWorkload {namespace}/{name}")]
    return [(own, problem.object)]


def _marks(resource: Resource) -> list[str]:
    return [key for key in resource.annotations if key.startswith(ACKNOWLEDGED)]


def _of_annotations(
    resource: Resource, met: Collection[str], known: Callable[[], Collection[str]]
) -> list[Problem]:
    found = []
    for key in _marks(resource):
        rule = key.removeprefix(ACKNOWLEDGED)
        path: Path = ("metadata", "annotations", key)
        if not resource.annotations[key].strip():
            message = f"{rule} is ignored without a reason, so it is still reported"
            found.append(resource.problem("IGN101", path, message, _WHY, severity="warning"))
        elif rule not in met:
            found.append(_idle(resource, path, rule, known()))
    return found


def _idle(resource: Resource, path: Path, rule: str, known: Collection[str]) -> Problem:
    if known and rule not in known:
        message = f"rule '{rule}' is not defined, so nothing is ignored"
        return resource.problem(
            "IGN103", path, message, did_you_mean(rule, known), severity="warning", key=True
        )
    message, hint = f"nothing here breaks {rule}", "remove the annotation"
    return resource.problem("IGN102", path, message, hint, severity="warning")


def _suppresses(entry: Entry, problem: Problem) -> bool:
    places = (problem.file, problem.folder or problem.file)
    if entry.rule != problem.id or not any(fnmatchcase(place, entry.file) for place in places):
        return False
    kind, _, name = problem.object.partition(" ")
    names = (problem.object, f"{kind} default/{name}") if "/" not in name else (problem.object,)
    return any(fnmatchcase(named, entry.object) for named in names)
