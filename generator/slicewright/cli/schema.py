"""`slicewright schema`: CustomResourceDefinitions become JSON Schemas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicewright.cli import show
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from slicewright.core.schema.kind import KindSchema


@click.command(context_settings=show.HELP)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write GROUP/KIND_VERSION.json below this folder, as validate --schema and kubeconform read them.",
)
def schema(files: tuple[str, ...], output_dir: Path | None) -> None:
    """Convert CRDs to JSON Schemas, as strict as the API server.

    FILE is YAML or JSON and may hold several CRDs among other objects; - is stdin. Without --output-dir there
    must be one kind and version, which is printed.
    """
    from slicewright.core.check import cel  # noqa: PLC0415 - commands start fast

    made, problems = _convert(files)
    show.problems(problems)
    for one in made:
        for note in one.notes:
            click.echo(f"{one.of}: {note}", err=True)
        unknown = [
            entry["rule"] for entry in one.schema["x-slicewright"]["cel"] if not cel.is_known(entry["rule"])
        ]
        for rule in unknown:
            click.echo(f"{one.of}: this CEL rule is not evaluated offline: {rule}", err=True)
    if output_dir is not None:
        _write(made, output_dir)
    elif len(made) == 1:
        click.echo(made[0].text(), nl=False)
    elif made:
        raise click.UsageError(f"these are {len(made)} kinds and versions; name a folder with --output-dir")
    sys.exit(1 if problems else 0)


def _convert(files: tuple[str, ...]) -> tuple[list[KindSchema], list[Problem]]:
    from slicewright.core.schema.crd import CRD, NoCrdError, from_crd  # noqa: PLC0415
    from slicewright.workspace.reading import read  # noqa: PLC0415
    from slicewright.workspace.units import STDIN, Unit  # noqa: PLC0415

    made: list[KindSchema] = []
    problems: list[Problem] = []
    for file in files:
        form, path = ("stdin", "") if file == STDIN else ("file", str(Path(file).absolute()))
        reading = read(Unit(form, path, "stdin" if file == STDIN else file, named=True))  # type: ignore[arg-type]
        problems += reading.problems
        crds = [
            document.data
            for document in reading.documents
            if isinstance(document.data, dict) and document.data.get("kind") == CRD
        ]
        if not crds and not reading.problems:
            problems.append(
                Problem("SCHEMA011", f"there is no {CRD} in it", "name the CRD's file", file=file)
            )
        for crd in crds:
            try:
                made += from_crd(crd)
            except NoCrdError as error:
                hint = "a CRD of apiextensions.k8s.io/v1beta1 is none; convert it first"
                problems.append(Problem("SCHEMA011", str(error), hint, file=file))
    return made, problems


def _write(made: list[KindSchema], folder: Path) -> None:
    for one in made:
        path = folder / one.of.file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.text(), encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{path} cannot be written: {error.strerror}") from None
        click.echo(str(path))
