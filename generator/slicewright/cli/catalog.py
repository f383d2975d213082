"""`slicewright catalog`: accelerators, machine types and topologies."""

from collections.abc import Iterable
from itertools import starmap
from pathlib import Path

import click

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.catalogue.shape import Shape
from slicewright.cli import show
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.project.repository_reader import catalogue_at


@command("slicewright catalog", "slicewright catalog v5e", "slicewright catalog v5p-4x4x8 -o json")
@click.argument("name", required=False)
@click.option(
    "--tier",
    type=click.Choice(["listed", "rule", "all"]),
    default="listed",
    help="listed: shapes that Google publishes; rule: other shapes that its rules for topologies allow; "
    "all: both.",
)
def catalog(name: str | None, tier: str, output: str) -> None:
    """Show accelerators, machine types and topologies.

    Without NAME, there is one line for each machine type. NAME lists shapes; it is a generation (v5e), an
    accelerator label (tpu-v5-lite-podslice), a machine type (ct5lp-hightpu-4t) or a Cloud TPU name
    (v5litepod-16). The JSON form has all shapes, with the sources of each.
    """
    known, problems = catalogue_at(Path())
    show.messages(problems)
    shapes = _shapes(name, tier, known) if name else known.rows(tier)  # type: ignore[arg-type]
    if output == "json":
        show.as_json([shape.record() for shape in shapes])
        return
    if not name:
        _say_machines(shapes)
        return
    head = "NAME, MACHINE TYPE, TOPOLOGY, CHIPS, HOSTS, FLEX-START, MULTISLICE, PATHWAYS, NOTES"
    show.table(tuple(head.split(", ")), (_row(shape) for shape in shapes))


def _say_machines(shapes: Iterable[Shape]) -> None:
    machines: dict[tuple[str, ...], list[Shape]] = {}
    for shape in shapes:
        machines.setdefault((shape.generation, shape.accelerator, shape.machine_type), []).append(shape)
    head = "GENERATION, ACCELERATOR, MACHINE TYPE, SHAPES, CHIPS, FLEX-START, MULTISLICE, PATHWAYS, SUCH AS"
    show.table(tuple(head.split(", ")), starmap(_summary, machines.items()))
    say("slicewright catalog NAME lists shapes of a generation, accelerator or machine type", err=True)


def _summary(names: tuple[str, ...], shapes: list[Shape]) -> tuple[str, ...]:
    chips = sorted(shape.chips for shape in shapes)
    named = next((shape.names[0] for shape in reversed(shapes) if shape.names), "-")
    has = ((shape.flex_start, shape.multislice, shape.pathways_instance_type) for shape in shapes)
    words = ("yes" if all(values) else "some" if any(values) else "-" for values in zip(*has, strict=True))
    size = f"{chips[0]:,}" if chips[0] == chips[-1] else f"{chips[0]:,} to {chips[-1]:,}"
    return (*names, str(len(shapes)), size, *words, named)


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


def _shapes(name: str, tier: str, known: Catalogue) -> tuple[Shape, ...]:
    rows = known.rows(tier)  # type: ignore[arg-type]
    matching = tuple(row for row in rows if name in (row.generation, row.accelerator, row.machine_type))
    if matching:
        return matching
    shape = resolve(known, TpuRequest(name=name, allow_unlisted=tier != "listed"))
    if isinstance(shape, Refusal):
        raise show.Refused(shape.id, shape.message, shape.hint)
    return (shape, *(other for other in known.same_count(shape) if tier in {"all", other.tier}))
