"""`slicewright rehearse --what-if`: the base and its variants, played one after another and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem, errors
from slicewright.rehearse.model.comparison import BASE, Noise, measured
from slicewright.rehearse.model.variant_verdict import verdict
from slicewright.rendering.changed_documents import Change, ChangeError, read_changes, read_lines, read_sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slicewright.kubernetes.types import Object
    from slicewright.project.repository_reader import Checkout
    from slicewright.rehearse.scenario import Scenario
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
    from slicewright.project.changed_checkout import rendered  # noqa: PLC0415
    from slicewright.rehearse.scenario import scenarios as read_scenarios  # noqa: PLC0415
    from slicewright.rendering.changed_documents import changed_documents  # noqa: PLC0415 - commands start fast

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
    family: Family,
    repeat: int,
    resolution: float,
    run: Callable[[Sequence[tuple[str, Scenario]]], Iterator[Result]],
) -> tuple[list[Object], list[Result]]:
    """Return the measures of each variant, and the results of all plays.

    `run` plays scenarios, each with a name, and gives their results in the same order.

    A variant that plays as the base does has the numbers of the base. Plays end with the first that is
    interrupted or breaks; then a variant that was not played to its end is left out.
    """
    from slicewright.rendering.changed_documents import without_quota  # noqa: PLC0415

    noise = Noise(resolution, repeat)
    base, *others = pairs = list(zip(family.variants, family.scenarios, strict=True))
    plays = [
        (variant.name + (f", {number + 1} of {repeat}" if repeat > 1 else ""), scenario.repeated(number))
        for variant, scenario in (base, *(pair for pair in others if not is_same(pair[1], base[1])))
        for number in range(repeat)
    ]
    results = run(plays)
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
    """Tell whether two scenarios play the same: whatever a rehearsal reads is equal in both."""
    return _facts(first) == _facts(second)


def _facts(scenario: Scenario) -> tuple[object, ...]:
    parts = [
        (part.runs, part.others, part.submit_at, part.work, part.faults, part.expect)
        for part in scenario.parts
    ]
    cluster = scenario.site.cluster.spec
    return parts, cluster, scenario.platform, scenario.installation, scenario.beside
