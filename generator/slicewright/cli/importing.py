"""`slicewright import`: files of intent from existing objects or command lines."""

import re
from collections.abc import Mapping
from pathlib import Path

import click
from msgspec.structs import replace

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.platform_problems import with_platforms
from slicewright.cli import checkout as repository
from slicewright.cli import reach, show
from slicewright.cli.checkout import already_there, repository_root, schema_line
from slicewright.cli.command import (
    BROKEN,
    HELP,
    cluster_option,
    command,
    epilog,
    folder_option,
    kubeconfig_option,
    options,
)
from slicewright.cli.import_workload import import_workload
from slicewright.cli.streams import exact, say
from slicewright.cluster.api.api_error import AccessError
from slicewright.cluster.api.cluster_objects import read_cluster
from slicewright.cluster.importing.cluster_document import Imported, imported, name_from, text_of
from slicewright.cluster.importing.command_line import ImportedCommand, Tool, imported_command
from slicewright.cluster.importing.gcluster import GCLUSTER
from slicewright.cluster.importing.xpk import XPK
from slicewright.document.read import read_documents
from slicewright.document.write import write_document
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem, dotted, errors
from slicewright.project.judge import judged_beside
from slicewright.project.repository_reader import catalogue_at
from slicewright.rendering.io import write as tree
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plans import beside
from slicewright.rendering.repository import Settings, read_repository

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LOGIN = "gcloud container clusters get-credentials NAME --location=LOCATION"


@command(
    "slicewright import cluster --context gke_my-project_us-west4_research",
    "slicewright import cluster --context kind-test --name research --write",
    name="import",
)
@click.option("--context", required=True, help="The context of the kubeconfig file.")
@kubeconfig_option
@click.option("--name", help="The name of the cluster. Default: from the name of the context.")
@click.option("--write", is_flag=True, help="Write clusters/NAME.yaml, unless it exists.")
def import_cluster(context: str, kubeconfig: Path | None, name: str | None, write: bool, output: str) -> None:
    """Write a TPUCluster file from a live cluster (read only).

    It reads nodes, Kueue's objects, priority classes and Deployments. It changes nothing, and reads no
    Secret. The file has `managed: false`, because slicewright did not create the cluster. Comments in the
    file mark settings without a field.
    """
    if name is not None and not _NAME.fullmatch(name):
        hint = "use lower-case letters, digits and hyphens; begin with a letter"
        raise click.UsageError(f"'{name}' is not a valid name for a cluster: {hint}")
    target = repository_root() / "clusters" / f"{name or name_from(context)}.yaml" if write else None
    api = reach.connect(context, kubeconfig, _LOGIN)
    try:
        with reach.unreadable_shown(context):
            inventory, problems = read_cluster(api)
    except AccessError as error:
        show.stop((error.problem,), BROKEN)
    catalogue, refused_files = catalogue_at(Path())
    problems = (*problems, *refused_files)
    if errors(problems):
        show.stop(problems)
    cluster = imported(inventory, catalogue, name=name or name_from(context), context=context)
    unreadable = read_documents(write_document(cluster.document), "")[1]
    if unreadable:
        hint = "look for the value in the output of kubectl get -o yaml"
        message = f"the cluster has a value that a file cannot contain: {unreadable[0].message}"
        show.stop((Problem("IMP012", message, hint),), BROKEN)
    text = text_of(cluster, context)
    if not cluster.document["spec"]["pools"]:
        message = "the cluster shows no GKE node pool and no quota of chips, so the file has no pools"
        hint = "add node pools that scale up from zero by hand: they have no nodes now"
        problems = (*problems, Problem("IMP005", message, hint, severity="warning"))
    problems = (*problems, *_file_problems(cluster, text, catalogue))
    if target is not None and not errors(problems):
        problems = (*problems, *_write(target, schema_line(target.parents[1], "tpucluster") + text))
    path = f"clusters/{target.name}" if target is not None and not errors(problems) else ""
    if output == "text" and target is None:
        exact(text)
    elif output == "text" and path:
        say(f"{path} written", err=True)
    notes = [{"path": dotted(note.path), "message": note.message} for note in cluster.notes]
    show.finish({"cluster": cluster.document, "notes": notes, "written": path}, problems, output)


def _file_problems(cluster: Imported, text: str, catalogue: Catalogue) -> tuple[Problem, ...]:
    """Return the problems that the file would have in a repository."""
    path = f"clusters/{cluster.document['metadata']['name']}.yaml"
    known = replace(package(), catalogue=catalogue)
    return with_platforms(
        read_repository([SourceFile(path, text)], Settings(), known, lambda _: None)
    ).problems


