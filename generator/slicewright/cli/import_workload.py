"""`slicewright import workload`: TPUWorkload files from JobSets, Jobs and PathwaysJobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import candidates, show
from slicewright.cli.command import command
from slicewright.cli.repository import open_checkout, repository_root, schema_line
from slicewright.cli.streams import exact, say
from slicewright.core.document.read import read_manifests
from slicewright.core.document.write import write_document
from slicewright.core.importing.workload import imported_run
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.problem import Problem, counted, errors
from slicewright.core.record import record
from slicewright.workspace import write as tree

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object


@command(
    "slicewright import workload jobset.yaml --cluster my-cluster",
    "slicewright import workload jobset.yaml --cluster my-cluster --write",
    name="import",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--cluster",
    metavar="CLUSTER",
    required=True,
    shell_complete=candidates.clusters,
    help="The TPUCluster that the runs are for.",
)
@click.option("--write", is_flag=True, help="Write workloads/NAME.yaml, unless it exists.")
def import_workload(files: tuple[Path, ...], cluster: str, write: bool, output: str) -> None:
    """Write TPUWorkload files from JobSets, Jobs and PathwaysJobs.

    Each workload is rendered and compared with its object. What no field says becomes a patch of the
    TPUWorkload; what is rendered differently on purpose is listed with the reason.
    """
    checkout = open_checkout(repository_root())
    known = checkout.repository
    if cluster not in known.sites:
        raise show.unknown(f"there is no TPUCluster '{cluster}'", "declare it in clusters/")
    problems: tuple[Problem, ...] = ()
    made: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    for name, item in _objects(files):
        if isinstance(item, Problem):
            problems += (item,)
            continue
        if item.get("kind") not in RUN_KINDS:
            message = f"{item.get('kind')} {(item.get('metadata') or {}).get('name', '')} is not imported"
            hint = "only JobSets, Jobs and PathwaysJobs are runs; put other objects into custom/"
            problems += (Problem("IMP021", message, hint, severity="warning", file=name),)
            continue
        run = imported_run(item, cluster, known)
        if isinstance(run, tuple):
            problems += run
            continue
        path = f"workloads/{run.document['metadata']['name']}.yaml"
        if path in made or (checkout.root / path).exists():
            message, hint = "the file exists and is left alone", "rename the object, or the file"
            problems += (Problem("IMP006", message, hint, file=path),)
            continue
        made[path] = schema_line(checkout.root, "tpuworkload") + write_document(run.document)
        listed = [record(one) for one in run.differences]
        records.append(
            {"file": path, "workload": run.document, "differences": listed, "patched": run.patched}
        )
    written = write and not errors(problems)
    if written:
        with tree.locked(checkout.root):
            problems += tree.apply(checkout.root, made, ())
    if output == "text":
        if not write:
            exact("---\n".join(made.values()))
        for entry in records:
            _summary(entry)
    show.finish({"workloads": records, "written": sorted(made) if written else []}, problems, output)


def _summary(entry: dict[str, Any]) -> None:
    """Print what a workload renders differently, and what its patches write."""
    fields = counted(len(entry["patched"]), "field")
    say(f"{entry['file']}: renders the object; {fields} in patches", err=True)
    for path in entry["patched"]:
        say(f"  {path}: written by a patch", err=True)
    for one in entry["differences"]:
        change = "added" if one["given"] is None else "left out" if one["rendered"] is None else "changed"
        say(f"  {one['path']}: {change}; {one['why']}", err=True)


def _objects(files: tuple[Path, ...]) -> list[tuple[str, Object | Problem]]:
    """Return the objects of files, those of Lists too, with the name of each file."""
    found: list[tuple[str, Object | Problem]] = []
    for file in files:
        documents, problems = read_manifests(file.read_text(encoding="utf-8"), str(file))
        found += [(str(file), problem) for problem in errors(problems)]
        for document in documents:
            data = document.data
            if isinstance(data, dict):
                items = data.get("items") if data.get("kind") == "List" else None
                found += [(str(file), item) for item in (items or [data]) if isinstance(item, dict)]
    return found
