"""Problems are ignored with a reason: an annotation on the object, a comment, or `.slicewright-ignore.yaml`.

Each may suppress any problem of an object. A reason that is empty suppresses nothing,
and one that meets no problem is a problem itself. An annotation or a comment of a TPUWorkload or TPUCluster
ignores warnings, of the file and of the objects that are rendered from it, and no errors. Nor does an
annotation of a rendered object, which patches and components of the same file write.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from slicewright.check.reasons import NO_REASON, UNKNOWN, UNUSED, WHY, Entries, Entry, of_comments
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.labels import ACKNOWLEDGED
from slicewright.kubernetes.problem import Problem, did_you_mean, errors
from slicewright.objects import Resource

_INPUT = ("TPUWorkload", "TPUCluster")


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
    """Tell whether `suppress` may meet a reason: quickly, and true where a text only looks like one."""
    files = {resource.source.file.path: resource.source.file for resource in resources if resource.source}
    has_comment = any("slicewright:" in file.text for file in files.values())
    return bool(ignored) or has_comment or any(map(_marks, resources))


def acknowledged(
    problems: Sequence[Problem], sources: Iterable[Source], ignored: Sequence[Entry]
) -> tuple[Problem, ...]:
    """Return the problems of an input but the warnings that are suppressed.

    What is wrong with the reasons themselves is for `validate` to say; no reason lets a render go on.
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
