"""`slicewright rehearse --what-if`, `--sweep` and `--changed`: rehearses variants, and compares them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.checkout import git_errors_shown
from slicewright.cli.play import Player, exit_code
from slicewright.cli.report import rehearsal_output
from slicewright.cli.streams import say
from slicewright.diff.io.changed_files import tree_before
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem, counted, errors, from_record
from slicewright.kubernetes.types import Object
from slicewright.project.judge import rendered
from slicewright.project.repository_reader import Checkout, WrongVersionError, read_checkout
from slicewright.rehearse.model.comparison import (
    BASE,
    Group,
    Noise,
    added_problems,
    longer_waits,
    measured,
    number,
    slower_arrivals,
)
from slicewright.rehearse.model.losses import losses_of
from slicewright.rehearse.model.time_span import shown_within
from slicewright.rehearse.model.variant_verdict import moved_runs, verdict
from slicewright.rehearse.report.tables import curve, head_line, labelled, tables
from slicewright.rehearse.scenario import Scenario
from slicewright.rehearse.scenario import scenarios as read_scenarios
from slicewright.rendering.changed_documents import (
    Change,
    ChangeError,
    changed_documents,
    read_changes,
    read_lines,
    read_sweep,
    without_quota,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.rehearse.model.clock import ClockSettings
    from slicewright.rehearse.session import Result


class Variant(Struct, frozen=True):
    """A variant: its name and its changes."""

    name: str
    changes: tuple[Change, ...] = ()

    @property
    def words(self) -> str:
        """Return its changes in words; of a file its name."""
        words = ", ".join(change.words() for change in self.changes)
        return words if self.name == _name(self.changes) else self.name


class Family(Struct, frozen=True):
    """Variants that are compared, the base first, and the scenario of each."""

    variants: tuple[Variant, ...]
    scenarios: tuple[Scenario, ...]


def _name(changes: Sequence[Change]) -> str:
    return ",".join(change.text for change in changes)


def read_variants(what_if: Sequence[str], sweep: str) -> tuple[Variant, ...]:
    """Return the base and the variants that the command line asks for. Raises Refused."""
    with_changes: list[tuple[str, tuple[Change, ...]]] = []
    try:
        for text in what_if:
            if text.startswith("@"):
                with_changes.append((Path(text[1:]).stem, _file_changes(text[1:])))
            else:
                changes = read_changes(text)
                with_changes.append((_name(changes), changes))
        if sweep:
            with_changes += [(_name(changes), changes) for changes in read_sweep(sweep)]
    except ChangeError as error:
        _refuse(error)
    names = [name for name, _ in with_changes]
    duplicate = next((name for name in names if names.count(name) > 1), "")
    if duplicate:
        raise show.unknown(f"two variants are called '{duplicate}'", "write each variant once")
    if BASE in names:
        hint = "rename the file: that is the name of the files as they are"
        raise show.unknown(f"a variant cannot be called '{BASE}'", hint)
    return Variant(BASE), *(Variant(name, changes) for name, changes in with_changes)


def _file_changes(name: str) -> tuple[Change, ...]:
    if not name:
        raise ChangeError("--what-if @ names no file")
    text = read_file(name, name)
    if isinstance(text, Problem):
        raise ChangeError(f"cannot read '{name}': {text.message}", text.hint)
    try:
        return read_lines(text)
    except ChangeError as error:
        raise ChangeError(f"{error} (in '{name}')", error.hint) from None


def _refuse(error: ChangeError) -> NoReturn:
    raise show.unknown(str(error), error.hint) from None if error.hint else show.Refused("USE004", str(error))


def variant_scenarios(checkout: Checkout, cluster: str, variants: tuple[Variant, ...]) -> Family:
    """Return the base and the variants with their scenarios, or end the command with all their problems."""
    scenarios: list[Scenario] = []
    wrong: list[Problem] = []
    for variant in variants:
        try:
            documents = changed_documents(checkout.repository, cluster, variant.changes)
        except ChangeError as error:
            _refuse(error)
        changed, problems = rendered(checkout, documents)
        if not problems:
            played, problems = read_scenarios(changed, [cluster])
            scenarios += played
        if not variant.changes and problems:
            show.stop(problems)
        # What is written in the file is right: the message names the variant.
        wrong += (
            replace(problem, message=f"{problem.message} (with {variant.name})")
            for problem in errors(problems)
        )
    if wrong:
        show.stop(wrong)
    if not scenarios:
        show.stop((Problem("REH007", f"no workload names {cluster}: there is nothing to rehearse"),))
    return Family(variants, tuple(scenarios))


def play_family(
    family: Family, repeat: int, player: Player, time: ClockSettings
) -> tuple[list[Object], list[Result]]:
    """Return the measures of each variant, and the results of all rehearsals.

    A variant with the scenario of the base has its numbers. The first interrupted or broken rehearsal ends
    the comparison, and its variant is left out.
    """
    noise = Noise(time.speed, repeat)
    base, *others = pairs = list(zip(family.variants, family.scenarios, strict=True))
    plays = [
        (variant.name + (f", {number + 1} of {repeat}" if repeat > 1 else ""), scenario.repeated(number))
        for variant, scenario in (base, *(pair for pair in others if not is_same(pair[1], base[1])))
        for number in range(repeat)
    ]
    results = player.results(plays, time)
    records: list[Object] = []
    played: list[Result] = []
    for variant, scenario in pairs:
        texts = [change.text for change in variant.changes]
        if records and is_same(scenario, family.scenarios[0]):
            words = f"{variant.words}: nothing that is rehearsed changes"
            records.append({**records[0], "name": variant.name, "changes": texts, "verdict": words})
            continue
        own: list[Object] = []
        for _ in range(repeat):
            played.append(next(results))
            report = played[-1].report
            if report.is_cut_short or not played[-1].is_played:
                return records, played
            own.append(report.record())
        record = measured(variant.name, texts, own)
        words = verdict(records[0], record, noise, variant.words) if records else ""
        words = "; ".join([words, *without_quota(scenario.site, variant.changes)])
        problems = {(each["id"], each["message"]): each for repeated in own for each in repeated["problems"]}
        records.append({**record, "verdict": words, "problems": list(problems.values())})
    return records, played


def is_same(first: Scenario, second: Scenario) -> bool:
    """Tell whether two scenarios are equal in everything that a rehearsal reads."""
    return _facts(first) == _facts(second)


def _facts(scenario: Scenario) -> tuple[object, ...]:
    parts = [
        (part.runs, part.others, part.submit_at, part.work, part.faults, part.expect)
        for part in scenario.parts
    ]
    cluster = scenario.site.cluster.spec
    return parts, cluster, scenario.platform, scenario.installation, scenario.beside


_NOW = "working tree"


def families_of_change(
    root: Path, rev: str, now: Sequence[Scenario], clusters: Container[str], tell: Callable[[str], None]
) -> list[Family]:
    """Return the scenarios, before and after the change, of clusters whose rehearsal changed since `rev`.

    If a cluster cannot be rehearsed before the change, only the present scenario is returned, and `tell` gets
    the reason. `tell` also gets the names of removed clusters. Raises Refused for an unknown revision.
    """
    families: list[Family] = []
    with git_errors_shown(), tree_before(root, rev) as folder:
        try:
            checkout, unreadable = read_checkout(folder), ""
        except WrongVersionError as error:
            checkout, unreadable = None, str(error).partition("\n")[0]
        if checkout:
            for name in checkout.repository.sites:
                if name not in clusters:
                    tell(f"{name}: the change removes the cluster, so it is not rehearsed")
        for scenario in now:
            name = scenario.site.cluster.name
            before, why_not = _before(checkout, name) if checkout else (None, unreadable)
            if before is None:
                tell(f"{name}: {rev} is not rehearsed: {why_not}")
                families.append(Family((Variant(_NOW),), (scenario,)))
            elif is_same(before, scenario):
                tell(f"{name}: nothing that is rehearsed differs from {rev}")
            else:
                families.append(Family((Variant(rev), Variant(_NOW)), (before, scenario)))
    return families


def _before(checkout: Checkout, cluster: str) -> tuple[Scenario | None, str]:
    """Return a cluster's scenario in the tree before a change, or why there is none."""
    if cluster not in checkout.repository.sites:
        return None, "the cluster is not in it"
    earlier, problems = read_scenarios(checkout, [cluster])
    if problems:
        more = f" ({counted(len(problems), 'problem')})" if len(problems) > 1 else ""
        return None, f"{problems[0].id} {problems[0].message}{more}"
    return (earlier[0], "") if earlier else (None, "no workload names the cluster")


