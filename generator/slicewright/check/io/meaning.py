"""The semantic rules, our own and those of other packages, and what each id of a problem means."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from slicewright.documentation import rule_page
from slicewright.kubernetes.problem import Problem, Severity
from slicewright.objects import Rule
from slicewright.rendering.io.package_data import texts

GROUP = "slicewright.rules"
"""The entry points that lead to a package's tuple of rules."""
_ID = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")
"""What the id of another package's rule looks like; no id of slicewright has a hyphen, in any release."""


class Added(Struct, frozen=True):
    """The rules of other packages, and the problems of loading them."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()


def semantic_rules() -> tuple[Rule, ...]:
    """Return all rules."""
    from slicewright.check.rules.every import RULES  # noqa: PLC0415 - 100 ms that `ids` and `added` do not need

    return (*RULES, *added().rules)


@cache
def added() -> Added:
    """Return the rules of other packages; those of a package that is broken are left out, with a problem."""
    if not _is_announced():
        return Added()
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms

    rules: dict[str, Rule] = {}
    problems: list[Problem] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        package = f"package {point.dist.name}" if point.dist else f"entry point {point.name}"
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            problems.append(Problem("EXT001", f"{package}: {point.value} cannot be imported: {error}", _MEND))
            continue
        if not isinstance(loaded, tuple) or not all(isinstance(rule, Rule) for rule in loaded):
            message = f"{package}: {point.value} is not a tuple of slicewright.objects.Rule"
            problems.append(Problem("EXT001", message, _MEND))
            continue
        for rule in loaded:
            if not _ID.fullmatch(rule.id):
                message = f"{package}: rule id '{rule.id}' must be letters, a hyphen and a number"
                problems.append(
                    Problem(
                        "EXT002",
                        message,
                        "write an id such as ACME-101; only ids of slicewright have no hyphen",
                    )
                )
            elif rules.setdefault(rule.id, rule) is not rule:
                message = f"{package}: another rule already has the id {rule.id}"
                problems.append(Problem("EXT002", message, "choose an id with other letters"))
    return Added(tuple(rules.values()), tuple(problems))


_MEND = "repair the package, or uninstall it"


def _is_announced() -> bool:
    """Tell whether a package names rules: importlib.metadata takes longer to import than this to look."""
    return any(
        GROUP in file.read_text(encoding="utf-8", errors="replace")
        for folder in sys.path
        for file in Path(folder).glob("*-info/entry_points.txt")
    )


SUBJECTS = (
    "yaml",
    "input",
    "plan",
    "platform",
    "controllers",
    "queues",
    "tree",
    "rehearsal",
    "import",
    "status",
    "reasons",
    "gitops",
    "tools",
    "objects",
    "retired",
)
"""The files of problems/, in the order of their page."""
RULE_SUBJECTS = (
    "tpu",
    "js",
    "kq",
    "pw",
    "ref",
    "fit",
    "git",
    "kus",
    "lws",
    "ray",
    "train",
    "cc",
    "slice",
    "mk",
)
"""The files of problems/rules/ in the order of their page, by the letters of the ids."""
ExampleOf = Literal["workload", "cluster", "file", "manifest", "message"]
EXAMPLES: tuple[ExampleOf, ...] = ("workload", "cluster", "file", "manifest", "message")
FIXES = {"": "", "safe": "validate --fix", "unsafe": "validate --fix --unsafe"}
"""The command that removes a problem, if one can."""


class Meaning(Struct, frozen=True):
    """What an id says, why it matters and what to do."""

    id: str
    severity: Severity
    title: str
    """One line: what is wrong."""
    why: str
    """What happens then, and who says so."""
    hint: str
    """What to write or do instead."""
    kinds: tuple[str, ...] = ()
    """The kinds of Kubernetes objects that a rule looks at; empty: it is about something else, or all."""
    sources: tuple[str, ...] = ()
    example: str = ""
    example_of: ExampleOf = "message"
    """Where it belongs: lines of a spec, a file of the input, a manifest; or it is what is printed."""
    fix: Literal["", "safe", "unsafe"] = ""
    """Whether `validate --fix` can correct it, or only with `--unsafe`."""
    is_retired: bool = False
    """Whether no command prints it any more; notes and old output still name it."""

    @property
    def level(self) -> str:
        """Return the severity, or that the id is retired."""
        return "retired" if self.is_retired else self.severity

    @property
    def page(self) -> str:
        """Return the address of its page; '' for the rule of another package, whose id has a hyphen."""
        return "" if "-" in self.id else rule_page(self.id)


class Subject(Struct, frozen=True):
    """Ids that are about one thing."""

    title: str
    intro: str
    meanings: tuple[Meaning, ...]


def subjects() -> tuple[Subject, ...]:
    """Return the texts of problems that are not rules: about input, tree, tools and command lines."""
    return tuple(_subject(name) for name in SUBJECTS)


def rule_subjects() -> tuple[Subject, ...]:
    """Return what the semantic rules of slicewright say."""
    return tuple(_subject(f"rules/{letters}") for letters in RULE_SUBJECTS)


def all_rules() -> tuple[Meaning, ...]:
    """Return what every id means, by id."""
    own = chain.from_iterable(subject.meanings for subject in (*subjects(), *rule_subjects()))
    others = (
        Meaning(
            rule.id, rule.severity, rule.title, rule.why, rule.hint, tuple(sorted(rule.kinds)), rule.sources
        )
        for rule in added().rules
    )
    return tuple(sorted((*own, *others), key=attrgetter("id")))


def ids() -> Iterator[str]:
    """Yield each id, without what it means."""
    for name in (*SUBJECTS, *(f"rules/{letters}" for letters in RULE_SUBJECTS)):
        yield from (entry["id"] for entry in texts(name)["problems"])
    yield from (rule.id for rule in added().rules)


def _subject(name: str) -> Subject:
    data = texts(name)
    return Subject(data["title"], data["intro"], tuple(_meaning(entry) for entry in data["problems"]))


@cache
def _rules() -> dict[str, Rule]:
    return {rule.id: rule for rule in semantic_rules()}


def _meaning(entry: dict[str, Any]) -> Meaning:
    if "retired" in entry:
        why = "Retired: nothing checks this any more."
        hint = "remove the id from files and options that name it"
        if said_by := entry["retired"]:
            why = f"Retired: {said_by} finds it now, at the same field."
            hint = f"see slicewright rule {said_by}"
        return Meaning(entry["id"], "error", entry["title"], why, hint, is_retired=True)
    rule = _rules().get(entry["id"])
    of: ExampleOf = next((name for name in EXAMPLES if name in entry), "message")
    return Meaning(
        id=entry["id"],
        severity=rule.severity if rule else entry.get("severity", "error"),
        title=entry["title"],
        why=entry["why"],
        hint=entry.get("hint") or (rule.hint if rule else ""),
        kinds=tuple(sorted(rule.kinds)) if rule else (),
        sources=tuple(entry.get("sources", ())),
        example=entry.get(of, ""),
        example_of=of,
        fix=entry.get("fix", ""),
    )
