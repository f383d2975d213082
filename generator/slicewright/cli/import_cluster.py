"""`slicewright import cluster`: a TPUCluster file from a living cluster."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from slicewright.cli import show
from slicewright.cli.command import examples
from slicewright.cli.streams import exact, say
from slicewright.core.problem import Problem, did_you_mean, dotted, errors

if TYPE_CHECKING:
    from slicewright.core.importing.document import Imported
    from slicewright.importing.kubectl import Kubectl

_BROKEN = 3
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command(
    name="import",
    context_settings=show.HELP,
    epilog=examples(
        "slicewright import cluster --context gke_my-project_us-west4_research",
        "slicewright import cluster --context kind-test --name research --write",
    ),
)
@click.argument("what", type=click.Choice(["cluster"]), metavar="cluster")
@click.option("--context", required=True, help="The context of the kubeconfig file.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The kubeconfig file, instead of the one that kubectl takes.",
)
@click.option("--name", help="The name of the cluster. Default: that of the context.")
@click.option("--write", is_flag=True, help="Write clusters/NAME.yaml, unless it exists.")
@show.folder_option
@show.output_option
def import_cluster(
    what: str,  # noqa: ARG001 - there is one thing to import yet
    context: str,
    kubeconfig: Path | None,
    name: str | None,
    write: bool,
    folder: Path,
    output: str,
) -> None:
    """Write a TPUCluster file from a living cluster, read only.

    Nodes, Kueue's objects and priority classes are read through kubectl; nothing is changed, and no secret is
    asked for. The file says `managed: false`: it describes what somebody else made. Comments in it say what
    such a file cannot.
    """
    from slicewright.core.document.read import read_documents  # noqa: PLC0415
    from slicewright.core.document.write import write_document  # noqa: PLC0415
    from slicewright.core.importing.document import imported, text_of  # noqa: PLC0415 - commands start fast
    from slicewright.core.importing.place import name_from  # noqa: PLC0415
    from slicewright.importing.kubectl import Kubectl, KubectlError, program  # noqa: PLC0415
    from slicewright.importing.read import read  # noqa: PLC0415
    from slicewright.workspace.package import catalogue  # noqa: PLC0415

    if name is not None and not _NAME.fullmatch(name):
        hint = "use small letters, digits and hyphens, a letter first"
        raise click.UsageError(f"'{name}' is not a valid name for a cluster: {hint}")
    target = _target(show.root_of(folder), name or name_from(context)) if write else None
    found = program()
    if isinstance(found, Problem):
        _stop(found, _BROKEN)
    kubectl = Kubectl(found, context, kubeconfig)
    try:
        _known(kubectl)
        inventory, problems = read(kubectl)
    except KubectlError as error:
        _stop(error.problem, 1 if error.refused else _BROKEN)
    if errors(problems):
        _stop(*problems)
    made = imported(inventory, catalogue(), name=name or name_from(context), context=context)
    refused = read_documents(write_document(made.document), "")[1]
    if refused:
        hint = "look at kubectl get -o yaml of the objects that hold it"
        _stop(Problem("IMP012", f"the cluster holds what no file can: {refused[0].message}", hint), _BROKEN)
    text = text_of(made, context)
    problems = (*problems, *_empty(made), *_against(made, text))
    if target is not None and not errors(problems):
        problems = (*problems, *_write(target, text))
    _report(made, text, problems, target, output)
    sys.exit(1 if errors(problems) else 0)


def _stop(*problems: Problem | int) -> NoReturn:
    """End with problems; a number is the exit code, else it is 1."""
    show.problems(problem for problem in problems if isinstance(problem, Problem))
    sys.exit(next((code for code in problems if isinstance(code, int)), 1))


def _known(kubectl: Kubectl) -> None:
    """Refuse a context that the kubeconfig does not have."""
    contexts = kubectl.contexts()
    if kubectl.context not in contexts:
        hint = did_you_mean(kubectl.context, contexts) or "kubectl config get-contexts shows them"
        raise show.unknown(f"there is no context '{kubectl.context}'", hint)


def _target(root: Path, name: str) -> Path:
    return root / "clusters" / f"{name}.yaml"


def _empty(made: Imported) -> tuple[Problem, ...]:
    if made.document["spec"]["pools"]:
        return ()
    message = "the cluster shows no GKE node pool and no quota of chips, so the file has no pools"
    hint = "node pools that grow from nothing have no nodes now: add them by hand"
    return (Problem("IMP005", message, hint, severity="warning"),)


def _against(made: Imported, text: str) -> tuple[Problem, ...]:
    """Return what this tool has against the file, as if it stood in a repository."""
    from slicewright.core.intent.source import SourceFile  # noqa: PLC0415
    from slicewright.core.render.repository import Settings, read_repository  # noqa: PLC0415
    from slicewright.workspace.package import package  # noqa: PLC0415

    path = f"clusters/{made.document['metadata']['name']}.yaml"
    repository = read_repository([SourceFile(path, text)], Settings(), package(), lambda _: None)
    return repository.problems


def _write(target: Path, text: str) -> tuple[Problem, ...]:
    """Write a new file; one that exists is left alone."""
    file = f"clusters/{target.name}"
    if target.exists():
        hint = "compare it with what the command prints without --write, or give another --name"
        return (Problem("IMP006", "the file exists and is left alone", hint, file=file),)
    try:
        target.parent.mkdir(exist_ok=True)
        with target.open("x", encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        message, hint = f"cannot be written: {error.strerror}", "check the permissions of clusters/"
        return (Problem("IMP006", message, hint, file=file),)
    return ()


def _report(
    made: Imported, text: str, problems: tuple[Problem, ...], target: Path | None, output: str
) -> None:
    written = f"clusters/{target.name}" if target is not None and not errors(problems) else ""
    if output == "json":
        notes = [{"path": dotted(note.path), "message": note.message} for note in made.notes]
        record = {"cluster": made.document, "notes": notes, "written": written}
        show.as_json({**record, "problems": show.records(problems)})
        return
    if target is None:
        exact(text)
    elif written:
        say(f"{written} written", err=True)
    show.messages(problems)
