"""`slicewright new`: write a TPUWorkload file."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from slicewright.cli import show
from slicewright.cli.checkout import open_checkout, repository_root, schema_line
from slicewright.cli.command import cluster_option
from slicewright.cli.command import command as declare
from slicewright.cli.streams import say
from slicewright.document.write import write_document
from slicewright.intent import draft
from slicewright.intent.source import SourceFile
from slicewright.intent.tpuworkload import ProvisioningType
from slicewright.kubernetes.fields import at
from slicewright.kubernetes.problem import Problem, counted, did_you_mean, errors, in_order
from slicewright.project.judge import judged_beside
from slicewright.project.repository_reader import Checkout
from slicewright.rendering.io import write
from slicewright.rendering.plan.pathways_plan import (
    HEAD_GIGABYTES,
    HEAD_MACHINE_TYPE,
    HEAD_VCPUS,
    head_pool,
    lacks_head_pool,
)
from slicewright.rendering.plans import Planned, beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WAYS = get_args(ProvisioningType)
_VERSION_PROMPT = "Tag of the Pathways images, jax-VERSION: the version of JAX in the image"
_VERSION_MISSING = "--pathways needs --pathways-version: the version of JAX in the image, such as jax-0.9.2"
_NAMED = ("Reservation", "ComputeClass")
"""Ways of provisioning that name something."""


def _provisioning(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | dict[str, str] | None:
    """Return the value of the field as in a file. Raises BadParameter."""
    if value is None:
        return None
    way, _, name = value.partition("=")
    if way not in _WAYS:
        raise click.BadParameter(f"there is no '{way}'; {did_you_mean(way, _WAYS)}")
    if (way in _NAMED) != bool(name):
        form = f"{way}=NAME" if way in _NAMED else way
        raise click.BadParameter(f"write --provisioning {form}")
    return {"type": way, "name": name} if name else way


def _matrix(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Return the matrix of a file. Raises BadParameter."""
    env: dict[str, list[str]] = {}
    matrix: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        items = text.split(",")
        if not (name and equals and all(items)):
            raise click.BadParameter("write --matrix NAME=A,B")
        if name == "slices" and not all(map(str.isdecimal, items)):
            raise click.BadParameter("write numbers: --matrix slices=1,2")
        if name in {**env, **matrix}:
            raise click.BadParameter(f"duplicate name {name}: write all its values in one, {name}=A,B,C")
        if name in ("slices", "tpu"):
            matrix[name] = list(map(int, items)) if name == "slices" else items
        else:
            env[name] = items
    return {**({"env": env} if env else {}), **matrix}


