"""`slicewright catalog`: accelerators, machine types and topologies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slicewright.cli import show
from slicewright.cli.command import examples
from slicewright.core.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.workspace.repository_reader import catalogue_at

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import Shape


@click.command(
    context_settings=show.HELP,
    epilog=examples("slicewright catalog v5e", "slicewright catalog v5p-4x4x8 -o json"),
)
@click.argument("name", required=False)
@click.option(
    "--tier",
    type=click.Choice(["listed", "rule", "all"]),
    default="listed",
    help="Shapes that are published, those that only the rule of a generation makes, or both.",
)
@show.folder_option
@show.output_option
def catalog(name: str | None, tier: str, folder: Path, output: str) -> None:
    """Show accelerators, machine types and topologies.

    NAME is a generation (v5e), an accelerator label (tpu-v5-lite-podslice), a machine type
    (ct5lp-hightpu-4t) or a Cloud TPU name (v5litepod-16). The JSON form has the sources of each shape.
    """
    known, problems = catalogue_at(folder)
    shapes = _named(name, tier, known) if name else known.rows(tier)  # type: ignore[arg-type]
    show.messages(problems)
    if output == "json":
        show.as_json([shape.record() for shape in shapes])
        return
    head = (
        "NAME",
        "MACHINE TYPE",
        "TOPOLOGY",
        "CHIPS",
        "HOSTS",
        "FLEX-START",
        "MULTISLICE",
        "PATHWAYS",
        "NOTES",
    )
    show.table(head, (_row(shape) for shape in shapes))


def _row(shape: Shape) -> tuple[str, ...]:
    notes = [
        "only by the rule: allowUnlisted" if shape.tier == "rule" else "",
        "larger than the documented maximum" if shape.exceeds_documented_max else "",
        "name it by topology and machine type" if not shape.names else "",
    ]
    return (
        shape.names[0] if shape.names else f"({shape.count_name})",
        shape.machine_type,
        shape.topology,
        str(shape.chips),
        str(shape.hosts),
        "yes" if shape.flex_start else "-",
        "yes" if shape.multislice else "-",
        shape.pathways_instance_type or "-",
        "; ".join(note for note in notes if note),
    )


def _named(name: str, tier: str, known: Catalogue) -> tuple[Shape, ...]:
    rows = known.rows(tier)  # type: ignore[arg-type]
    found = tuple(row for row in rows if name in (row.generation, row.accelerator, row.machine_type))
    if found:
        return found
    answer = resolve(known, TpuRequest(name=name, allow_unlisted=tier != "listed"))
    if isinstance(answer, Refusal):
        raise show.Refused(answer.id, answer.message, answer.hint)
    return (answer, *(other for other in known.same_count(answer) if tier in {"all", other.tier}))
