"""What the id of a problem means: of every id that any command can print."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

if TYPE_CHECKING:
    from slicewright.core.check.model import Rule
    from slicewright.core.problem import Severity


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
    "reasons",
    "gitops",
    "tools",
)
"""The files of problems/, in the order of the page."""
ExampleOf = Literal["workload", "cluster", "file", "message"]
EXAMPLES: tuple[ExampleOf, ...] = ("workload", "cluster", "file", "message")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an id says, why it matters and what to do."""

    id: str
    severity: Severity
    title: str
    """One line: what must hold."""
    why: str
    """What happens otherwise, and who says so."""
    hint: str
    """What to write or do instead."""
    kinds: tuple[str, ...] = ()
    """The kinds of Kubernetes objects that a rule looks at; empty: it is about something else, or all."""
    sources: tuple[str, ...] = ()
    example: str = ""
    example_of: ExampleOf = "message"
    """Where the example stands: lines of a workload's or cluster's spec, a file, or what is printed."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Ids that are about one thing."""

    title: str
    intro: str
    meanings: tuple[Meaning, ...]


@cache
def subjects() -> tuple[Subject, ...]:
    """Return what no rule of validate says: what is wrong with input, tree, tools and command lines."""
    folder = Path(__file__).with_name("problems")
    return tuple(_subject(folder / f"{name}.yaml") for name in SUBJECTS)


def _subject(path: Path) -> Subject:
    data = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    return Subject(data["title"], data["intro"], tuple(_meaning(entry) for entry in data["problems"]))


def _meaning(entry: dict[str, str]) -> Meaning:
    of: ExampleOf = next(name for name in EXAMPLES if name in entry)
    return Meaning(
        id=entry["id"],
        severity="warning" if entry.get("severity") == "warning" else "error",
        title=entry["title"],
        why=entry["why"],
        hint=entry["instead"],
        example=entry[of],
        example_of=of,
    )


def of_rule(rule: Rule) -> Meaning:
    """Return what a rule of validate says of itself."""
    kinds = tuple(sorted(rule.kinds))
    return Meaning(rule.id, rule.severity, rule.title, rule.why, rule.hint, kinds, tuple(rule.sources))


def all_rules() -> tuple[Meaning, ...]:
    """Return what every id means, by id."""
    from slicewright.core.check.builtin import BUILT_IN  # noqa: PLC0415
    from slicewright.workspace.rules import semantic_rules  # noqa: PLC0415

    own = (of_rule(rule) for rule in (*BUILT_IN, *semantic_rules()))
    others = (one for subject in subjects() for one in subject.meanings)
    return tuple(sorted((*own, *others), key=lambda one: one.id))