def new_errors(family: Family, group: Group, share: float) -> list[Object]:
    """Return the errors of a change that its base does not have; all if the base was not rehearsed.

    A run that does not fail, but waits longer by more than a share, is an error too.
    """
    *befores, after = group.variants
    if not befores:
        return [problem for problem in after["problems"] if problem["severity"] == "error"]
    (before,) = befores
    failed = {problem["file"] for problem in _added_errors(before, after)}
    sources = {part.key: part.workload.source for part in family.scenarios[-1].parts}
    for move in longer_waits(before, after, group.noise, share):
        source = sources[move.runs.first["workload"]]
        if source.file.path not in failed:
            now, was = (_waited(wait, group.noise.resolution) for wait in (move.after, move.before))
            who = moved_runs(move, {})
            which = who if move.number == 1 else f"{who} wait longer: one"
            message = f"{which} waits {now}; at {before['name']} it waits {was}"
            problem = source.problem("REH022", ("metadata", "name"), message, _LONGER.format(share))
            after["problems"].append(problem.record())
    cluster = family.scenarios[-1].site.cluster.source
    for profile, *rows in slower_arrivals(before, after, group.noise, share):
        waits = [_waited(number(row["p95WaitSeconds"]), group.noise.resolution) for row in rows]
        message = f"arrivals of {profile} wait {waits[1]} (p95); at {before['name']} they wait {waits[0]}"
        path = ("spec", "rehearsal", "arrivals")
        after["problems"].append(cluster.problem("REH022", path, message, _LONGER.format(share)).record())
    return _added_errors(before, after)


_LONGER = "a wait may become {:.0%} longer; --worse-than sets another share"


def _added_errors(before: Object, after: Object) -> list[Object]:
    return [problem for problem in added_problems(before, after) if problem["severity"] == "error"]


def _waited(wait: float, resolution: float) -> str:
    return "to the end" if math.isinf(wait) else shown_within(wait, resolution)


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
    player: Player,
    html: Path | None,
    output: str,
    *,
    is_sweep: bool,
    share: float | None,
) -> NoReturn:
    """Rehearse variants, print the comparison, and end the command.

    The variants of a cluster run at one speed, the lowest if slices are lost at random. With a `share` they
    are a change: a wait that grew by more is an error.
    """
    groups: list[Group] = []
    problems: tuple[Problem, ...] = ()
    code = new = 0
    for family in families:
        has_losses = any(losses_of(scenario.site.cluster.spec) for scenario in family.scenarios)
        pick = min if has_losses else max
        time = pick(map(player.clock, family.scenarios), key=lambda each: each.speed)
        records, played = play_family(family, repeat, player, time)
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
    problems += rehearsal_output.publish(html, "variants", partial(rehearsal_output.render_variants, groups))
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
