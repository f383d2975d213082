"""`slicewright rule`: what the id of a problem means, and what to do about it."""

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from slicewright.check.io.meaning import FIXES, Meaning, all_rules
from slicewright.cli import show
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import did_you_mean, family
from slicewright.kubernetes.types import plain

_WIDTH = 100
_FIELDS = ("id", "severity", "title", "why", "hint", "fix", "kinds", "sources", "example")
_EXAMPLES = {
    "workload": "example, in the spec of a TPUWorkload",
    "cluster": "example, in the spec of a TPUCluster",
    "file": "example, a file in workloads/",
    "manifest": "example, a manifest",
    "message": "example, as it is printed",
}


@command("slicewright rule TPU003")
@click.argument("ident", metavar="[ID]", required=False)
def rule(ident: str | None, output: str) -> None:
    """Explain the id of a problem, and how to fix it.

    ID is an id in the output of a command, such as TPU003. A family, such as TPU, lists its ids; without ID
    all ids are listed.
    """
    rules = all_rules()
    if ident is None:
        _list(rules, output)
        return
    by_id = {meaning.id: meaning for meaning in rules}
    group = [meaning for meaning in rules if family(meaning.id) == ident.upper()]
    if group:
        _list(group, output)
        return
    chosen = by_id.get(ident.upper())
    if chosen is None:
        hint = did_you_mean(ident.upper(), by_id)
        raise show.unknown(f"there is no rule '{ident}'", hint or "slicewright rule lists them")
    if output == "json":
        show.as_json(_record(chosen))
        return
    _print(chosen)


def _list(rules: Sequence[Meaning], output: str) -> None:
    if output == "json":
        show.as_json([_record(meaning) for meaning in rules])
    else:
        rows = ((meaning.id, meaning.level, meaning.title) for meaning in rules)
        show.table(("ID", "SEVERITY", "PROBLEM"), rows)


def _record(meaning: Meaning) -> dict[str, Any]:
    return {field: plain(getattr(meaning, field)) for field in _FIELDS}


def _print(meaning: Meaning) -> None:
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    say(f"{meaning.id} ({meaning.level}): {meaning.title}")
    for head, text in (
        ("why", meaning.why),
        ("hint", meaning.hint),
        ("fix", FIXES[meaning.fix]),
        ("kinds", ", ".join(meaning.kinds)),
        ("sources", "; ".join(meaning.sources)),
    ):
        if text:
            say("")
            say(textwrap.fill(f"{head}: {text}", width, subsequent_indent="  ", break_on_hyphens=False))
    if meaning.example:
        say(f"\n{_EXAMPLES[meaning.example_of]}:\n\n{textwrap.indent(meaning.example.rstrip(), '    ')}")
    if meaning.page:
        say(f"\npage: {meaning.page}")
