"""A TPUWorkload with a matrix becomes one TPUWorkload for each entry, as a person would write them.

The rest of slicewright sees ordinary workloads. What an entry is called and what its run is made of follow
from the values of this entry alone: other entries, and the order of all, rename and restart nothing.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal, getcontext
from itertools import product
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.intent.source import Source, Sweep
from slicewright.kubernetes.name_room import room_in_jobset, room_in_pathwaysjob, subdomain
from slicewright.kubernetes.problem import Path, Problem, did_you_mean, dotted

MOST = 256
"""Runs of one matrix, as in GitHub's."""
_MATRIX: Path = ("spec", "matrix")
_FIELDS = ("slices", "tpu")
"""Fields of the spec that an entry may set; everything else is a variable."""
_ID = len("-0123abcd")
"""Characters of the id of a run that is Hashed."""
_LARGE = (1000, 1000)
"""Slices and hosts for which a name of an entry has room: it does not change with their number."""
_DIGITS = 6
"""Of a digest, in place of values that no name can hold."""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class _Entry(Struct, frozen=True):
    """One run of a sweep: its values by their paths below an entry, and where they are written."""

    values: dict[Path, Any]
    place: Path
    renamed: dict[Path, Path] = field(default_factory=dict)
    name: str = ""


def expand(source: Source) -> tuple[list[Source], list[Problem]]:
    """Return the workloads of a checked TPUWorkload, itself if it has no matrix, and their problems."""
    spec = source.data["spec"]
    if "matrix" not in spec:
        return [source], []
    matrix = spec["matrix"]
    lists = list(_axes(matrix))
    number = math.prod(len(values) for _, values in lists) if lists else 0
    number += len(matrix.get("include", ()))
    if number > MOST:
        hint = f"write at most {MOST}, or several TPUWorkloads"
        return [], [source.problem("SWEEP001", _MATRIX, f"the matrix has {number:,} entries", hint, key=True)]
    combined, problems = _combined(source, lists)
    entries: dict[str, _Entry] = {}
    for entry in (*combined, *_included(matrix)):
        name = entry.name or _name(source, entry.values)
        if name in entries:
            both = f"{_in_words(entries[name].values)} and {_in_words(entry.values)}"
            message = f"two entries of the matrix are named '{name}': {both}"
            hint = "give one of them its own name under include"
            problems.append(source.problem("SWEEP002", entry.place, message, hint))
        entries.setdefault(name, entry)
    problems += _unknown(source, matrix, list(entries))
    if not entries and not problems:
        message = "the matrix has no entry"
        hint = "write an axis under env, slices or tpu, or an entry under include"
        if lists:
            message, hint = "exclude leaves no entry of the matrix", "remove an entry from exclude"
        problems.append(source.problem("SWEEP001", _MATRIX, message, hint, key=True))
    return [_source(source, name, entry) for name, entry in entries.items()], problems


def _in_words(values: dict[Path, Any]) -> str:
    """Return the values of an entry as `explain` shows them: `LR=0.1 slices=2`."""
    return " ".join(f"{path[-1]}={value}" for path, value in values.items())


def _axes(matrix: dict[str, Any]) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the axes in an order that does not depend on the file."""
    for name, values in sorted(matrix.get("env", {}).items()):
        yield ("env", name), [_text(value) for value in values]
    for name in _FIELDS:
        if name in matrix:
            yield (name,), matrix[name]


def _text(value: Any) -> str:
    """Return what a variable holds: text as it is, and numbers and truth values as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value)


def _values(entry: dict[str, Any]) -> dict[Path, Any]:
    """Return the values of an entry that is written out, as those of a combination are."""
    values: dict[Path, Any] = {}
    for name, value in sorted(entry.get("env", {}).items()):
        values["env", name] = _text(value)
    return values | {(name,): entry[name] for name in _FIELDS if name in entry}


