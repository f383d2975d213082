"""Objects that something completes before a cluster gets them: a kustomization or a program."""

import re
from functools import lru_cache

from msgspec.structs import replace

from slicewright.core.check.model import Resource
from slicewright.core.problem import Problem

_TEMPLATE = r"(?:[^/]*[-_])?templates?(?:[-_][^/]*)?"
_NAME = re.compile(
    rf"(?:^|/)(?:bases?|bases?[-_][^/]*|[^/]*[-_]bases?|{_TEMPLATE}|testing-manifests)(?:[/.]|$)"
)
"""`testing-manifests`: the end-to-end tests of Kubernetes put these into a namespace of their own."""
_IN_TEMPLATES = re.compile(rf"(?:^|/){_TEMPLATE}/")
_CALLED_TEMPLATE = re.compile(rf"(?:^|/){_TEMPLATE}(?:[/.]|$)")
_MARK = re.compile(r"(?i)todo|fixme|replace|change[ _-]?me|fill[ _-]in|##")
_TODO = re.compile(
    r"""(?i):[ \t]*(?:""|''|0|null|~)?[ \t]*\#[ \t]*(?:todo|fixme)\b"""
    r"""|[ \t]\#[ \t]*(?:(?:todo|fixme):?[ \t]+(?:change|set|replace|remove|update|fill)"""
    r"""|replace[ \t]+(?:with|this|me)|change[ _-]?me|fill[ _-]in)\b"""
    r"""|:[ \t]+\#\#\w+\#\#"""
)
"""A line with an empty value, or 0, and a comment with TODO; one whose comment is to change the value; or
one whose value is a placeholder that YAML reads as a comment: `image: ##IMAGE##`."""
_COMPLETED = frozenset({"JS122", "REF131", "SCHEMA005"})
"""What is added: namespaces, labels with their selectors, images, all that is required."""
_METADATA = frozenset({"apiVersion", "kind", "metadata"})
_LACKS = re.compile(
    r" is missing$|^the pods have no container$|^selector is empty$|^resources has no "
    r"|^type \S+ needs the key "
)
"""What is left out, and lists and selectors that are left empty, for a program or a kustomization."""


def is_called_partial(name: str) -> bool:
    """Tell whether a file or a folder is called a base or a template, or is in one that is."""
    return _NAME.search(name) is not None


def is_called_template(name: str) -> bool:
    """Tell whether a file or a folder is called a template, or is in one that is."""
    return _CALLED_TEMPLATE.search(name) is not None


def is_pod_template(resource: Resource) -> bool:
    """Tell whether a Pod has no name: a program such as Spark or Jenkins reads it, and completes it."""
    return resource.kind == "Pod" and not resource.server_name


def is_of_metadata(resource: Resource) -> bool:
    """Tell whether an object has labels or annotations and nothing else: these are for one that exists."""
    return resource.data.keys() <= _METADATA and bool(resource.labels or resource.annotations)


def as_note(
    problem: Problem,
    *,
    adds_volumes: bool = False,
    is_pod_template: bool = False,
    is_template: bool = False,
) -> Problem:
    """Return a problem of a partial object: a note if something is missing.

    A program adds volumes too, and so may a patch that is not there. What reads pod templates takes a number
    in a label for text. The program that reads a template may have keys of its own beside `spec`.
    """
    is_missing = (
        problem.id in _COMPLETED
        or _LACKS.search(problem.message)
        or (adds_volumes and problem.id == "JS125")
        or (is_pod_template and problem.id == "SCHEMA003" and problem.path[:1] == ("metadata",))
        or (is_template and problem.id == "SCHEMA004" and len(problem.path) == 1)
    )
    return replace(problem, severity="note") if is_missing else problem


def of_template(problem: Problem) -> Problem:
    """Return a problem of a build: a note if a kustomization in a folder of templates is not whole yet.

    A program fills it in and writes it elsewhere, where its paths lead to what is there.
    """
    is_unfinished = problem.id in ("KUS001", "KUS011") or problem.id.startswith("YAML")
    is_of_template = is_unfinished and _IN_TEMPLATES.search(problem.file)
    return replace(problem, severity="note") if is_of_template else problem


def of_todo(problem: Problem, text: str) -> Problem:
    """Return a problem in a text: a note if a comment beside it says that somebody still writes its value."""
    return replace(problem, severity="note") if problem.line in _todo_lines(text) else problem


@lru_cache(maxsize=1)
def _todo_lines(text: str) -> frozenset[int]:
    """Return the numbers of such lines, from 1. The problems of a text come one after another.

    A comment in lines of its own, as deep as the line below them, is of that line.
    """
    numbers: set[int] = set()
    above: list[str] = []
    for number, line in enumerate(text.splitlines(), 1) if _MARK.search(text) else ():
        content = line.lstrip()
        if content.startswith("#"):
            above.append(line)
            continue
        depth = len(line) - len(content)
        comments = (comment[depth:] for comment in above if comment.find("#") == depth)
        if _TODO.search(line) or any(_TODO.search(f"{line} {comment}") for comment in comments):
            numbers.add(number)
        above = []
    return frozenset(numbers)
