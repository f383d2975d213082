"""The semantic rules: our own, and those of packages that are installed beside slicewright."""

import re
import sys
from functools import cache
from pathlib import Path

from msgspec import Struct

from slicewright.kubernetes.problem import Problem
from slicewright.objects import Rule

GROUP = "slicewright.rules"
"""The entry points that lead to a package's tuple of rules."""
_ID = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")
"""What the id of another package's rule looks like; no id of slicewright has a hyphen, in any release."""


class Added(Struct, frozen=True):
    """The rules of other packages, and what is wrong with them."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()


def semantic_rules() -> tuple[Rule, ...]:
    """Return all rules; our own are imported here because that takes its time."""
    from slicewright.check.rules.every import RULES  # noqa: PLC0415

    return (*RULES, *added().rules)


@cache
def added() -> Added:
    """Return the rules of other packages; those of a package that is broken are left out, with a problem."""
    if not _is_announced():
        return Added()
    from importlib.metadata import entry_points  # noqa: PLC0415

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
