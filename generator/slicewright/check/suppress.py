"""Problems are ignored with a reason: an annotation on the object, a comment, or `.slicewright-ignore.yaml`.

Each may suppress any problem of an object. A reason that is empty suppresses nothing,
and one that meets no problem is a problem itself. An annotation or a comment of a TPUWorkload or TPUCluster
ignores warnings, of the file and of the objects that are rendered from it, and no errors. Nor does an
annotation of a rendered object, which patches and components of the same file write.

A comment is `# slicewright: ignore TPU119,KQ111 reason`. It is about its own line, alone on a line about the
next one, and above the first line of a document about all of that.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from slicewright.document.read import read_documents
from slicewright.document.tree import comments
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.fields import mapping, text
from slicewright.kubernetes.labels import ACKNOWLEDGED
from slicewright.kubernetes.problem import Path, Problem, did_you_mean, errors, family, selectors
from slicewright.objects import Resource

FILE_NAME = ".slicewright-ignore.yaml"
UNUSED = "nothing here has the problem"
UNKNOWN = "is not defined, so nothing is ignored"
NO_REASON = "is ignored without a reason, so it is still reported"
WHY = "add a reason: a reader must know why this is not a problem here"
_FORM = "write # slicewright: ignore ID reason"
_KEYS = ("rule", "object", "file", "reason")
_COMMENT = re.compile(
    r"#\s*slicewright:\s*("
    r"ignore\b\s*(?P<ids>[\w-]+(?:\s*,\s*[\w-]+)*)?\s*(?P<reason>.*)"
    r"|(?P<word>[\w-]+)[\s,=:]+[A-Z]+[0-9]*\b)"
)
"""A comment that ignores, or one with another word and what looks like an id."""


class Entry(Struct, frozen=True):
    """What an entry of the file or a comment suppresses. Patterns are those of a shell, `*` matching all."""

    rule: str
    """An id, or the letters of a family."""
    object: str
    file: str
    """A pattern of the whole path; of a comment its file, as reports name it."""
    problem: Problem
    """What to report where the entry suppresses nothing."""
    base: str = ""
    """The folder that reported names are relative to."""
    lines: range = range(0)
    """The lines that a comment is about."""
    of_input: bool = False
    """Whether it is a comment of an input file, which suppresses no error."""

    def suppresses(self, problem: Problem) -> bool:
        """Tell whether it suppresses a problem of its rule."""
        if self.lines:
            may = not self.of_input or problem.severity != "error"
            return may and problem.file == self.file and problem.line in self.lines
        places = (problem.file, problem.folder or problem.file)
        paths = (place if place.startswith("/") else f"{self.base}/{place}" for place in places)
        kind, _, name = problem.object.partition(" ")
        names = {problem.object, problem.object if "/" in name else f"{kind} default/{name}"}
        return any(fnmatchcase(path, self.file) for path in paths) and any(
            fnmatchcase(name, self.object) for name in names
        )


class Entries:
    """Entries by their rules and lines, so that a problem is compared with few of many."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._alike: dict[_About, list[Entry]] = defaultdict(list)
        for entry in entries:
            about = (entry.rule, entry.file, entry.lines, entry.object, entry.base)
            self._alike[about].append(entry)
        self._patterns: dict[str, list[_About]] = defaultdict(list)
        documents: dict[str, set[range]] = defaultdict(set)
        for about in self._alike:
            rule, file, lines, *_ = about
            if not lines:
                self._patterns[rule].append(about)
            elif len(lines) > 1:
                documents[file].add(lines)
        self._documents = {file: sorted(ranges, key=_start) for file, ranges in documents.items()}
        self._used: set[_About] = set()

    def suppress(self, problem: Problem) -> bool:
        """Tell whether an entry suppresses a problem, and take note of all that do."""
        documents = self._documents.get(problem.file, [])
        at = bisect_right(documents, problem.line, key=_start)
        places = (range(problem.line, problem.line + 1), *documents[max(at - 1, 0) : at])
        by = [
            about
            for rule in (problem.id, family(problem.id))
            for about in (
                *((rule, problem.file, lines, "*", "") for lines in places),
                *self._patterns.get(rule, ()),
            )
            if about in self._alike and self._alike[about][0].suppresses(problem)
        ]
        self._used.update(by)
        return bool(by)

    def unused(self) -> list[Problem]:
        """Return what to report of the entries that suppressed nothing."""
        idle = (entries for about, entries in self._alike.items() if about not in self._used)
        return [entry.problem for entry in chain.from_iterable(idle)]


