"""`slicewright validate`: check Kubernetes objects offline."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec.structs import replace

from slicewright.check.engine import Engine, SkipKind
from slicewright.check.examine import Judges, Report, examine
from slicewright.check.io.discovery import STDIN, Discovery, Targets, of_custom, of_overlays
from slicewright.check.io.examine_units import examine_units
from slicewright.check.io.ignore_files import read_ignore_files
from slicewright.check.io.kubeconform import BrokenToolError, Kubeconform
from slicewright.check.io.meaning import added, ids, semantic_rules
from slicewright.check.io.schema_folders import kind_schemas, packaged
from slicewright.check.origin import Origins
from slicewright.check.passed_by import HELM
from slicewright.check.run import RuleSet
from slicewright.check.selection import Selection, keeps_unchecked
from slicewright.cli import placeholder_values, show
from slicewright.cli.checkout import (
    cluster_named,
    git_errors_shown,
    open_checkout,
    repository_root,
    versions_refused,
)
from slicewright.cli.command import BROKEN, cluster_option, command, output_option
from slicewright.cli.report import FORMS, writer
from slicewright.cli.streams import exact, say
from slicewright.kubernetes.problem import SEVERITIES, Problem, Severity, by_sweep, did_you_mean, selectors
from slicewright.programs.find import find
from slicewright.project.repository_reader import catalogue_at, read_input
from slicewright.rendering.folder import platform_folder
from slicewright.rendering.io import package_data as package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slicewright.catalogue.catalogue import Catalogue
    from slicewright.check.units import Examined, Unit
    from slicewright.cli.mending import Mending
    from slicewright.diff.io.changed_files import Change
    from slicewright.intent.validate import Schemas
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_PATIENCE = 1.0
"""Seconds until a progress bar is worth its place."""


def _selectors(_context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> frozenset[str]:
    """Return the ids and families of lists with commas. Raises Refused for what is neither."""
    chosen = frozenset(part.strip().upper() for word in words for part in word.split(",") if part.strip())
    known = selectors(ids()) if chosen else chosen
    for word in sorted(chosen - known):
        hint = did_you_mean(word, known) or "slicewright rule lists them"
        raise show.unknown(f"there is no rule '{word}'", hint)
    return chosen


_selector_option = partial(click.option, multiple=True, metavar="ID,FAMILY", callback=_selectors)


@command(
    "slicewright validate",
    "slicewright validate manifests -o sarif",
    "kustomize build custom/dev | slicewright validate -",
    output=output_option(FORMS, "report"),
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=click.Path().shell_complete)
@click.option("--strict", is_flag=True, help="Exit 1 for warnings as well.")
@click.option(
    "--engine",
    type=click.Choice(["internal", "kubeconform"]),
    default="internal",
    help="Check schemas in this process, or with the pinned kubeconform.",
)
@click.option(
    "--schema",
    "schemas",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Look for schemas here first, in GROUP/KIND_VERSION.json. Repeatable.",
)
@click.option(
    "--skip-kind",
    multiple=True,
    metavar="KIND",
    help="Do not check objects of this kind: Kind, Kind.group, *.group or group/version/Kind. Repeatable.",
)
@click.option("--require-schemas", is_flag=True, help="Report each object without a schema as an error.")
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files and folders, by path or by name. Repeatable.",
)
@_selector_option(
    "--disable", help="Do not report these problems: ids such as TPU119, or families such as TPU. Repeatable."
)
@_selector_option("--only", help="Report only these problems, and problems that prevent a check. Repeatable.")
@click.option(
    "--min-severity",
    type=click.Choice(SEVERITIES),
    default="note",
    help="Report problems of this severity and above.",
)
@click.option(
    "--changed",
    metavar="REV",
    help="Check everything, but report only problems of files that changed since the merge base with this "
    "commit.",
)
@click.option("--gitops", is_flag=True, help="Apply the GIT rules to all objects, as if they were synced.")
@click.option("--schemas-only", is_flag=True, help="Skip the semantic rules.")
@click.option("--fix", is_flag=True, help="Apply safe fixes to the files, and report the remaining problems.")
@click.option("--unsafe", is_flag=True, help="Also apply fixes that guess what was meant.")
@click.option(
    "--diff",
    is_flag=True,
    help="Print the changes of --fix, and write nothing; exit 1 if there are any, or if a file "
    "cannot be read.",
)
@placeholder_values.options
@click.option("--helm", is_flag=True, help="Render Helm charts with the helm on PATH, and check the result.")
@click.option(
    "--one-cluster",
    is_flag=True,
    help="Treat all objects below the paths as objects of one cluster, with those of overlays/CLUSTER.",
)
@cluster_option(
    "--cluster", help="Check the paths against this TPUCluster of the repository and its rendered objects."
)
def validate(
    paths: tuple[str, ...],
    strict: bool,
    engine: str,
    schemas: tuple[Path, ...],
    skip_kind: tuple[str, ...],
    require_schemas: bool,
    exclude: tuple[str, ...],
    disable: frozenset[str],
    only: frozenset[str],
    min_severity: Severity,
    changed: str | None,
    gitops: bool,
    schemas_only: bool,
    fix: bool,
    unsafe: bool,
    diff: bool,
    assignments: tuple[str, ...],
    env_file: Path | None,
    helm: bool,
    one_cluster: bool,
    cluster: str | None,
    output: str,
) -> None:
    """Check Kubernetes objects offline: schemas, references, quota.

    It checks schemas, list keys and CEL rules as the API server does. Then it looks for objects that
    controllers refuse or never run. It uses no network.

    In a repository with a slicewright.yaml all objects are judged, elsewhere runs, queues, pods that request
    TPUs, and what they refer to. The report counts all others.

    PATH is a file, a folder, a folder with a kustomization (which is built first), or - for stdin. Without
    PATH the repository is checked: its input, every built overlay, and custom/.
    """
    mends = fix or diff
    _refuse_together(click.get_current_context().params)
    selection = Selection(disable, only, min_severity, gitops or not paths)
    values = placeholder_values.values_of(assignments, env_file, mends=mends)
    second = _kubeconform(schemas, output) if engine == "kubeconform" else None
    root = Path() if paths else repository_root(instead="to check the manifests here: slicewright validate .")
    change = _change(root, changed) if changed is not None else None
    scope = Discovery(exclude, helm=helm).find(paths) if paths else _tree_files(root, exclude)
    site = _joined(scope, cluster, one_cluster=one_cluster)
    by_schema = Engine(
        kind_schemas(schemas),
        [SkipKind(text) for text in skip_kind],
        package.removed,
        requires_schemas=require_schemas,
    )
    mending = _mending(scope.units, root, unsafe=unsafe, writes=not diff) if mends else None
    units = mending.units if mending else scope.units
    rules = RuleSet(() if schemas_only else semantic_rules(), package.hint_of)
    unusable = () if schemas_only else added().problems
    judges = Judges(by_schema, rules, second)

    def check(units: Sequence[Unit]) -> Report:
        beside = _Surroundings(root, scope, site, is_whole=not paths)
        report = examine(
            _with_progress(examine_units(units, by_schema, values), len(units)),
            judges,
            beside,
            earlier=(*scope.problems, *unusable, *beside.input_problems),
            passed_by=scope.passed_by,
            values=[assignment.partition("=")[0] for assignment in assignments],
            whole=() if schemas_only else scope.whole,
            one_cluster=one_cluster or bool(cluster) or not paths,
            selection=selection,
        )
        if paths and not (report.objects or report.problems or report.skipped):
            report = replace(report, problems=(_nothing_in(paths, report),))
        report = change.reported(report, scope.units) if change else report
        return replace(report, problems=by_sweep(beside.as_rendered(report.problems)))

    try:
        report = check(units)
        if mending:
            report = mending.run(report, check)
    except BrokenToolError as error:
        _stop(Problem("TOOL008", str(error), "use --engine internal, which is the default"), output)
    unchecked = tuple(filter(keeps_unchecked, report.problems))
    if mending:
        mending.show(writer(output)(report), unchecked)
    else:
        exact(writer(output)(report))
    if any(problem.id == "TOOL001" for problem in report.problems):
        sys.exit(BROKEN)  # what a missing kustomize would have built is not checked
    failing = ("error", "warning") if strict else ("error",)
    fails = any(problem.severity in failing for problem in report.problems)
    sys.exit(bool(unchecked or mending.after) if diff and mending else fails)


def _joined(scope: Targets, cluster: str | None, *, one_cluster: bool) -> dict[str, ResolvedCluster]:
    """Add the checked paths to the named cluster, and return the cluster. Raises Refused."""
    if cluster is None:
        if one_cluster and len(scope.clusters) == 1:
            scope.join(min(scope.clusters))
        return {}
    root = repository_root(instead="to check the manifests by themselves, leave out --cluster")
    with versions_refused():
        site = cluster_named(cluster, read_input(root))
    if others := scope.clusters - {cluster}:
        raise click.UsageError(f"--cluster {cluster}: the paths hold objects of cluster {min(others)}")
    tree = [unit for unit in of_overlays(root) if unit.cluster == cluster]
    if site.cluster.managed and not any(unit.name == platform_folder(cluster) for unit in tree):
        raise show.unknown(f"cluster '{cluster}' is not rendered", "run slicewright render")
    scope.join(cluster, (*tree, *of_custom(root).units))
    return {cluster: site}


def _refuse_together(options: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other or have no effect together."""
    mends, changed = options["fix"] or options["diff"], options["changed"] is not None
    if options["unsafe"] and not mends:
        raise click.UsageError("--unsafe allows more fixes: use it with --fix or --diff")
    if options["diff"] and options["output"] != "text":
        raise click.UsageError(f"--diff prints a patch, not a report: leave out -o {options['output']}")
    if options["cluster"] and (changed or options["one_cluster"] or not options["paths"]):
        raise click.UsageError("--cluster needs a PATH; leave out --changed and --one-cluster")
    if changed and STDIN in options["paths"]:
        raise click.UsageError("--changed compares files with git: stdin has no earlier version")