def _pairs(
    _context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Split each value at its first `=`. Raises BadParameter."""
    pairs = [value.partition("=") for value in values]
    if not all(first and equals for first, equals, _ in pairs):
        raise click.BadParameter(f"write {option.opts[0]} {option.metavar}")
    repeated = [name for name, count in Counter(first for first, _, _ in pairs).items() if count > 1]
    if repeated and option.name in ("env", "request"):
        raise click.BadParameter(f"duplicate name {repeated[0]}")
    return [(first, second) for first, _, second in pairs]


_pair_option = partial(click.option, multiple=True, callback=_pairs)


@declare(
    "slicewright new llama --tpu v5litepod-16 --cluster my-cluster --image python:3.12.12 -- python train.py",
    "slicewright new llama --tpu v5litepod-16 --cluster my-cluster --provisioning Spot "
    "--image python:3.12.12 -- python train.py",
    "slicewright new lr --tpu v5litepod-8 --cluster my-cluster --matrix LR=1e-4,3e-4 --image python:3.12.12 "
    "-- python train.py '--lr=$(LR)'",
    "slicewright new tokenize --cpu cpu-np --nodes 4 --request cpu=12 --bucket my-data=/data "
    "--cluster my-cluster --image python:3.12.12 --script tokenize.sh",
)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@click.option(
    "--tpu",
    metavar="TPU",
    help="A Cloud TPU name, such as v5litepod-16 or v5p-4x4x8.",
)
@click.option("--slices", metavar="N", type=click.IntRange(min=1), help="The number of slices.  [default: 1]")
@click.option("--cpu", metavar="POOL", help="A CPU pool of the cluster, for a run without TPUs.")
@click.option("--nodes", metavar="N", type=click.IntRange(min=1), help="The number of nodes of the CPU pool.")
@click.option("--image", metavar="IMAGE", help="The container's image, unless TPUDefaults name one.")
@click.option(
    "--script",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    callback=lambda _context, _option, file: file.read() if file else None,
    help="A file with the bash script that the container runs instead of a command.",
)
@_pair_option("--env", metavar="NAME=VALUE", help="A variable of the container. Repeatable.")
@_pair_option(
    *("--request", "requests"),
    metavar="NAME=QUANTITY",
    help="A resource request of the container, such as cpu=4 or memory=16Gi. Repeatable.",
)
@_pair_option(
    *("--bucket", "buckets"),
    metavar="BUCKET=PATH",
    help="A Cloud Storage bucket, and its path in the container. Repeatable.",
)
@_pair_option(
    *("--file", "files"),
    metavar="FILE=PATH",
    help="A text file of the repository, and its path in the container. Repeatable.",
)
@click.option("--priority", metavar="CLASS", help="A WorkloadPriorityClass of the cluster.")
@click.option("--service-account", metavar="NAME", help="The Kubernetes service account of the pods.")
@click.option(
    "--pathways", metavar="gs://DIR", help="Run with Pathways, with its temporary files in this folder."
)
@click.option(
    "--pathways-version",
    metavar="TAG",
    help="The tag of the Pathways images: jax-VERSION, with the version of JAX in the image.",
)
@cluster_option("--cluster", "clusters", multiple=True, help="A TPUCluster. Repeatable.")
@click.option("--namespace", metavar="NAMESPACE", default="default", show_default=True, help="The namespace.")
@click.option(
    "--queue",
    metavar="QUEUE",
    help="A LocalQueue of the namespace. Required only if the namespace has several.",
)
@click.option(
    "--provisioning",
    metavar="TYPE",
    callback=_provisioning,
    shell_complete=lambda _context, _option, word: [way for way in _WAYS if way.startswith(word)],
    help="OnDemand, Spot, FlexStart, FlexStartQueued, Reservation=NAME or ComputeClass=NAME.",
)
@click.option(
    "--matrix",
    metavar="NAME=A,B,...",
    multiple=True,
    callback=_matrix,
    help="A sweep: one run for each value. NAME is a variable, slices or tpu. Repeatable.",
)
def new(
    name: str,
    command: tuple[str, ...],
    clusters: tuple[str, ...],
    namespace: str,
    queue: str | None,
    output: str,
    **fields: Any,
) -> None:
    """Write a TPUWorkload file from a few options.

    The file is workloads/NAME.yaml. Everything after `--` is the command that the container runs. On a
    terminal slicewright asks for the cluster, the TPU, the queue, the image, the command and the version of
    Pathways, unless you name them.
    """
    _check_options(command, fields)
    root = repository_root()
    checkout = open_checkout(root)
    chosen = list(clusters) or _cluster(checkout)
    if not (fields["tpu"] or fields["cpu"]):
        fields["tpu"] = _ask_tpu(checkout, chosen)
    queue = queue if queue is not None else _queue(checkout, chosen, namespace)
    has_default = partial(_has_default, checkout, chosen, namespace)
    if not (fields["image"] or has_default("container", "image")):
        fields["image"] = _ask("Image of the container", "Missing option '--image'.")
        command = command or (() if fields["script"] else _ask_program())
    if fields["pathways"] and not (fields["pathways_version"] or has_default("pathways", "pathwaysVersion")):
        fields["pathways_version"] = _ask(_VERSION_PROMPT, _VERSION_MISSING)
    needs_head_pool = bool(fields["pathways"]) and not has_default("pathways", "head", "pool")
    with write.locked(root):
        checkout = open_checkout(root)
        pool, notes = _head_pool(checkout, chosen) if needs_head_pool else ("", [])
        options = {**fields, "clusters": chosen, "queue": queue, "command": command, "head_pool": pool}
        document = draft.document(name, namespace, draft.spec(options))
        head = schema_line(root, "tpuworkload") + "".join(f"# {note}\n" for note in notes)
        path, text = f"workloads/{name}.yaml", head + write_document(document)
        planned, problems = _plan(checkout, SourceFile(path, text))
        if not errors(problems):
            problems += write.apply(root, {path: text}, ())
    if errors(problems):
        show.stop(problems)
    on_one = [entry.plan for entry in planned if entry.plan.cluster == planned[0].plan.cluster]
    chips = sum(plan.shape.chips * plan.slices for plan in on_one)
    record = {"file": path, "workload": f"{namespace}/{name}", "clusters": chosen, "chips": chips}
    if output == "json":
        show.finish(record, problems, output)
    show.messages(problems)
    plan = on_one[0]
    size = f"{counted(plan.slices, 'slice')} of {plan.shape.topology}, {counted(chips, 'chip')} in all"
    if fields["matrix"]:
        size = f"{counted(len(on_one), 'run')}, {counted(chips, 'chip')} in all"
    elif not chips:
        size = f"{counted(plan.hosts, 'node')} of {fields['cpu']}"
    say(f"{path}: {size}")
    for note in notes:
        say(note)
    if not queue:
        say(_without_queue(_queues(checkout, chosen), namespace))
    say(f"the next render starts {'them' if fields['matrix'] else 'it'}: slicewright render")


def _check_options(command: tuple[str, ...], fields: dict[str, Any]) -> None:
    """Raise UsageError for options that are empty, or that need or exclude another one."""
    if command and fields["script"]:
        raise click.UsageError("write either --script, or a command after --")
    texts = {"--script": fields["script"], "--service-account": fields["service_account"]}
    texts["the command after --"] = command[0] if command else None
    empty = next((name for name, text in texts.items() if text == ""), "")
    if empty:
        raise click.UsageError(f"{empty} is empty")
    if bool(fields["cpu"]) < bool(fields["nodes"]):
        raise click.UsageError("--nodes needs --cpu POOL")
    if bool(fields["pathways"]) < bool(fields["pathways_version"]):
        raise click.UsageError("--pathways-version needs --pathways gs://DIR")


def _plan(checkout: Checkout, file: SourceFile) -> tuple[list[Planned], tuple[Problem, ...]]:
    """Plan the new workload together with the existing ones."""
    further = beside(checkout.repository, file)
    if further.workloads and (checkout.root / file.path).exists():
        return [], (Problem("FILE007", "the file already exists", "choose another name", file=file.path),)
    planned, problems = judged_beside(checkout, further)
    # Neither a plan nor an error: then its cluster's file is wrong.
    return planned, problems if planned or errors(problems) else in_order(checkout.repository.problems)


def _has_default(checkout: Checkout, clusters: list[str], namespace: str, *path: str) -> bool:
    """Tell whether TPUDefaults give a field, such as `container`, `image`, on all of some clusters."""
    levels = checkout.repository.levels
    chains = ((level.source.data["spec"] for level in levels.chain(name, namespace)) for name in clusters)
    return all(any(at(spec, *path) for spec in chain) for chain in chains)


def _head_pool(checkout: Checkout, clusters: list[str]) -> tuple[str, list[str]]:
    """Return the CPU pool for the head of Pathways; without one '', and lines that say what to add."""
    sites = [checkout.repository.sites[name] for name in clusters if name in checkout.repository.sites]
    if pool := head_pool(sites):
        return pool, []
    need = f"the head of Pathways, which needs {HEAD_VCPUS} vCPU and {HEAD_GIGABYTES} GB besides the program"
    notes = []
    example = f"{{name: cpu, machineType: {HEAD_MACHINE_TYPE}, nodes: 1}}"
    for site in filter(lacks_head_pool, sites):
        notes += [
            f"cluster '{site.cluster.name}' has no CPU pool for {need}",
            f"add to spec.pools of {site.source.file.path}: {example}",
            "add to the quota of the queue: {pool: cpu}",
            "add to spec.pathways of the workload: {head: {pool: cpu}}",
        ]
    if len(sites) > 1 and not notes:
        notes = [f"the clusters have no CPU pool of one name for {need}"]
    return "", notes


def _cluster(checkout: Checkout) -> list[str]:
    names = sorted(checkout.repository.sites)
    if not names:
        hint = "declare a TPUCluster in a file of clusters/"
        raise show.Refused(
            "USE004", "the repository has no TPUCluster, so the workload has no cluster to run on", hint
        )
    return names if len(names) == 1 else [_ask_choice("cluster", names)]


def _queue(checkout: Checkout, clusters: list[str], namespace: str) -> str | None:
    """Return the only queue of a namespace; with several, ask the user."""
    queues = sorted({name for place, name in _queues(checkout, clusters) if place == namespace})
    if len(queues) > 1 and _can_ask():
        return _ask_choice("queue", queues)
    return queues[0] if len(queues) == 1 else None


def _queues(checkout: Checkout, clusters: list[str]) -> list[tuple[str, str]]:
    sites = checkout.repository.sites
    queues = (queue for name in clusters if name in sites for queue in sites[name].cluster.local_queues)
    return sorted({(queue.namespace, queue.name) for queue in queues})


def _without_queue(queues: list[tuple[str, str]], namespace: str) -> str:
    """Say that a workload without a queue starts at once, and how to name one of the existing queues."""
    text = "no queue: it starts immediately, without Kueue"
    own = [name for place, name in queues if place == namespace]
    if own:
        return f"{text}; for one of '{namespace}': " + " or ".join(f"--queue {name}" for name in own)
    others = " or ".join(f"--namespace {place} --queue {name}" for place, name in queues)
    return f"{text}; '{namespace}' has no LocalQueue" + (f", but there is {others}" if others else "")


def _can_ask() -> bool:
    """Tell whether a person at a terminal can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(prompt: str, otherwise: str, choices: Sequence[str] = ()) -> str:
    """Ask for what no option says. Raises UsageError without a terminal."""
    if not _can_ask():
        raise click.UsageError(otherwise)
    answer: str = click.prompt(prompt, type=click.Choice(choices) if choices else str)
    return answer


def _ask_choice(noun: str, names: list[str]) -> str:
    return _ask(noun.capitalize(), f"name a {noun} with --{noun}: {', '.join(names)}", names)


def _ask_program() -> tuple[str, ...]:
    """Return the command of the container; empty for the command of its image."""
    answer: str = click.prompt("Command, or nothing for that of the image", default="", show_default=False)
    try:
        return tuple(shlex.split(answer))
    except ValueError as error:  # a quote that does not end
        raise click.UsageError(f"the command is not one of a shell: {error}") from None


def _ask_tpu(checkout: Checkout, clusters: Iterable[str]) -> str:
    """Return the TPU of the run, from what all of the clusters have."""
    sites = [checkout.repository.sites[name] for name in clusters if name in checkout.repository.sites]
    names = [{shape.count_name for _, shape in site.pools} for site in sites]
    known = sorted(set.intersection(*names)) if names else []
    return _ask("TPU", "Missing option '--tpu', or '--cpu' for a run without TPUs.", known)
