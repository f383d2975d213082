"""`slicewright import workload`: TPUWorkload files from JobSets, Jobs and PathwaysJobs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from slicewright.check.engine import Engine
from slicewright.check.examine import schema_errors
from slicewright.check.filling import not_taken
from slicewright.check.io.discovery import Discovery
from slicewright.check.io.kustomizations import FILE_NAMES
from slicewright.check.io.load import load
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.check.passed_by import holds_object
from slicewright.check.unpack import unpack
from slicewright.cli import checkout as repository
from slicewright.cli import placeholder_values, reach, show
from slicewright.cli.command import cluster_option, command, context_options
from slicewright.cli.streams import exact, say
from slicewright.cluster.importing.workload import FILLED_IN, ImportedRun, imported_run
from slicewright.document.write import write_document
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.fields import at, text
from slicewright.kubernetes.kinds import RUN_KINDS, is_namespaced
from slicewright.kubernetes.labels import WORKLOAD
from slicewright.kubernetes.problem import Problem, counted, errors
from slicewright.kubernetes.types import Object, plain
from slicewright.objects import Resource
from slicewright.project.judge import judged_beside
from slicewright.project.repository_reader import Checkout
from slicewright.rendering.io import write as tree
from slicewright.rendering.plans import beside


class Candidate(Struct, frozen=True):
    """An object to import."""

    item: Object
    file: str
    named: bool
    """Whether the user named the file: then it is a problem that the object is not imported."""
    made_by: str = ""
    """The kind of the object that created the live run and is to be imported instead; '' if none did."""


@command(
    "slicewright import workload jobset.yaml --cluster my-cluster",
    "slicewright import workload manifests --cluster my-cluster --set IMAGE=python:3.12 --write",
    name="import",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=click.Path().shell_complete)
@cluster_option("--cluster", help="The TPUCluster of the runs. Default: the cluster of --from-cluster.")
@cluster_option("--from-cluster", help="Import the runs of a live cluster (read only).")
@context_options
@click.option(
    "--kustomize",
    "kustomizations",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Import the runs that the kustomization in this folder builds. Repeatable.",
)
@placeholder_values.options
@click.option("--write", is_flag=True, help="Write workloads/NAME.yaml, unless it exists.")
def import_workload(
    paths: tuple[str, ...],
    cluster: str | None,
    from_cluster: str | None,
    context: str | None,
    kubeconfig: Path | None,
    kustomizations: tuple[Path, ...],
    assignments: tuple[str, ...],
    env_file: Path | None,
    write: bool,
    output: str,
) -> None:
    """Write TPUWorkload files from JobSets, Jobs and PathwaysJobs.

    PATH is a file, a folder or - for stdin. Each workload is rendered and compared with its object. Values
    without a field become patches of the TPUWorkload. Differences are listed with their reasons.
    """
    if not (paths or kustomizations or from_cluster):
        raise click.UsageError("name what to import: PATH, --kustomize DIR or --from-cluster CLUSTER")
    cluster = cluster or from_cluster
    if cluster is None:
        raise click.UsageError("name the TPUCluster that the runs are for: --cluster CLUSTER")
    checkout = repository.open_checkout(repository.repository_root())
    for name in {cluster, from_cluster or cluster}:
        repository.cluster_named(name, checkout.repository)
    values = placeholder_values.values_of(assignments, env_file)
    names = [assignment.partition("=")[0] for assignment in assignments]
    objects, problems = _objects((*paths, *map(_kustomization, kustomizations)), values, names)
    if from_cluster:
        living, unread = reach.living_runs(from_cluster, checkout, context, kubeconfig)
        problems += unread
        objects += (Candidate(item, "", named=False, made_by=_made_by(item)) for item in living)
    texts, records, report, refused = _imported(objects, cluster, checkout, write=write)
    problems += refused
    is_written = write and not errors(problems)
    if is_written:
        with tree.locked(checkout.root):
            problems += tree.apply(checkout.root, texts, ())
    if output == "text":
        if not write:
            exact("---\n".join(texts.values()))
        for entry in records:
            _summary(entry, "written, and renders" if is_written and not errors(problems) else "renders")
        _totals(report)
        if write and errors(problems):
            say(show.NOTHING_WRITTEN, err=True)
    files = sorted(texts) if is_written else []
    show.finish({"workloads": records, "report": report, "written": files}, problems, output)


def _imported(
    objects: Sequence[Candidate], cluster: str, checkout: Checkout, *, write: bool
) -> tuple[dict[str, str], list[dict[str, Any]], dict[str, Any], list[Problem]]:
    """Return the imported files, their notes and numbers, and why other objects are not imported.

    An object of a folder that cannot be imported is a warning if another one can.
    """
    engine = Engine(kind_schemas(), requires_schemas=False)
    others: Counter[str] = Counter()
    origins: dict[str, Candidate] = {}
    texts: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    problems: list[Problem] = []
    of_folders: list[Problem] = []
    classes = [candidate.item for candidate in objects if candidate.item.get("kind") == "ComputeClass"]
    runs = 0
    for candidate in objects:
        kind = candidate.item.get("kind")
        if kind not in RUN_KINDS or candidate.made_by:
            others[f"{kind} of a {candidate.made_by}" if candidate.made_by else str(kind)] += 1
            problems += [_not_a_run(candidate)] if candidate.named else []
            continue
        runs += 1
        mistyped = (one for one in _against_schema(candidate.item, engine) if one.id == "SCHEMA003")
        run = tuple(mistyped) or imported_run(candidate.item, cluster, checkout.repository, classes)
        # What the render writes has the other errors of the object.
        against = run if isinstance(run, tuple) else _against_schema(run.rendered, engine)
        if isinstance(run, tuple) or against:
            refused = [replace(problem, file=candidate.file) for problem in against]
        elif (path := f"workloads/{run.document['metadata']['name']}.yaml") in texts:
            message, hint = "another object has the name of this file", "rename one of them"
            refused = [Problem("IMP006", message, hint, file=path)]
        elif errors(existing := repository.already_there(checkout.root, path, write=write)):
            refused = [*existing]
        else:
            problems += existing
            texts[path] = repository.schema_line(checkout.root, "tpuworkload") + write_document(run.document)
            origins[path] = candidate
            records.append(_record(path, candidate.item, run))
            continue
        problems += refused
        of_folders += [] if candidate.named else refused
    for problem in _refused_by_render(texts, checkout):
        origin = origins[problem.file]
        texts.pop(problem.file, None)
        problems.append(replace(problem, file=origin.file))
        of_folders += [] if origin.named else problems[-1:]
    records = [entry for entry in records if entry["file"] in texts]
    if records:
        problems = [
            replace(problem, severity="warning") if problem in of_folders else problem for problem in problems
        ]
    return texts, records, _report(records, runs, others), problems


def _against_schema(item: Object, engine: Engine) -> tuple[Problem, ...]:
    """Return the schema errors of an object, with their places in the messages."""
    return tuple(
        replace(problem, message=f"{problem.object} {problem.dotted()}: {problem.message}")
        for problem in schema_errors(engine, Resource(item, ""))
    )


def _refused_by_render(texts: Mapping[str, str], checkout: Checkout) -> tuple[Problem, ...]:
    """Return the errors of files that would stop the next render."""
    if not texts:
        return ()
    files = (SourceFile(path, text) for path, text in texts.items())
    return errors(judged_beside(checkout, beside(checkout.repository, *files))[1])


def _kustomization(folder: Path) -> str:
    file = next((folder / name for name in sorted(FILE_NAMES) if (folder / name).is_file()), None)
    if file is None:
        raise click.UsageError(f"--kustomize {folder}: the folder has no kustomization.yaml")
    return str(file)


def _objects(
    paths: Iterable[str], values: Mapping[str, str], names: Iterable[str]
) -> tuple[list[Candidate], list[Problem]]:
    """Return the objects of files and folders, and the problems of reading; warnings for files in folders."""
    discovered = Discovery().find(paths)
    objects: list[Candidate] = []
    problems: list[Problem] = list(discovered.problems)
    used: set[str] = set()
    for unit in discovered.units:
        loaded = load(unit, values)
        used |= loaded.used
        # Of a kustomization that is not built a note says why: here nothing of it is imported.
        unbuilt = () if loaded.documents else loaded.problems
        lost = errors(loaded.problems) or [problem for problem in unbuilt if problem.id != "KUS021"]
        problems += (replace(problem, severity="error" if unit.named else "warning") for problem in lost)
        data = (document.data for document in loaded.documents if unit.named or holds_object(document.data))
        for item in chain.from_iterable(unpack(each, unit.name) for each in data):
            if isinstance(item, Problem):
                problems.append(item if unit.named else replace(item, severity="warning"))
            else:
                objects.append(Candidate(item.data, unit.name, unit.named))
    # What could not be read may have had the other placeholders.
    return objects, [*problems, *(() if problems else not_taken(names, used))]


def _made_by(item: Object) -> str:
    """Return the kind of the object that created a run and is to be imported instead; '' if none did."""
    metadata = item["metadata"]
    if WORKLOAD in metadata.get("labels", {}):
        return "TPUWorkload"
    owners = (owner["kind"] for owner in metadata.get("ownerReferences", ()))
    return next((kind for kind in owners if kind in RUN_KINDS), "")


def _not_a_run(candidate: Candidate) -> Problem:
    name = at(candidate.item, "metadata", "name") or ""
    message = f"{candidate.item.get('kind')} {name} is not imported"
    group, kind = text(candidate.item.get("apiVersion")).rpartition("/")[0], text(candidate.item.get("kind"))
    where = "put other objects that runs need into shared/"
    if kind == "ComputeClass":
        where = "declare a ComputeClass in computeClasses of the TPUCluster"
    elif not is_namespaced(group, kind):
        where = "put objects of the whole cluster into custom/"
    hint = f"only JobSets, Jobs and PathwaysJobs are runs; {where}"
    return Problem("IMP021", message, hint, severity="warning", file=candidate.file)


def _record(path: str, item: Object, run: ImportedRun) -> dict[str, Any]:
    return {
        "file": path,
        "workload": run.document,
        "differences": plain(run.differences),
        "patched": run.patched,
        "podTemplateFields": _leaves(run.document["spec"].get("podTemplate", {})),
        "lines": write_document(run.document).count("\n"),
        "manifestLines": write_document(item).count("\n"),
    }


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _report(records: list[dict[str, Any]], runs: int, beside: Counter[str]) -> dict[str, Any]:
    keys = ("lines", "manifestLines", "podTemplateFields")
    added = {key: sum(entry[key] for entry in records) for key in keys}
    patched = sum(len(entry["patched"]) for entry in records)
    return {"runs": runs, "imported": len(records), **added, "patched": patched, "notRuns": dict(beside)}


def _summary(entry: dict[str, Any], verb: str) -> None:
    """Print what a workload renders differently, and what its patches write."""
    fields = counted(len(entry["patched"]), "field")
    say(f"{entry['file']}: {verb} the object; {fields} in patches", err=True)
    for path in entry["patched"]:
        say(f"  {path}: written by a patch", err=True)
    filled_in = 0
    for each in entry["differences"]:
        if each["why"] == FILLED_IN:
            filled_in += 1
            continue
        change = "added" if each["given"] is None else "left out" if each["rendered"] is None else "changed"
        say(f"  {each['path']}: {change}; {each['why']}", err=True)
    if filled_in:
        say(
            f"  {counted(filled_in, 'more difference')}, only defaults of the API server: -o json lists them",
            err=True,
        )


def _totals(report: dict[str, Any]) -> None:
    beside = ", ".join(f"{count} {kind}" for kind, count in sorted(report["notRuns"].items()))
    if report["runs"] > 1 or beside:
        say(f"{report['imported']} of {counted(report['runs'], 'run')} imported", err=True)
        lines = f"{report['lines']} lines of TPUWorkload for {report['manifestLines']} lines of manifest"
        fields = f"{counted(report['podTemplateFields'], 'field')} in podTemplate"
        say(f"  {lines}; {fields}, {report['patched']} in patches", err=True)
    if beside:
        say(f"  not runs: {beside}", err=True)
