"""Finds the catalogue row of a request, or the problem of the request."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue, Scope
from slicewright.catalogue.shape import (
    Shape,
    around,
    is_topology,
    joined,
    near_topologies,
    nearest_are,
    sides,
    written,
)
from slicewright.kubernetes.problem import nearest

RequestField = Literal["", "accelerator", "topology", "machineType", "allowUnlisted"]

_COUNT = re.compile(r"0|[1-9][0-9]{0,8}")
_WORDS: Mapping[int, str] = {2: "two", 3: "three"}
_FORMS: Mapping[int, str] = {2: "AxB", 3: "AxBxC"}


class TpuRequest(Struct, frozen=True, rename="camel"):
    """The requested shape: a name such as `v5p-4x4x8`, or an accelerator with the rest where it is needed.

    `accelerator` is a generation, a prefix of names or a GKE label. If there is a name, `accelerator`,
    `topology` and `machine_type` are not looked at. `allow_unlisted` admits the rule tier.
    """

    name: str = ""
    accelerator: str = ""
    topology: str = ""
    machine_type: str = ""
    allow_unlisted: bool = False


class Refusal(Struct, frozen=True):
    """Why a request means no row; `field` is the part of the request to point at, empty for a name."""

    id: str
    message: str
    hint: str
    field: RequestField


def resolve(catalogue: Catalogue, request: TpuRequest) -> Shape | Refusal:
    """Return the one row that a request means."""
    if request.name:
        shape = catalogue.names.get(request.name)
        if shape is None and request.allow_unlisted:
            shape = catalogue.rule_names.get(request.name)
        return shape or _refused_name(catalogue, request)
    scope = catalogue.scopes.get(request.accelerator)
    if scope is None:
        return _unknown(catalogue, request.accelerator, "accelerator")
    if request.machine_type and all(m.machine_type != request.machine_type for m in scope.machines):
        return _refused_machine(catalogue, scope, request.machine_type)
    if not request.topology:
        choices = _choices(catalogue, scope, request.machine_type)
        return next(iter(choices.values())) if len(choices) == 1 else _no_topology(request, list(choices))
    return _by_topology(catalogue, scope, request) or _refused_topology(
        catalogue, scope, request, request.topology, "topology"
    )


def _by_topology(catalogue: Catalogue, scope: Scope, request: TpuRequest) -> Shape | None:
    topology, machine = request.topology, (request.machine_type, request.topology)
    listed = catalogue.on_machine.get(machine) if request.machine_type else scope.shapes.get(topology)
    if listed or not request.allow_unlisted:
        return listed
    if request.machine_type:
        return catalogue.rule_on_machine.get(machine)
    return catalogue.unlisted(scope, topology)


def _choices(catalogue: Catalogue, scope: Scope, machine_type: str) -> Mapping[str, Shape]:
    """Return the listed rows by topology, of one machine type if it is named."""
    if not machine_type:
        return scope.shapes
    return {row.topology: row for row in catalogue.rows() if row.machine_type == machine_type}


def _refused_name(catalogue: Catalogue, request: TpuRequest) -> Refusal:
    name = request.name
    clean = name.strip().lower()
    if clean != name:
        known = clean in catalogue.names or clean in catalogue.rule_names
        hint = f"did you mean '{clean}'?" if known else "write the name in lower case, without spaces"
        return Refusal("TPU002", f"'{name}' is not a TPU name", hint, "")
    scope = catalogue.scopes.get(name)
    if scope is not None:
        hint = f"add a count or a topology, such as {_example(scope)}"
        return Refusal(
            "TPU002", f"'{name}' is only an accelerator: the size of the slice is missing", hint, ""
        )
    prefix, dash, rest = name.partition("-")
    near = [] if dash else nearest(name, catalogue.names)
    if near:
        return Refusal("TPU002", f"'{name}' is not a TPU name", f"did you mean '{near[0]}'?", "")
    scope = catalogue.scopes.get(prefix)
    if scope is None:
        return _unknown(catalogue, name if name in catalogue.misnomers else prefix, "")
    if _COUNT.fullmatch(rest):
        return _refused_count(catalogue, scope, request, int(rest))
    if is_topology(rest):
        return _refused_topology(catalogue, scope, request, rest, "")
    hint = f"write {prefix}-COUNT or {prefix}-{_FORMS[scope.generation.sides]}, such as {_example(scope)}"
    return Refusal("TPU002", f"'{name}' is not a TPU name", hint, "")


def _example(scope: Scope) -> str:
    """Return a name by count and a name by topology of the first slice, with the prefix that was written."""
    first = next(iter(scope.shapes.values()))
    prefix = scope.word if scope.word in scope.family.prefixes else scope.family.prefix
    return " or ".join(name for name in first.names if name.startswith(f"{prefix}-"))


def _unknown(catalogue: Catalogue, word: str, field: RequestField) -> Refusal:
    """Refuse a word that is not an accelerator: TPU001."""
    left_out = catalogue.not_offered.get(word)
    if left_out is not None:
        return Refusal(
            "TPU001", f"accelerator '{word}' is not offered: {left_out.why}", _accelerators(catalogue), field
        )
    if not word:
        return Refusal("TPU001", "no accelerator is named", _accelerators(catalogue), field)
    message = f"unknown accelerator '{word}'"
    if word in catalogue.names:
        return Refusal("TPU001", message, f"that is a TPU name: write it as tpu: {word}", field)
    words = list(catalogue.scopes) if field else _prefixes(catalogue)
    near = nearest(word, words, count=3)
    if near and near[0] == word.lower():
        near = near[:1]
    if word in catalogue.misnomers:
        near = [catalogue.misnomers[word]]
    quoted = [f"'{choice}'" for choice in near]
    hint = f"did you mean {joined(quoted, 'or')}?" if near else _accelerators(catalogue)
    if word not in catalogue.misnomers and catalogue.may_be_newer(word):
        hint = f"if GKE has it, describe it in catalog/; if not, {hint}"
    return Refusal("TPU001", message, hint, field)


def _accelerators(catalogue: Catalogue) -> str:
    return f"write one of: {', '.join(_prefixes(catalogue))}"


def _prefixes(catalogue: Catalogue) -> list[str]:
    return [
        prefix
        for generation in catalogue.generations.values()
        for family in generation.families
        for prefix in family.prefixes
    ]


def _refused_machine(catalogue: Catalogue, scope: Scope, name: str) -> Refusal:
    """Refuse a machine type that the accelerator does not have: TPU007."""
    machine, left_out = catalogue.machine_types.get(name), catalogue.not_offered.get(name)
    if machine is not None:
        message = f"machine type '{name}' has {machine.accelerator}, not {scope.word}"
    elif left_out is not None:
        message = f"machine type '{name}' is not offered: {left_out.why}"
    else:
        message = f"unknown machine type '{name}'"
    offered = joined([machine.machine_type for machine in scope.machines], "or")
    return Refusal("TPU007", message, f"write a machine type of {scope.word}: {offered}", "machineType")


def _no_topology(request: TpuRequest, topologies: list[str]) -> Refusal:
    """Refuse an accelerator or a machine type that has several topologies when none is named: TPU008."""
    word = request.machine_type or request.accelerator
    message = f"'{word}' has {len(topologies)} topologies; write one"
    hint = f"add a topology: {joined(topologies, 'or')}"
    return Refusal("TPU008", message, hint, "machineType" if request.machine_type else "accelerator")


def _refused_topology(
    catalogue: Catalogue, scope: Scope, request: TpuRequest, topology: str, field: RequestField
) -> Refusal:
    """Refuse a topology that does not resolve: TPU002, TPU003, TPU004, TPU006 or TPU007."""
    if not is_topology(topology):
        clean = topology.strip().lower()
        known = clean in scope.shapes or catalogue.unlisted(scope, clean) is not None
        form = _FORMS[scope.generation.sides]
        hint = f"did you mean '{clean}'?" if known else f"write {form}, such as {next(iter(scope.shapes))}"
        return Refusal("TPU002", f"topology '{topology}' is not of the form {form}", hint, field)
    having = [
        row.machine_type
        for row in catalogue.rows("all")
        if row.generation == scope.generation.name and row.topology == topology
    ]
    if request.machine_type and not request.name and having and request.machine_type not in having:
        own = joined(list(_choices(catalogue, scope, request.machine_type)), "or")
        return Refusal(
            "TPU007",
            f"machine type '{request.machine_type}' has no topology '{topology}'",
            f"write topology {own}, or machineType {joined(having, 'or')}",
            "machineType",
        )
    if catalogue.unlisted(scope, topology) is not None:
        hint = "set allowUnlisted: true to use it anyway"
        if not field:
            hint = f"write {_unlisted(scope, topology)} to use it anyway"
        message = f"topology '{topology}' fits the pattern of {scope.word}, but no published list has it"
        return Refusal("TPU006", message, hint, field)
    unsorted = _unsorted(catalogue, scope, request, topology, field)
    return unsorted or _foreign(catalogue, scope, request, topology, field)


def _unlisted(scope: Scope, topology: str) -> str:
    """Return how to request an unlisted shape."""
    return f"{{accelerator: {scope.word}, topology: {topology}, allowUnlisted: true}}"


def _unsorted(
    catalogue: Catalogue, scope: Scope, request: TpuRequest, topology: str, field: RequestField
) -> Refusal | None:
    """Refuse the sides of a legal topology in another order: TPU004."""
    lengths = sorted(sides(topology))
    message = f"topology '{topology}' has its sides in the wrong order"
    for legal in scope.shapes:
        if sorted(sides(legal)) == lengths:
            return Refusal("TPU004", message, f"write {legal}", field)
    legal = written(lengths)
    if catalogue.unlisted(scope, legal) is None:
        return None
    hint = f"write {legal}"
    if not request.allow_unlisted:
        hint += "; no published list has it, so it needs allowUnlisted: true"
    return Refusal("TPU004", message, hint, field)


def _foreign(
    catalogue: Catalogue, scope: Scope, request: TpuRequest, topology: str, field: RequestField
) -> Refusal:
    """Refuse a topology that the accelerator does not have in any order: TPU003."""
    lengths, generation = sides(topology), scope.generation
    reasons = []
    if len(lengths) != generation.sides:
        reasons.append(f"{scope.word} topologies have {_number(generation.sides)} sides")
    owners = dict.fromkeys(
        row.accelerator if row.generation == generation.name else row.generation
        for row in catalogue.rows()
        if row.topology == topology
    )
    if owners:
        reasons.append(f"{topology} is a topology of {joined(list(owners))}")
    message = f"topology '{topology}' is not a {scope.word} topology"
    if reasons:
        message += f": {'; '.join(reasons)}"
    legal = list(scope.shapes)
    if request.allow_unlisted:
        legal += (row.topology for row in catalogue.rows("rule") if row.generation == generation.name)
    return Refusal("TPU003", message, nearest_are(near_topologies(lengths, legal)), field)


def _refused_count(catalogue: Catalogue, scope: Scope, request: TpuRequest, count: int) -> Refusal:
    """Refuse a count that no shape has, or several with none as the default: TPU005, TPU006 or TPU008."""
    generation, prefix = scope.generation, request.name.partition("-")[0]
    rows = catalogue.by_count.get(f"{scope.family.prefix}-{count}", ())
    if not rows:
        return _impossible(catalogue, scope, request, count)
    listed = [row.topology for row in rows if row.tier == "listed"]
    rule = [row.topology for row in rows if row.tier == "rule"]
    if not listed and not request.allow_unlisted:
        message = f"'{request.name}' fits only shapes that no published list of {generation.name} has"
        hint = f"write {_unlisted(scope, rule[0])} to use it anyway"
        if len(rule) > 1:
            hint = f"write {_unlisted(scope, 'T')} with one of {joined(rule)} as T"
        return Refusal("TPU006", message, hint, "")
    message = f"'{request.name}' fits {len(rows)} shapes: write one of them"
    names = [f"{prefix}-{topology}" for topology in (listed + rule if request.allow_unlisted else listed)]
    hint = f"write {'one of ' if len(names) > 1 else ''}{joined(names)}"
    if rule and not request.allow_unlisted:
        hint += f"; with allowUnlisted: true also {joined(rule)}"
    return Refusal("TPU008", message, hint, "")


def _number(number: int) -> str:
    return _WORDS.get(number, str(number))


def _impossible(catalogue: Catalogue, scope: Scope, request: TpuRequest, count: int) -> Refusal:
    """Refuse a count that no shape of the rule or of a list has: TPU005."""
    generation, prefix = scope.generation, request.name.partition("-")[0]
    unit = "chips"
    if generation.counts == "tensorCores":
        unit = f"TensorCores ({_number(generation.cores_per_chip)} per chip)"
    message = f"'{request.name}' does not exist: no {generation.name} slice has {count:,} {unit}"
    names = dict(catalogue.names)
    if request.allow_unlisted:
        names.update(catalogue.rule_names)
    legal = []
    for name in names:
        start, _, rest = name.partition("-")
        if start == prefix and _COUNT.fullmatch(rest):
            legal.append((int(rest), name))
    return Refusal("TPU005", message, nearest_are(around(count, legal)), "")