_About = tuple[str, str, range, str, str]
"""What an entry is about; the object and the folder are those of any comment, or of a pattern."""
_start = attrgetter("start")


class Ignores(Struct, frozen=True):
    """Reasons to ignore problems, and the problems of these reasons."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_ignores(
    text_of_file: str, file: str, known: Iterable[str] = (), folder: str = "", base: str = ""
) -> Ignores:
    """Return the entries of an ignore file.

    The file is `ignore:` with a list of `{rule, object, file, reason}`; `object` is a pattern of
    `Kind namespace/name`, `file` one of the path below the `folder` of the ignore file, and either may be
    left out for all. `base` is the folder that reported names are relative to. `known` are the ids of rules,
    for hints about misspelt ones.
    """
    documents, problems = read_documents(text_of_file, file)
    results: list[Entry | Problem] = [*problems]
    names = selectors(known)
    below = re.sub(r"([*?[])", r"[\1]", folder)
    for document in documents:
        source = Source(SourceFile(file, text_of_file), document)
        data = mapping(document.data)
        if set(data) != {"ignore"} or not isinstance(data["ignore"], list):
            hint = "write ignore: with a list of {rule, object, reason}"
            message = "expected a mapping with the one key 'ignore'"
            results.append(source.problem("IGN103", (), message, hint, warning=True))
            continue
        results += (_entry(source, index, names, (below, base)) for index, _ in enumerate(data["ignore"]))
    return _ignores(results)


def _ignores(results: Collection[Entry | Problem]) -> Ignores:
    entries = tuple(result for result in results if isinstance(result, Entry))
    return Ignores(entries, tuple(result for result in results if isinstance(result, Problem)))


def _entry(source: Source, index: int, names: Collection[str], places: tuple[str, str]) -> Entry | Problem:
    path: Path = ("ignore", index)
    fields = mapping(source.data["ignore"][index])
    wrong = [key for key in fields if key not in _KEYS or not isinstance(fields[key], str)]
    if wrong or not text(fields.get("rule")):
        message = (
            f"field '{wrong[0]}' of an entry is unknown, or not a text" if wrong else "an entry names no rule"
        )
        hint = "write rule, reason, and object or file, each as a text"
        return source.problem("IGN103", path, message, hint, warning=True)
    rule = fields["rule"]
    if names and rule not in names:
        message = f"rule '{rule}' is not defined"
        return source.problem("IGN103", (*path, "rule"), message, did_you_mean(rule, names), warning=True)
    if not text(fields.get("reason")).strip():
        return source.problem("IGN101", path, f"{rule} {NO_REASON}", WHY, warning=True)
    about = [f"about an object '{fields['object']}'"] if "object" in fields else []
    about += [f"in a file '{fields['file']}'"] if "file" in fields else []
    message = f"no {rule} problem is {' '.join(about)}" if about else f"{UNUSED} {rule}"
    unused = source.problem("IGN102", path, message, "remove the entry", warning=True)
    below, base = places
    return Entry(rule, fields.get("object", "*"), f"{below}/{fields.get('file', '*')}", unused, base)


def of_comments(texts: Iterable[tuple[SourceFile, bool]], known: Callable[[], Collection[str]]) -> Ignores:
    """Return what the comments of some files suppress; each comes with whether it is an input file."""
    results: list[Entry | Problem] = []
    all_comments = [
        (file.path, of_input, comment)
        for file, of_input in texts
        if "slicewright:" in file.text
        for comment in comments(file.text, _COMMENT)
    ]
    if not all_comments:
        return Ignores()
    names = selectors(known())
    for path, of_input, comment in all_comments:
        at = Problem("", "", severity="warning", file=path, line=comment.line, column=comment.column)
        if comment.text["word"]:
            message = f"a comment of slicewright cannot say '{comment.text['word']}', so nothing is ignored"
            results.append(replace(at, id="IGN103", message=message, hint=_FORM))
            continue
        for rule in re.findall(r"[\w-]+", comment.text["ids"] or "") or [""]:
            if not rule:
                results.append(replace(at, id="IGN103", message="a comment names no rule", hint=_FORM))
            elif names and rule not in names:
                message, hint = f"rule '{rule}' {UNKNOWN}", did_you_mean(rule, names)
                results.append(replace(at, id="IGN103", message=message, hint=hint or _FORM))
            elif not comment.text["reason"].strip():
                results.append(replace(at, id="IGN101", message=f"{rule} {NO_REASON}", hint=WHY))
            else:
                unused = replace(at, id="IGN102", message=f"{UNUSED} {rule}", hint="remove the comment")
                results.append(Entry(rule, "*", path, unused, "", comment.lines, of_input))
    return _ignores(results)


_INPUT = ("TPUWorkload", "TPUCluster")


def suppress(
    problems: Iterable[Problem],
    resources: Iterable[Resource],
    ignored: Sequence[Entry] = (),
    known: Callable[[], Collection[str]] = tuple,
) -> tuple[Problem, ...]:
    """Return the problems that no reason suppresses, and the problems of the reasons.

    `known` returns the existing ids. It is called only if an annotation matches no problem; if it returns no
    id, every id counts as existing.
    """
    marks: dict[_Holder, Resource] = {}
    input_holders: set[_Holder] = set()
    texts: dict[str, tuple[SourceFile, bool]] = {}
    for resource in resources:
        of_input = resource.kind in _INPUT
        if of_input:
            input_holders.add(_holder(resource))
        if resource.source:
            file = resource.source.file
            texts[file.path] = (file, of_input or texts.get(file.path, (file, False))[1])
        if _marks(resource):
            marks[_holder(resource)] = resource
    comments = of_comments(texts.values(), known)
    entries = Entries((*ignored, *comments.entries))
    met: dict[_Holder, set[str]] = defaultdict(set)
    left: list[Problem] = [*comments.problems]
    for problem in problems:
        holders = _holders(problem)
        for holder in holders:
            met[holder].add(problem.id)
        is_ignored = entries.suppress(problem)
        key = ACKNOWLEDGED + problem.id
        may = problem.severity != "error" or input_holders.isdisjoint(holders)
        held = [marks[at].annotations for at in holders if may and at in marks]
        if not is_ignored and not any(notes.get(key, "").strip() for notes in held):
            left.append(problem)
    left += entries.unused()
    for holder, resource in marks.items():
        left += _problems_of_marks(resource, met[holder], known)
    return tuple(left)


def may_suppress(resources: Iterable[Resource], ignored: Sequence[Entry] = ()) -> bool:
    """Tell whether `suppress` may find a reason: quickly, and true if a text only looks like one."""
    files = {resource.source.file.path: resource.source.file for resource in resources if resource.source}
    has_comment = any("slicewright:" in file.text for file in files.values())
    return bool(ignored) or has_comment or any(map(_marks, resources))


def acknowledged(
    problems: Sequence[Problem], sources: Iterable[Source], ignored: Sequence[Entry]
) -> tuple[Problem, ...]:
    """Return the problems of an input without the warnings that are suppressed.

    `validate` reports problems of the reasons themselves. No reason makes a render ignore an error.
    """
    if len(errors(problems)) == len(problems):
        return tuple(problems)
    left = set(map(id, suppress(problems, inputs(sources), ignored)))
    return tuple(problem for problem in problems if problem.severity == "error" or id(problem) in left)


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


def _problems_of_marks(
    resource: Resource, met: Collection[str], known: Callable[[], Collection[str]]
) -> Iterator[Problem]:
    for key in _marks(resource):
        rule = key.removeprefix(ACKNOWLEDGED)
        problem = partial(resource.problem, path=("metadata", "annotations", key), severity="warning")
        if not resource.annotations[key].strip():
            yield problem("IGN101", message=f"{rule} {NO_REASON}", hint=WHY)
        elif rule not in met:
            names = known()
            if names and rule not in names:
                hint = did_you_mean(rule, names)
                yield problem("IGN103", message=f"rule '{rule}' {UNKNOWN}", hint=hint, key=True)
            else:
                yield problem("IGN102", message=f"{UNUSED} {rule}", hint="remove the annotation")