def _mending(units: Sequence[Unit], root: Path, *, unsafe: bool, writes: bool) -> Mending:
    from slicewright.cli.mending import Mending, read_once  # noqa: PLC0415 - 17 ms, few ask for it

    return Mending(read_once(units), root, unsafe, writes)


def _change(root: Path, rev: str) -> Change:
    if not rev:
        raise click.UsageError("--changed needs a revision, and this one is empty: is a variable unset?")
    from slicewright.diff.io.changed_files import Change  # noqa: PLC0415 - 12 ms, few ask for it

    with git_errors_shown():
        return Change(root, rev)


def _nothing_in(paths: Sequence[str], report: Report) -> Problem:
    """Return the problem that no object was checked: a warning if all paths are folders, else an error."""
    only = paths[0] if len(paths) == 1 else ""
    has_charts = any(passed.reason == HELM for passed in report.passed_by)
    hint = "render its Helm charts: --helm" if has_charts else "check the path and the patterns of --exclude"
    if only == STDIN:
        hint = "check the program before the pipe: it printed no Kubernetes object"
    file = "stdin" if only == STDIN else only
    severity: Severity = "warning" if all(os.path.isdir(path) for path in paths) else "error"  # noqa: PTH112 - texts
    return Problem("FILE006", "there is no Kubernetes object to check", hint, severity, file)