def _combined(source: Source, axes: list[tuple[Path, list[Any]]]) -> tuple[list[_Entry], list[Problem]]:
    """Return every combination of the axes but those that are excluded."""
    matrix = source.data["spec"]["matrix"]
    excluded = [_values(entry).items() for entry in matrix.get("exclude", ())]
    used = [False] * len(excluded)
    entries: list[_Entry] = []
    if axes:
        for chosen in product(*(enumerate(values) for _, values in axes)):
            values = {path: value for (path, _), (_, value) in zip(axes, chosen, strict=True)}
            matching = [
                at for at, items in enumerate(excluded) if all(item in values.items() for item in items)
            ]
            for at in matching:
                used[at] = True
            if not matching:
                places = zip((path for path, _ in axes), (at for at, _ in chosen), strict=True)
                renamed = {
                    ("spec", *path): (*_MATRIX, *path, at) for path, at in places if path[0] in _FIELDS
                }
                entries.append(_Entry(values, _MATRIX, renamed))
    hint = "write values of the axes exactly as in the lists; an entry of include needs no exclude"
    return entries, [
        source.problem(
            "SWEEP003", (*_MATRIX, "exclude", at), "no combination of the matrix has these values", hint
        )
        for at, is_used in enumerate(used)
        if not is_used
    ]


def _included(matrix: dict[str, Any]) -> Iterator[_Entry]:
    for at, entry in enumerate(matrix.get("include", ())):
        place: Path = (*_MATRIX, "include", at)
        values = _values(entry)
        renamed: dict[Path, Path] = {
            (*(("spec",) if path[0] in _FIELDS else _MATRIX), *path): (*place, *path) for path in values
        }
        renamed["metadata", "name"] = (*place, "name") if "name" in entry else place
        yield _Entry(values, place, renamed, entry.get("name", ""))


def _unknown(source: Source, matrix: dict[str, Any], names: list[str]) -> Iterator[Problem]:
    for name in matrix.get("runs", {}):
        if name not in names:
            message = f"the matrix has no entry '{name}'"
            hint = did_you_mean(name, names) or "remove it"
            yield source.problem("SWEEP003", (*_MATRIX, "runs", name), message, hint, key=True)


def _name(source: Source, values: dict[Path, Any]) -> str:
    """Return the name of an entry: its values if they fit into a name, else a digest of them."""
    parts = [_part(path[0], value) for path, value in values.items()]
    name = "-".join(parts)
    spec = source.data["spec"]
    if all(parts) and len(f"{source.data['metadata']['name']}-{name}") <= room_for_name(spec):
        return name
    text = json.dumps([[dotted(path), value] for path, value in values.items()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def room_for_name(spec: dict[str, Any]) -> int:
    """Return how many characters of a workload's name fit its runs, with their id."""
    room = room_in_jobset({"slice": _LARGE})
    if "pathways" in spec:
        room = room_in_jobset({"worker": _LARGE}, coordinator_subdomain=subdomain("", ""))
    if spec.get("api") == "PathwaysJob":
        room = room_in_pathwaysjob()
    # An id was always counted for those: names of sweeps that run do not change.
    beside = {job["name"]: (1, 1) for job in spec.get("auxiliaryJobs", ())}
    rooms = [room_in_jobset(beside).length - _ID * (spec.get("naming") != "Fixed")] if beside else []
    return min([room.length - _ID, *rooms])


def _part(field: str | int, value: Any) -> str:
    """Return a value as a part of a name; '' if a name cannot hold it.

    A name cannot have a point: 0.1 is 1e-1, and 0.00025 is 25e-5.
    """
    if field == "slices":
        return f"{value}x"
    if not isinstance(value, str):
        return ""
    if not value.isdecimal() and _NUMBER.fullmatch(value) and len(value) <= getcontext().prec:
        _, digits, exponent = Decimal(value).normalize().as_tuple()
        mantissa = "".join(map(str, digits))
        return f"{mantissa}e{exponent}" if exponent else mantissa
    lower = value.lower()
    return lower if _LABEL.fullmatch(lower) else ""


def _source(source: Source, name: str, entry: _Entry) -> Source:
    """Return the document of an entry, which knows the lines of its values in the file."""
    data, spec = source.data, source.data["spec"]
    matrix = spec["matrix"]
    variables = {str(path[1]): text for path, text in entry.values.items() if path[0] == "env"}
    own: dict[str, Any] = {"env": variables}
    if name in matrix.get("runs", {}):
        own["run"] = matrix["runs"][name]
    fields = {str(path[0]): value for path, value in entry.values.items() if path[0] in _FIELDS}
    metadata = {**data["metadata"], "name": f"{data['metadata']['name']}-{name}"}
    document = replace(
        source.document, data={**data, "metadata": metadata, "spec": {**spec, **fields, "matrix": own}}
    )
    renamed = {**entry.renamed, **source.renamed}
    return replace(source, document=document, renamed=renamed, sweep=Sweep(source, name))