def _write(target: Path, text: str) -> tuple[Problem, ...]:
    """Write a new file; one that exists is left alone."""
    file = f"clusters/{target.name}"
    if problems := already_there(target.parents[1], file, write=True):
        return problems
    try:
        target.parent.mkdir(exist_ok=True)
        with target.open("x", encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        message, hint = f"the file cannot be written: {error.strerror}", "check the permissions of clusters/"
        return (Problem("IMP006", message, hint, file=file),)
    return ()


_options = options(
    click.argument("words", nargs=-1, metavar="-- COMMAND...", type=click.UNPROCESSED),
    cluster_option("--cluster", required=True, help="The TPUCluster of the run."),
    click.option("--write", is_flag=True, help="Write workloads/NAME.yaml, unless it exists."),
)


@command(
    "slicewright import gcluster --cluster my-cluster -- gcluster job submit --name llama"
    " --compute-type v6e --topology 4x4 --image python:3.12 --command 'python train.py'",
    name="import",
)
@_options
def import_gcluster(words: tuple[str, ...], cluster: str, write: bool, output: str) -> None:
    """Write a TPUWorkload file from a command `gcluster job submit`.

    Everything after `--` is the command of Google's Cluster Toolkit; it is read, not run. Differences between
    the file and the command are listed.
    """
    _finish(words, GCLUSTER, cluster, output, write=write)


@command(
    "slicewright import xpk --cluster my-cluster -- xpk workload create --workload llama --cluster my-cluster"
    " --tpu-type v6e-16 --docker-image python:3.12 --command 'python train.py'",
    name="import",
)
@_options
@click.option(
    "--queue",
    metavar="QUEUE",
    help="The LocalQueue of the run. Default: xpk's own, or the only one of the namespace.",
)
@click.option("--namespace", metavar="NAMESPACE", help="The namespace of the run, instead of xpk's.")
@click.option("--head-pool", metavar="POOL", help="The CPU pool of a Pathways head, instead of xpk's cpu-np.")
def import_xpk(
    words: tuple[str, ...],
    cluster: str,
    write: bool,
    queue: str | None,
    namespace: str | None,
    head_pool: str | None,
    output: str,
) -> None:
    """Write a TPUWorkload file from a command `xpk workload create` or `create-pathways`.

    Everything after `--` is the command of xpk; it is read, not run. Differences between the file and the
    command are listed.
    """
    own = {"queue": queue, "namespace": namespace, "head-pool": head_pool}
    chosen = {name: value for name, value in own.items() if value is not None}
    _finish(words, XPK, cluster, output, write=write, chosen=chosen)


def _finish(
    words: tuple[str, ...],
    tool: Tool,
    cluster: str,
    output: str,
    *,
    write: bool,
    chosen: Mapping[str, str] | None = None,
) -> None:
    """Print the TPUWorkload of a command or write its file, and end with its problems."""
    checkout = repository.open_checkout(repository.repository_root())
    repository.cluster_named(cluster, checkout.repository)
    workload = imported_command(words, tool, cluster, checkout.repository, chosen)
    if not isinstance(workload, ImportedCommand):
        show.stop(workload)
    path = f"workloads/{workload.document['metadata']['name']}.yaml"
    text = repository.schema_line(checkout.root, "tpuworkload") + write_document(workload.document)
    problems = [*workload.remarks, *repository.already_there(checkout.root, path, write=write)]
    if not errors(problems):
        further = beside(checkout.repository, SourceFile(path, text))
        problems += errors(judged_beside(checkout, further)[1])
    is_written = write and not errors(problems)
    if is_written:
        with tree.locked(checkout.root):
            problems += tree.apply(checkout.root, {path: text}, ())
        if output == "text" and not errors(problems):
            say(f"{path}: the next render starts it: slicewright render")
    elif write and output == "text":
        say(show.NOTHING_WRITTEN, err=True)
    elif output == "text":
        exact(text)
    record = {"file": path, "workload": workload.document, "written": [path] if is_written else []}
    show.finish(record, problems, output)


@click.group(
    "import",
    context_settings=HELP,
    epilog=epilog(
        "import",
        "slicewright import cluster --context gke_my-project_us-west4_research --write",
        "slicewright import workload jobset.yaml --cluster my-cluster --write",
        "slicewright import xpk --cluster my-cluster --write -- xpk workload create ...",
        "slicewright import gcluster --cluster my-cluster --write -- gcluster job submit ...",
    ),
    params=[folder_option()],
)
def importing() -> None:
    """Write TPUCluster and TPUWorkload files from existing objects."""


importing.add_command(import_cluster, "cluster")
importing.add_command(import_workload, "workload")
importing.add_command(import_xpk, "xpk")
importing.add_command(import_gcluster, "gcluster")
