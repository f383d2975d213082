"""`slicewright rule`: what the id of a problem means, and what to do about it."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import candidates, show
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.core.problem import did_you_mean, family
from slicewright.workspace.meaning import FIXES, all_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.workspace.meaning import Meaning

_WIDTH = 100
_EXAMPLES = {
    "workload": "example, in the spec of a TPUWorkload",
    "cluster": "example, in the spec of a TPUCluster",
    "file": "example, a file in workloads/",
    "manifest": "example, a manifest",
    "message": "example, as it is printed",
}


@command("slicewright rule TPU003")
@click.argument("ident", metavar="[ID]", required=False, shell_complete=candidates.ids)
def rule(ident: str | None, output: str) -> None:
    """Say what the id of a problem means, and what to do.

    ID is one that a command printed, such as TPU003. A group, such as TPU, is listed; without ID all are.
    """
    rules = all_rules()
    if ident is None:
        _list(rules, output)
        return
    chosen = {one.id: one for one in rules}.get(ident.upper())
    group = [one for one in rules if family(one.id) == ident.upper()]
    if group:
        _list(group, output)
        return
    if chosen is None:
        hint = did_you_mean(ident.upper(), [one.id for one in rules])
        raise show.unknown(f"there is no rule '{ident}'", hint or "slicewright rule lists them")
    if output == "json":
        show.as_json(_record(chosen))
        return
    _print(chosen)


def _list(rules: Sequence[Meaning], output: str) -> None:
    if output == "json":
        show.as_json([_record(one) for one in rules])
    else:
        show.table(("ID", "SEVERITY", "PROBLEM"), ((one.id, one.severity, one.title) for one in rules))


def _record(one: Meaning) -> dict[str, Any]:
    return {
        "id": one.id,
        "severity": one.severity,
        "title": one.title,
        "why": one.why,
        "hint": one.hint,
        "fix": one.fix,
        "kinds": list(one.kinds),
        "sources": list(one.sources),
        "example": one.example,
    }


def _print(one: Meaning) -> None:
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    say(f"{one.id} ({one.severity}): {one.title}")
    for head, text in (
        ("why", one.why),
        ("hint", one.hint),
        ("fix", FIXES[one.fix]),
        ("kinds", ", ".join(one.kinds)),
        ("sources", "; ".join(one.sources)),
    ):
        if text:
            say("")
            say(textwrap.fill(f"{head}: {text}", width, subsequent_indent="  ", break_on_hyphens=False))
    if one.example:
        say(f"\n{_EXAMPLES[one.example_of]}:\n\n{textwrap.indent(one.example.rstrip(), '    ')}")
    if one.page:
        say(f"\npage: {one.page}")