def _stop(problem: Problem, output: str) -> NoReturn:
    """End without a verdict, because a tool is missing or broke."""
    if output == "text":
        say(problem.text(), err=True)
    else:
        exact(writer(output)(Report((problem,), (), 0, {}, ())))
    sys.exit(BROKEN)


def _kubeconform(schemas: Sequence[Path], output: str) -> Kubeconform:
    program = find("kubeconform")
    if isinstance(program, Problem):
        _stop(program, output)
    return Kubeconform(program, (*schemas, packaged()))


def _tree_files(root: Path, exclude: Sequence[str]) -> Targets:
    scope = Targets(list(of_overlays(root)), whole=[] if exclude else [""])
    custom = of_custom(root, exclude)
    scope.units += custom.units
    scope.problems += custom.problems
    scope.passed_by += custom.passed_by
    return scope


class _Surroundings:
    """The context of the checked files: reasons to ignore problems, and a repository's input and render."""

    def __init__(
        self,
        root: Path,
        scope: Targets,
        sites: Mapping[str, ResolvedCluster],
        *,
        is_whole: bool,
    ) -> None:
        self._root, self._is_whole = root, is_whole
        self.sites = sites
        self.origins: Origins | None = None
        self.input_problems: tuple[Problem, ...] = ()
        self.ignores = read_ignore_files(root, ids, {unit.folder for unit in scope.units if unit.path})
        if is_whole:
            from slicewright.rendering.plans import plan_all  # noqa: PLC0415 - 100 ms, for a repository alone

            with versions_refused():
                repository = read_input(root)
            self.sites = repository.sites
            self.origins = Origins(repository.workloads, repository.sites, repository.shared)
            self.input_problems = plan_all(repository)[1]

    def catalogue(self) -> Catalogue:
        return catalogue_at(self._root)[0]

    def input_schemas(self) -> Schemas:
        return package.schemas()

    def ids(self) -> tuple[str, ...]:
        return tuple(ids())

    def render_problems(self) -> tuple[Problem, ...]:
        """Return the problems that a render of the repository finds, without those of rules."""
        if not self._is_whole:
            return ()
        from slicewright.rendering.changes import render  # noqa: PLC0415 - 110 ms, few need it

        checkout = open_checkout(self._root)
        return render(checkout.repository, checkout.existing).problems

    def as_rendered(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return the problems; for edited frozen runs, with the first changed line that a render finds."""
        if all(problem.id != "RUN001" for problem in problems):
            return tuple(problems)
        found = {problem.file: problem for problem in self.render_problems() if problem.id == "RUN001"}
        return tuple(
            found.get(problem.file, problem) if problem.id == "RUN001" else problem for problem in problems
        )


def _with_progress(reading: Iterable[Examined], length: int) -> Iterator[Examined]:
    """Yield what is read; where that takes a while, a bar on stderr shows it, on a terminal only."""
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        bar: Any = None
        for done, examined in enumerate(reading, start=1):
            yield examined
            if bar is not None:
                bar.update(1)
            elif _is_terminal() and time.monotonic() - started > _PATIENCE:
                bar = click.progressbar(length=length, label="checking", file=sys.stderr)
                stack.enter_context(bar).update(done)


def _is_terminal() -> bool:
    return sys.stderr.isatty()
