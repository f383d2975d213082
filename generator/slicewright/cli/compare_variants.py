"""How variants of a rehearsal compare: what is compared is played, and printed in tables, JSON or a page."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from slicewright.cli import show
from slicewright.cli.changed import families_of_change, new_errors
from slicewright.cli.play import clock, exit_code, play_all
from slicewright.cli.report import page_file
from slicewright.cli.streams import say
from slicewright.cli.what_if import play_family, variant_scenarios
from slicewright.kubernetes.problem import counted, from_record
from slicewright.rehearse.model.comparison import Group, Noise, added_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slicewright.cli.what_if import Family, Variant
    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.project.repository_reader import Checkout
    from slicewright.rehearse.scenario import Scenario
    from slicewright.rehearse.session import Result


def families(
    checkout: Checkout,
    clusters: list[str],
    asked: tuple[Variant, ...],
    changed: str | None,
    scenarios: list[Scenario],
    tell: Callable[[str], None],
) -> list[Family]:
    """Return what is compared: variants of one cluster, or each cluster that changed since a revision."""
    repository = checkout.repository
    if changed is not None:
        return families_of_change(checkout.root, changed, scenarios, repository.sites, tell)
    show.stop_for_errors(repository.problems)
    used = {name for workload in repository.workloads for name in workload.clusters}
    choices = [name for name in clusters if name in used]
    if len(choices) > 1:
        raise show.unknown("variants are about one cluster: name it", f"write one of: {', '.join(choices)}")
    return [variant_scenarios(checkout, (choices or clusters)[0], asked)]


def compare(
    families: Iterable[Family],
    repeat: int,
    times: Mapping[str, Any],
    run: Callable[..., Result],
    html: Path | None,
    output: str,
    *,
    jobs: int,
    is_sweep: bool,
    share: float | None,
) -> NoReturn:
    """Play variants, those of a cluster at one speed, print how they compare, and end the command.

    Where a `share` is given they are a change: what got worse by more than it is an error.
    """
    groups: list[Group] = []
    problems: tuple[Problem, ...] = ()
    code = new = 0
    for family in families:
        time = max((clock(scenario, times) for scenario in family.scenarios), key=lambda each: each.speed)
        records, played = play_family(family, repeat, time.speed, partial(play_all, run, time, jobs))
        if records:
            groups.append(Group(records, Noise(time.speed, repeat)))
        if len(records) < len(family.variants):
            problems, code = played[-1].report.problems, exit_code(played)
            break
        if share is not None:
            new += len(new_errors(family, groups[-1], share))
    if code and not groups:
        show.stop(problems, code)
    _finish(groups, html, output, problems, code=code, new=new, is_sweep=is_sweep and not code)


def _finish(
    groups: Sequence[Group],
    html: Path | None,
    output: str,
    problems: tuple[Problem, ...],
    *,
    code: int,
    new: int,
    is_sweep: bool,
) -> NoReturn:
    """Print groups of variants, write their page, and end the command; `new` errors came with a change."""
    problems += page_file.publish(html, "variants", partial(page_file.render_variants, groups))
    _write(groups, output, is_sweep=is_sweep)
    show.messages(problems)
    if new:
        say(f"the change brings {counted(new, 'error')}", err=True)
    sys.exit(code or int(bool(problems or new)))


def _write(groups: Sequence[Group], output: str, *, is_sweep: bool) -> None:
    if output == "json":
        noises = [group.noise for group in groups] or [Noise(0.0)]
        show.as_json(
            {
                "resolution": round(max(noise.resolution for noise in noises), 3),
                "repetitions": noises[0].repetitions,
                "variants": [record for group in groups for record in group.variants],
            }
        )
        return
    for group in groups:
        for line in _lines(group, is_sweep=is_sweep):
            say(line)


def _lines(group: Group, *, is_sweep: bool) -> Iterator[str]:
    from slicewright.rehearse.report.variants_text import (  # noqa: PLC0415
        curve,
        head_line,
        labelled,
        tables,
    )

    yield head_line(group)
    group = labelled(group)
    base, *others = group.variants
    if others:
        yield "\nverdict"
    yield from (f"  {record['verdict']}" for record in others)
    for table in tables(group):
        yield f"\n{table.title}"
        yield from (f"  {line}" for line in show.table_lines(table.head, table.rows))
    if is_sweep:
        yield ""
        yield from curve(others, group.noise)
    yield from (_text(base, problem) for problem in base["problems"])
    yield from (_text(record, problem) for record in others for problem in added_problems(base, record))


def _text(record: Object, problem: Object) -> str:
    return f"\n{record['name']}: {from_record(problem).text()}"
