"""`slicewright schema`: CustomResourceDefinitions become JSON Schemas."""

import sys
from pathlib import Path

import click

from slicewright.check import cel
from slicewright.check.io.discovery import STDIN
from slicewright.check.io.load import load
from slicewright.check.units import Unit
from slicewright.cli import show
from slicewright.cli.command import command
from slicewright.cli.streams import exact, say
from slicewright.kubernetes.problem import Problem, errors
from slicewright.schema.kind import CRD, KindSchema, NoCrdError, from_crd


@command(
    "slicewright schema crd.yaml --output-dir schemas", "slicewright validate --schema schemas manifests"
)
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", shell_complete=click.Path().shell_complete
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write GROUP/KIND_VERSION.json below this folder, as validate --schema and kubeconform read them.",
)
def schema(files: tuple[str, ...], output_dir: Path | None, output: str) -> None:
    """Convert CRDs to JSON Schemas.

    The schemas are as strict as the API server. FILE is YAML or JSON, and may contain several CRDs and other
    objects; - is stdin. Without --output-dir the schema is printed; then FILE must have only one kind and
    version.
    """
    schemas, problems = _convert(files)
    for schema in schemas:
        for note in schema.notes:
            say(f"{schema.of}: {note}", err=True)
        for entry in schema.schema["x-slicewright"]["cel"]:
            if not cel.is_known(entry["rule"]):
                say(f"{schema.of}: this CEL rule is not evaluated offline: {entry['rule']}", err=True)
    if output_dir is None and len(schemas) > 1:
        message = f"these are {len(schemas)} kinds and versions; name a folder with --output-dir"
        raise click.UsageError(message)
    paths = _write(schemas, output_dir, problems) if output_dir is not None else []
    if output == "json" and (problems or output_dir is not None):
        show.as_json({"problems": show.records(problems), "written": paths})
    else:
        show.messages(problems)
        for path in paths:
            say(path)
        if output_dir is None:
            for schema in schemas:
                exact(schema.text())
    sys.exit(1 if problems else 0)


def _convert(files: tuple[str, ...]) -> tuple[list[KindSchema], list[Problem]]:
    schemas: list[KindSchema] = []
    problems: list[Problem] = []
    for file in files:
        form, path = ("stdin", "") if file == STDIN else ("file", str(Path(file).absolute()))
        loaded = load(Unit(form, path, "stdin" if file == STDIN else file, named=True))  # type: ignore[arg-type]
        problems += errors(loaded.problems)
        objects = [document.data for document in loaded.documents]
        crds = [data for data in objects if isinstance(data, dict) and data.get("kind") == CRD]
        if not crds and not loaded.problems:
            message = f"the file has no {CRD}"
            problems.append(Problem("SCHEMA011", message, "name the file of the CRD", file=file))
        for crd in crds:
            try:
                schemas += from_crd(crd)
            except NoCrdError as error:
                hint = "convert a CRD of apiextensions.k8s.io/v1beta1 to v1 first"
                problems.append(Problem("SCHEMA011", str(error), hint, file=file))
    return schemas, problems


def _write(schemas: list[KindSchema], folder: Path, problems: list[Problem]) -> list[str]:
    paths = []
    for schema in schemas:
        path = folder / schema.of.file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(schema.text(), encoding="utf-8")
        except OSError as error:
            message, hint = (
                f"the file cannot be written: {error.strerror}",
                "check the path given with --output-dir",
            )
            problems.append(Problem("FILE003", message, hint, file=str(path)))
            break
        paths.append(str(path))
    return paths
