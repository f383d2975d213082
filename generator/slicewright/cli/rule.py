"""`slicewright rule`: what a rule means, and what to do about it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import show
from slicewright.cli.report.rules import all_rules
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from slicewright.core.check.rule import Rule

_WIDTH = 100


@click.command(context_settings=show.HELP)
@click.argument("ident", metavar="[ID]", required=False)
@show.output_option
def rule(ident: str | None, output: str) -> None:
    """Say what a rule means, or list all of them."""
    rules = all_rules()
    if ident is None:
        if output == "json":
            show.as_json([_record(one) for one in rules])
        else:
            show.table(
                ("ID", "SEVERITY", "WHAT MUST HOLD"), ((one.id, one.severity, one.title) for one in rules)
            )
        return
    chosen = {one.id: one for one in rules}.get(ident.upper())
    if chosen is None:
        hint = did_you_mean(ident.upper(), [one.id for one in rules])
        raise click.UsageError(f"there is no rule '{ident}'" + (f"; {hint}" if hint else ""))
    if output == "json":
        show.as_json(_record(chosen))
        return
    _print(chosen)


def _record(one: Rule) -> dict[str, Any]:
    return {
        "id": one.id,
        "severity": one.severity,
        "title": one.title,
        "why": one.why,
        "hint": one.hint,
        "kinds": sorted(one.kinds),
        "sources": list(one.sources),
    }


def _print(one: Rule) -> None:
    click.echo(f"{one.id} ({one.severity}): {one.title}")
    for head, text in (
        ("why", one.why),
        ("hint", one.hint),
        ("kinds", ", ".join(sorted(one.kinds))),
        ("sources", "; ".join(one.sources)),
    ):
        if text:
            click.echo()
            click.echo(textwrap.fill(f"{head}: {text}", _WIDTH, subsequent_indent="  "))
