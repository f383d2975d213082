"""`slicewright new`: write a TPUWorkload file."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import show
from slicewright.cli.examples import examples
from slicewright.core.document.write import write_document
from slicewright.core.intent.source import SourceFile
from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.render.plans import Planned, plan_all
from slicewright.core.render.repository import API_VERSION, identities, read_repository
from slicewright.workspace import write
from slicewright.workspace.read import Checkout, read_checkout

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA = "schemas/slicewright/tpuworkload.json"


@click.command(
    context_settings=show.HELP,
    epilog=examples(
        "slicewright new llama --tpu v5litepod-16 --image python:3.12 -- python train.py",
    ),
)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@click.option(
    "--tpu", metavar="TPU", required=True, help="A Cloud TPU name, such as v5litepod-16 or v5p-4x4x8."
)
@click.option(
    "--slices", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="How many slices."
)
@click.option("--image", metavar="IMAGE", required=True, help="The container's image.")
@click.option("--cluster", "clusters", metavar="CLUSTER", multiple=True, help="A cluster. Repeatable.")
@click.option("--namespace", metavar="NAMESPACE", default="default", show_default=True, help="The namespace.")
@click.option(
    "--queue", metavar="QUEUE", help="A LocalQueue of the namespace; default: the only one that there is."
)
@show.folder_option
@show.output_option
def new(
    name: str,
    command: tuple[str, ...],
    tpu: str,
    slices: int,
    image: str,
    clusters: tuple[str, ...],
    namespace: str,
    queue: str | None,
    folder: Path,
    output: str,
) -> None:
    """Write a TPUWorkload file from a few options.

    The file is workloads/NAME.yaml. Everything after `--` is the command that the container runs.
    """
    root = show.root_of(folder)
    with write.locked(root):
        checkout = show.checked(read_checkout, root)
        chosen = list(clusters) or _only_cluster(checkout)
        queue = queue if queue is not None else _only_queue(checkout, chosen, namespace)
        document = _document(name, namespace, chosen, tpu, slices, queue, image, command)
        path, text = f"workloads/{name}.yaml", _head(root) + write_document(document)
        planned, found = _plan(checkout, SourceFile(path, text))
        if not errors(found):
            found += write.apply(root, {path: text}, ())
    if errors(found):
        show.problems(found)
        sys.exit(1)
    shape = planned[0].plan.shape
    chips = shape.chips * slices
    if output == "json":
        key = f"{namespace}/{name}"
        record = {"file": path, "workload": key, "clusters": chosen, "chips": chips}
        show.as_json({**record, "problems": show.records(found)})
        return
    show.messages(found)
    click.echo(
        f"{path}: {show.count(slices, 'slice')} of {shape.topology}, {show.count(chips, 'chip')} in all"
    )
    if not queue:
        click.echo(
            f"no queue: it starts at once, without Kueue; name a LocalQueue of '{namespace}' with --queue"
        )
    click.echo("the next render starts it: slicewright render")


def _plan(checkout: Checkout, file: SourceFile) -> tuple[list[Planned], tuple[Problem, ...]]:
    """Plan the new workload beside those that are there; its problems have no line, for it is not written."""
    known = checkout.repository
    alone = read_repository([file], known.settings, known.package, known.read_text)
    if alone.workloads and (checkout.root / file.path).exists():
        return [], (Problem("FILE007", "the file exists already", "choose another name", file=file.path),)
    everyone = (*known.workloads, *alone.workloads)
    beside = replace(known, workloads=everyone, problems=(*alone.problems, *identities(everyone)))
    planned, problems = plan_all(beside)
    own = [replace(problem, line=0, column=0) for problem in problems if problem.file == file.path]
    found = [entry for entry in planned if entry.workload.source.file is file]
    # No plan and nothing against it: then its cluster's file is wrong.
    return found, in_order(own if found or errors(own) else known.problems)


def _head(root: Path) -> str:
    """Tell editors of the schema, where the repository holds it."""
    return f"# yaml-language-server: $schema=../{_SCHEMA}\n" if (root / _SCHEMA).is_file() else ""


def _document(
    name: str,
    namespace: str,
    clusters: list[str],
    tpu: str,
    slices: int,
    queue: str | None,
    image: str,
    command: tuple[str, ...],
) -> dict[str, Any]:
    metadata = {"name": name} if namespace == "default" else {"name": name, "namespace": namespace}
    container: dict[str, Any] = {"image": image}
    if command:
        container["command"] = list(command)
    spec: dict[str, Any] = {"clusters": clusters, "tpu": tpu, "slices": slices}
    if queue:
        spec["queueName"] = queue
    spec["container"] = container
    return {"apiVersion": API_VERSION, "kind": "TPUWorkload", "metadata": metadata, "spec": spec}


def _only_cluster(checkout: Checkout) -> list[str]:
    names = sorted(checkout.repository.sites)
    if len(names) != 1:
        if not names:
            hint = "declare a TPUCluster in a file of clusters/"
            raise show.Refused("USE004", "there is no cluster yet that it could run on", hint)
        raise click.UsageError(f"name a cluster with --cluster: {', '.join(names)}")
    return names


def _only_queue(checkout: Checkout, clusters: list[str], namespace: str) -> str | None:
    """Return the queue of a namespace where there is exactly one on every cluster."""
    found = {
        queue.name
        for name in clusters
        if name in checkout.repository.sites
        for queue in checkout.repository.sites[name].cluster.local_queues
        if queue.namespace == namespace
    }
    return found.pop() if len(found) == 1 else None
