"""`slicewright import gcluster` and `import xpk`: a TPUWorkload file from a command of another tool."""

from collections.abc import Mapping

import click

from slicewright.cli import checkout as repository
from slicewright.cli import show
from slicewright.cli.command import cluster_option, command, options
from slicewright.cli.streams import exact, say
from slicewright.cluster.importing.command_line import ImportedCommand, Tool, imported_command
from slicewright.cluster.importing.gcluster import GCLUSTER
from slicewright.cluster.importing.xpk import XPK
from slicewright.document.write import write_document
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import errors
from slicewright.project.judge import judged_beside
from slicewright.rendering.io import write as tree
from slicewright.rendering.plans import beside

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
