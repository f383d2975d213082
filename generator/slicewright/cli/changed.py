"""`slicewright rehearse --changed REV`: the clusters that a change touches, played before and after it."""

import math
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from slicewright.cli.checkout import git_errors_shown
from slicewright.cli.what_if import Family, Variant, is_same
from slicewright.diff.io.changed_files import tree_before
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import Checkout, WrongVersionError, read_checkout
from slicewright.rehearse.model.comparison import (
    Group,
    added_problems,
    longer_waits,
    number,
    slower_arrivals,
)
from slicewright.rehearse.model.time_span import shown_within
from slicewright.rehearse.model.variant_verdict import moved_runs
from slicewright.rehearse.scenario import Scenario, scenarios

_NOW = "working tree"


def families_of_change(
    root: Path, rev: str, now: Sequence[Scenario], clusters: Container[str], tell: Callable[[str], None]
) -> list[Family]:
    """Return what to play of the clusters whose rehearsal the working tree changed since it left `rev`.

    It is the scenario before the change and that of now; of a cluster that cannot be rehearsed before the
    change it is that of now alone, and `tell` gets the reason. It is also told of what is not one of the
    `clusters` any more. Raises Refused for an unknown revision.
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
    earlier, problems = scenarios(checkout, [cluster])
    if problems:
        more = f" ({counted(len(problems), 'problem')})" if len(problems) > 1 else ""
        return None, f"{problems[0].id} {problems[0].message}{more}"
    return (earlier[0], "") if earlier else (None, "no workload names the cluster")


def new_errors(family: Family, group: Group, share: float) -> list[Object]:
    """Return the errors that came with a change; where nothing was played of the tree before it, all.

    One is added to the problems of the working tree for each run that waits longer by more than a share,
    unless it fails besides.
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
