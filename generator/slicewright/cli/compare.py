"""`slicewright rehearse --compare A.json B.json`: outputs of earlier rehearsals, compared without a play."""

import json
from pathlib import Path
from typing import Any, NoReturn

from slicewright.cli import show
from slicewright.cli.comparison import finish
from slicewright.cli.report import page_file
from slicewright.core.kubernetes.types import Object
from slicewright.rehearsal.model.comparison import BASE, Group, Noise, measured
from slicewright.rehearsal.model.variant_verdict import verdict
from slicewright.workspace.package import package
from slicewright.workspace.text_file import read_file


def compare_outputs(paths: tuple[Path, Path], html: Path | None, output: str) -> NoReturn:
    """Print how two outputs compare, and end the command. Raises Refused."""
    page_file.check(html)
    finish(_pairs(paths), html, output)


def _pairs(paths: tuple[Path, Path]) -> list[Group]:
    """Return pairs of the variants of two outputs that have one name.

    An output is that of `rehearse -o json`, with variants or without; the base has the name of its cluster.
    Raises Refused.
    """
    outputs = [_read(path) for path in paths]
    first, second = ({_key(variant): variant for variant in variants} for variants, _ in outputs)
    common = [key for key in first if key in second]
    if not common:
        message = f"'{paths[0]}' and '{paths[1]}' have no cluster and no variant in common"
        listed = [", ".join(name for _, name in keys) or "none" for keys in (first, second)]
        raise show.unknown(message, f"the first has {listed[0]}; the second {listed[1]}")
    noises = [noise for _, noise in outputs]
    noise = Noise(max(each.resolution for each in noises), min(each.repetitions for each in noises))
    pairs: list[Group] = []
    for key in common:
        of = "" if len(common) == 1 else f" {key[1]}"
        before = {**first[key], "name": f"{paths[0]}{of}", "verdict": ""}
        after = {**second[key], "name": f"{paths[1]}{of}"}
        after["verdict"] = verdict(before, after, noise, after["name"])
        pairs.append(Group([before, after], noise))
    return pairs


def _key(variant: Object) -> tuple[bool, str]:
    """Return whether it is a base, and its name: a file of changes may be called as a cluster is."""
    is_base = variant["name"] == BASE
    return is_base, str(variant["cluster"] if is_base else variant["name"])


def _read(path: Path) -> tuple[list[Object], Noise]:
    """Return the variants of an output, and its noise. Raises Refused."""
    text = read_file(path, str(path))
    if not isinstance(text, str):
        raise show.Refused(text.id, f"cannot read '{path}': {text.message}", text.hint)
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    schemas = package().schemas
    if schemas.accepts("slicewright/what-if.json", data):
        return data["variants"], Noise(data["resolution"], data["repetitions"])
    if schemas.accepts("slicewright/rehearsal.json", data) and data["rehearsals"]:
        records = data["rehearsals"]
        variants = [{**measured(BASE, [], [record]), "problems": record["problems"]} for record in records]
        return variants, Noise(max(record["resolution"] for record in records))
    hint = "write one with this version: slicewright rehearse -o json > FILE"
    raise show.unknown(f"'{path}' is not an output of a rehearsal", hint)
