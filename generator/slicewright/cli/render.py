"""`slicewright render`: write the overlays, check them, or print one."""

import contextlib
import shlex
import shutil
import sys
from collections.abc import Iterable

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.checkout import git_errors_shown, open_checkout, repository_root, workloads_named
from slicewright.cli.command import cluster_option, command
from slicewright.cli.streams import exact, say
from slicewright.document.read import read_documents
from slicewright.document.text_difference import unified
from slicewright.intent.tpudefaults import Levels
from slicewright.kubernetes.problem import Problem, counted, did_you_mean, errors, in_order
from slicewright.kubernetes.types import plain
from slicewright.project.judge import acknowledged, judged
from slicewright.project.repository_reader import Checkout
from slicewright.rendering import default_limits as limits
from slicewright.rendering.changes import render as render_tree
from slicewright.rendering.existing import Existing, reused
from slicewright.rendering.io import write
from slicewright.rendering.outdated_runs import Outdated, forged
from slicewright.rendering.overlays import Bases, edited, frozen_body, frozen_file, make
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.rendering import MOST_NAMED, Rendering, RunChange

_SIGNS = {"starts": "+", "ends": "-", "changes": "~", "added": "+", "changed": "~", "removed": "-"}


@command(
    "slicewright render",
    "slicewright render --check",
    "slicewright render llama --stdout | kubectl create -f -",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff unless the tree is current.")
@click.option(
    "--since",
    metavar="REV",
    help="With --check: render each run that is new since REV, and refuse a run that differs from the "
    "result. Default: the merge base with the default branch.",
)
@click.option("--stdout", is_flag=True, help="Write no files; print the objects, for kubectl create -f -.")
@cluster_option("--cluster", help="With --stdout: the cluster, if a workload has several.")
@click.option(
    "--end-runs",
    metavar="N",
    type=click.IntRange(min=0),
    help="Allow this render to end up to N runs (default: limits.endRuns, 3); a sweep counts as one.",
)
def render(
    names: tuple[str, ...],
    check: bool,
    since: str | None,
    stdout: bool,
    cluster: str | None,
    end_runs: int | None,
    output: str,
) -> None:
    """Write the overlays, and list the runs that start and end.

    NAME is a workload, as name or namespace/name; without it all workloads are rendered. A frozen run is
    never written again. If there is an error, such as a frozen run that was edited by hand, nothing is
    written.
    """
    _exclude(check=check, since=since, stdout=stdout, cluster=cluster, end_runs=end_runs)
    root = repository_root()
    with write.locked(root, shared=check or stdout):
        checkout = open_checkout(root)
        # While a file is wrong, it may hold a workload of an unknown name.
        sound = not errors(checkout.repository.problems)
        chosen = workloads_named(names, checkout.repository) if sound else None
        if stdout:
            _print_objects(checkout, chosen, cluster, output)
            return
        rendering = judged(checkout, render_tree(checkout.repository, checkout.existing, chosen))
        rendering = replace(rendering, problems=_about(chosen, rendering.problems, checkout))
        if check:
            sys.exit(_check(checkout, rendering, since, output))
        limit = checkout.repository.settings.end_runs if end_runs is None else end_runs
        over = rendering.over_limit(limit)
        refused: tuple[Problem, ...] = ()
        if over:
            refused = (over,)
        elif not errors(rendering.problems):
            refused = write.apply(root, rendering.writes, rendering.deletes, checkout.empty)
    if over and output == "text":
        for name, number, run in _grouped(sorted(rendering.ended, key=_name)):
            runs = "" if number == 1 else f": {counted(number, 'run')}"
            say(f"  - {name}{runs} would end: {run.reason}", err=True)
    problems = (*rendering.problems, *refused)
    _report(checkout, rendering, problems, output, check=False)
    if output == "text" and rendering.is_current and sys.stderr.isatty():
        say(f"nothing changed; next: {_next_step(checkout)}", err=True)
    sys.exit(1 if errors(problems) else 0)


def _about(
    chosen: frozenset[str] | None, problems: tuple[Problem, ...], checkout: Checkout
) -> tuple[Problem, ...]:
    """Return problems without the warnings in files that have none of the chosen workloads."""
    if chosen is None:
        return problems
    files = {workload.source.file.path: False for workload in checkout.repository.workloads}
    for workload in checkout.repository.workloads:
        files[workload.source.file.path] |= workload.key in chosen
    return tuple(each for each in problems if each.severity == "error" or files.get(each.file, True))


def _next_step(checkout: Checkout) -> str:
    """Return a line on what to do next after a render without changes, such as the first one in a clone."""
    command = "slicewright" if shutil.which("slicewright") else shlex.quote(sys.argv[0])
    new = f"{command} new NAME --tpu TPU --image IMAGE"
    if not checkout.repository.sites:
        return "write a TPUCluster into a file of clusters/"
    for workload in checkout.repository.workloads:
        name, cluster = workload.key.removeprefix("default/"), workload.clusters[0]
        return f"{command} explain {name}, {command} rehearse {cluster}, or {new}"
    return new


def _exclude(
    *, check: bool, since: str | None, stdout: bool, cluster: str | None, end_runs: int | None
) -> None:
    """Refuse options that would have no effect together with the others."""
    if check and stdout:
        raise click.UsageError("--check compares files and --stdout prints objects: use one of them")
    if since == "":
        raise click.UsageError("--since is empty: name a commit, or leave it out")
    if since is not None and not check:
        raise click.UsageError("--since says what --check compares with: use it with --check")
    if cluster is not None and not stdout:
        raise click.UsageError("--cluster chooses what --stdout prints: use it with --stdout")
    if end_runs is not None and (check or stdout):
        raise click.UsageError("--end-runs is for a render that writes: leave out --check and --stdout")


def _in_reading_order(run: RunChange) -> tuple[str, str, str, bool, str]:
    """Order by workload, and in a workload runs that end before runs that start."""
    return run.cluster, run.namespace, run.workload, run.effect != "ends", run.name


def _name(run: RunChange) -> str:
    return f"{run.cluster}/{run.namespace}/{run.name}"


def _grouped(runs: Iterable[RunChange]) -> list[tuple[str, int, RunChange]]:
    """Return names with their number of runs and an example: many runs of a sweep are one entry."""
    groups: dict[tuple[str, ...], list[RunChange]] = {}
    for run in runs:
        group = (run.cluster, run.namespace, run.sweep or run.name, run.effect, run.reason)
        groups.setdefault(group, []).append(run)
    entries: list[tuple[str, int, RunChange]] = []
    for key, alike in groups.items():
        if len(alike) > MOST_NAMED:
            entries.append(("/".join(key[:3]), len(alike), alike[0]))
        else:
            entries += ((_name(run), 1, run) for run in alike)
    return entries


def _report(
    checkout: Checkout, rendering: Rendering, problems: tuple[Problem, ...], output: str, *, check: bool
) -> None:
    stopped = bool(errors(problems))
    if output == "json":
        show.as_json(
            {
                "current": rendering.is_current and not stopped,
                "checked": check,
                "written": [] if stopped else sorted(rendering.writes),
                "deleted": [] if stopped else list(rendering.deletes),
                "unchanged": rendering.unchanged,
                "runs": plain(rendering.runs),
                "platform": plain(rendering.platform),
                "problems": show.records(problems),
            }
        )
        return
    show.messages(problems)
    if stopped:
        return
    for name, number, run in _grouped(sorted(rendering.runs, key=_in_reading_order)):
        effect = run.effect if number == 1 else f"{counted(number, 'run')} {run.effect[:-1]}"
        colon = "" if number == 1 else ":"
        say(f"  {_SIGNS[run.effect]} {name}{colon} {effect}: {run.reason}")
    for change in rendering.platform:
        say(f"  {_SIGNS[change.effect]} {change.path} {change.effect}: {change.reason}")
    verb = "would be " if check else ""
    starts = sum(run.effect == "starts" for run in rendering.runs)
    workloads = counted(len(rendering.planned), "workload")
    say(
        f"{workloads} on {counted(len(checkout.repository.sites), 'cluster')}: "
        f"{counted(starts, 'run')} to start, {len(rendering.ended):,} to end; "
        f"{counted(len(rendering.writes), 'file')} {verb}written, "
        f"{len(rendering.deletes):,} {verb}deleted, {rendering.unchanged:,} unchanged"
    )


def _check(checkout: Checkout, rendering: Rendering, since: str | None, output: str) -> int:
    runs, forgeries = ((), ()) if errors(rendering.problems) else _forged(checkout, rendering, since)
    if output == "text":
        for path in sorted([*rendering.writes, *rendering.deletes]):
            say(unified(path, checkout.existing.get(path), rendering.writes.get(path)), nl=False)
        for run in runs:
            say(run.diff, nl=False)
    problems = (*rendering.problems, *forgeries)
    _report(checkout, rendering, problems, output, check=True)
    if rendering.is_current and not errors(problems):
        return 0
    if output == "text" and not errors(problems):
        say("the tree is not what a render would make\n  hint: slicewright render, and commit", err=True)
    return 1


def _forged(
    checkout: Checkout, rendering: Rendering, since: str | None
) -> tuple[tuple[Outdated, ...], tuple[Problem, ...]]:
    """Compare the runs that are new since a commit with what a render writes.

    Without a name for the commit, nothing is compared in a folder without git, or before the first commit.
    """
    root, planned = checkout.root, rendering.planned
    if not since and not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return (), ()
    from slicewright.diff.io import git  # noqa: PLC0415 - 15 ms that few commands need

    try:
        with git_errors_shown() if since else contextlib.nullcontext(), git.objects(root) as store:
            commit = since or git.base(root)
            before = git.read_revision(root, commit, store).read_text
            name = since or commit[:12]
            return forged(checkout.repository, planned, checkout.existing, before, name, rendering.deletes)
    except git.NoGitRepositoryError as error:
        return (), (_not_compared(str(error), "see what git status says"),)
    except git.GitError as error:
        return (), (_not_compared(error.problem.message, error.problem.hint),)
    except git.UnknownRevisionError as error:
        if error.name == "HEAD":
            return (), ()
        hint = "fetch the branch, or name a commit: slicewright render --check --since REV"
        return (), (_not_compared("git does not have the default branch", hint),)


def _not_compared(why: str, hint: str) -> Problem:
    message = f"new runs are not checked for edits by hand: {why}"
    return Problem("RUN009", message, hint, severity="warning")


def _print_objects(
    checkout: Checkout, chosen: frozenset[str] | None, cluster: str | None, output: str
) -> None:
    planned, planning = plan_all(checkout.repository)
    show.stop_for_errors(planning)
    problems = list(planning)
    bases = Bases(checkout.repository.read_text, checkout.repository.package.schemas)
    existing = Existing(checkout.existing)
    levels = checkout.repository.levels
    entries = _on_one_cluster(planned, chosen, cluster)
    bodies = [_body(entry, bases, existing, problems, levels) for entry in entries]
    show.stop_for_errors(problems)
    show.messages(in_order(acknowledged(checkout, tuple(problems))))
    text = "---\n".join(bodies)
    if output == "json":
        items = [document.data for body in bodies for document in read_documents(body, "")[0]]
        show.as_json({"apiVersion": "v1", "kind": "List", "items": items})
    else:
        exact(text)


def _on_one_cluster(
    planned: tuple[Planned, ...], chosen: frozenset[str] | None, cluster: str | None
) -> list[Planned]:
    entries = [entry for entry in planned if chosen is None or entry.workload.key in chosen]
    clusters = sorted({entry.plan.cluster for entry in entries})
    if cluster is not None and cluster not in clusters:
        hint = did_you_mean(cluster, clusters)
        raise show.unknown(f"nothing of this runs on a cluster '{cluster}'", hint)
    if cluster is None and len(clusters) > 1:
        raise click.UsageError(f"name one cluster with --cluster: {', '.join(clusters)}")
    return [entry for entry in entries if cluster in (None, entry.plan.cluster)]


def _body(entry: Planned, bases: Bases, existing: Existing, problems: list[Problem], levels: Levels) -> str:
    """Return the objects of a run as text: from its frozen file, else as this version renders them."""
    path = frozen_file(entry.plan)
    if path in existing.frozen:
        problems += (*edited(existing, [path], [entry], bases), *reused(existing, path, entry))
        return existing.body(path) or ""
    overlay, unsupported = make(entry, bases)
    problems += unsupported
    if overlay is None:
        return ""
    problems += limits.problems(entry, overlay.objects, levels)
    return frozen_body(overlay)
