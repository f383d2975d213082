"""Objects with values that somebody still fills in: what depends on these is unknown.

A placeholder counts where a field takes one word: a name, a number, an image. A script, the text of an
annotation and the data of a ConfigMap may hold all of these and mean them. `$(X)` in a command, its arguments
or the environment is Kubernetes' own. A word in capitals, or a blank, is one where it
is refused and a value would not be.
"""

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from slicewright.core.check.filling import is_filled
from slicewright.core.check.model import Resource
from slicewright.core.check.partial import as_note, is_called_template, is_of_metadata, is_pod_template
from slicewright.core.check.placeholder import CAPITALS, EXPANSION, IN_KEY, TOKEN
from slicewright.core.document.document import values_in
from slicewright.core.kubernetes.labels import ACCELERATOR, GOOGLE_ACCOUNT, TOPOLOGY
from slicewright.core.problem import Path, Problem, counted, errors

Placeholders = Mapping[Path, tuple[str, ...]]
"""The placeholders in the value at a path, or in the key at its end."""

_MARKS_OF_KEYS = ("$", "<", "{{", "__")
_MARKS = (*_MARKS_OF_KEYS, "@", "%", "YOUR", "REPLACE", "CHANGE", "PLACEHOLDER")
_SUSPECT = re.compile(r"[$<]|\{\{|@[A-Z]|%\w|[A-Z][A-Z0-9_]")
_BLANK = re.compile(r"\s")
_CAPITAL = re.compile("[A-Z0-9]_[A-Z0-9]|'[A-Z]{4,}'|'[A-Z]{2,} [A-Z]{2}")
_PHRASE = re.compile(r"[A-Z]{2,}(?: [A-Z]{2,})+")
"""`FILLED BY THE OPERATOR`, where no value has a blank."""
_WITHOUT_CAPITALS = frozenset(
    {"namespace", "image", "storage", "serviceAccountName", "claimName", "secretName", "bucketName"}
    | {"replicas", "parallelism", "completions", "nodeSelector", "limits", "requests", TOPOLOGY, ACCELERATOR}
)
_NAMED = frozenset({"volumes", "volumeMounts", "containers", "initContainers", "replicatedJobs"})
_EXPANDED = frozenset({"command", "args", "env", "subPathExpr"})
_FILES = frozenset({"ConfigMap", "Secret"})
_OWN_LANGUAGE = frozenset(
    {"argoproj.io", "tekton.dev", "triggers.tekton.dev", "kyverno.io", "kro.run", "templates.gatekeeper.sh"}
    | {"serving.kserve.io", "external-secrets.io", "monitoring.coreos.com", "apiextensions.crossplane.io"}
)
"""Groups whose controllers read such texts themselves."""


def placeholders_in(data: dict[str, Any]) -> Placeholders:
    """Return the placeholders in an object."""
    shown = str(data)
    if not (any(mark in shown for mark in _MARKS) or _CAPITAL.search(shown)):
        return {}
    kind = data.get("kind")
    if kind in ("CustomResourceDefinition", "Kustomization", "Component"):
        return {}
    placeholders = {}
    in_keys = any(mark in shown for mark in _MARKS_OF_KEYS)
    suspects: list[tuple[Path, Any]] = []
    _gather(data, (), suspects, in_keys=in_keys)
    for path, value in suspects:
        is_text = kind in _FILES and path[:1] != ("metadata",)
        if tokens := (*_in_key(path), *(() if is_text else _in_value(path, value, kind))):
            placeholders[path] = tokens
    return placeholders


def _gather(holder: Any, path: Path, suspects: list[tuple[Path, Any]], *, in_keys: bool) -> None:
    """Gather the values that may have placeholders, in their texts or their keys: few of all."""
    for key, value in holder.items() if type(holder) is dict else enumerate(holder):
        kind = type(value)
        if (kind is str and _SUSPECT.search(value)) or (in_keys and IN_KEY.search(str(key))):
            suspects.append(((*path, key), value))
        if kind is dict or kind is list:
            _gather(value, (*path, key), suspects, in_keys=in_keys)


def _in_key(path: Path) -> list[str]:
    return IN_KEY.findall(path[-1]) if isinstance(path[-1], str) else []


def _in_value(path: Path, value: Any, kind: Any) -> list[str]:
    if not isinstance(value, str) or "\n" in value:
        return []
    is_name = path[-1:] == ("name",) and (path[-2:-1] == ("metadata",) or not _NAMED.isdisjoint(path[-3:-2]))
    is_lower = is_name or not _WITHOUT_CAPITALS.isdisjoint(path[-2:])
    if is_lower and (value in (str(path[-1]).upper(), str(kind).upper()) or _PHRASE.fullmatch(value)):
        return [value]
    token = CAPITALS if is_lower else TOKEN
    if _BLANK.search(token.sub("", value)):
        return []
    tokens = token.findall(value)
    if _EXPANDED.isdisjoint(path):
        return tokens
    return [token for token in tokens if not re.fullmatch(EXPANSION, token)]


VARIANTS: tuple[Mapping[str, str], ...] = (
    {"": "1", ACCELERATOR: "tpu-v6e-slice", TOPOLOGY: "2x2"},
    {
        "": "x7",
        ACCELERATOR: "tpu-v5p-slice",
        TOPOLOGY: "2x2x4",
        GOOGLE_ACCOUNT: "a@b-7.iam.gserviceaccount.com",
    },
    {"": "64", ACCELERATOR: "tpu-v5-lite-podslice", TOPOLOGY: "8x8"},
    {"": "x7.example.com"},
)
"""What placeholders may become, by the last key of a path: what holds for all of these holds for any."""


def fill(resource: Resource, held: Placeholders, variant: Mapping[str, str]) -> Resource:
    """Return an object with other values in the place of its placeholders; keys stay as they are."""
    data = copy.deepcopy(resource.data)
    for path in held:
        parent: Any = data
        for key in path[:-1]:
            parent = parent[key]
        value = parent[path[-1]]
        if value in (None, {}) or isinstance(value, str) or _is_braced(value):
            is_whole = not isinstance(value, str) or held[path] in ((value,), _BLANKS)
            text = variant.get(str(path[-1]), variant[""])
            filled = text if is_whole else CAPITALS.sub(variant[""], value)
            parent[path[-1]] = int(filled) if filled.isdecimal() else filled
    return replace(resource, data=data)


_QUOTED = re.compile("'([^']+)'")
_CHOICE = re.compile(r"[A-Z]\w+")
_WORDS = 8
_BLANKS = ("(blank)",)
_IN_A_NAME = re.compile(r"^-|-$|^_$|(?<![^-])[A-Z]{2,}(?![^-])")
"""What a program fills in: `-suffix`, `prefix-`, `_`, and the word of `train-JOB-3`."""
_BEGINS_A_NAME = re.compile(r"[A-Z]{4,}-[a-z0-9-]+")
"""`STORAGECLASS-sc`: a word in capitals with a suffix."""


_OF_SED = re.compile(r"[a-z]+(?:_[a-z]+)+|template(?:[-_][a-z]+)+")
"""`service_name` and `template-num-nodes`, which sed replaces in a template."""


_TYPES = frozenset({"String", "Int", "Integer", "Number", "Float"})
"""What a list of all fields has as values."""


def _is_braced(value: Any) -> bool:
    """Tell whether a value is `{word}` or `[[word]]`, which YAML reads as a mapping or a list."""
    return bool(_bracketed(value)) or (isinstance(value, dict) and list(value.values()) == [None])


def _bracketed(value: Any) -> str:
    """Return the word of `[[word]]`, or a placeholder in brackets, such as `[YOUR_KEY]`."""
    match value:
        case [[str(word)]]:
            return word
        case [str(word)] if TOKEN.fullmatch(word):
            return word
    return ""


def _suspects(
    data: dict[str, Any],
    refused: AbstractSet[Path],
    *,
    is_partial: bool,
    is_template: bool,
    is_unfinished: bool,
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the values with an error that may be placeholders, by their paths.

    These are words in capitals with `_` or that name their field, the name of the field itself, quoted
    blanks, `{word}`, `[[word]]`, `[YOUR_WORD]` and names of types. In a partial object these are empty values
    as well, and names that begin or end with the hyphen of a prefix or suffix, or have a word in capitals. In
    a template these are `some_words` and `template-words` too. In an object with other placeholders these are
    words in capitals with a suffix.
    """
    for path, value in values_in(data) if refused else ():
        if path not in refused:
            continue
        if value == " " or (is_partial and value in (None, "", {})):
            yield path, _BLANKS
        elif _is_braced(value):
            word = _bracketed(value)
            yield path, (f"[[{word}]]" if word else f"{{{next(iter(value))}}}",)
        elif isinstance(value, str) and "\n" not in value:
            field = next(key for key in reversed(path) if isinstance(key, str)).upper()
            is_named = value.isalpha() and value.isupper() and value.rstrip("S") in field
            is_named = is_named or value == path[-1] or value in _TYPES
            is_named = is_named or (is_template and bool(_OF_SED.fullmatch(value)))
            is_part = is_partial and path[-1] in ("name", "namespace") and bool(_IN_A_NAME.search(value))
            is_part = is_part or (is_unfinished and bool(_BEGINS_A_NAME.fullmatch(value)))
            if tokens := [value] if is_named or is_part else CAPITALS.findall(value):
                yield path, tuple(tokens)


def _of_errors(problems: Iterable[Problem]) -> frozenset[Path]:
    return frozenset(problem.path for problem in errors(problems))


def _refused(
    resource: Resource, suspects: Placeholders, problems_of: Callable[..., Iterable[Problem]]
) -> Placeholders:
    """Return the suspects that some value would not have refused: these are placeholders.

    A misspelt key is refused whatever its value is, and a choice in capitals is a misspelt choice.
    """
    always = set(suspects)
    for variant in VARIANTS if suspects else ():
        always &= _of_errors(problems_of(0, fill(resource, suspects, variant)))
    return {path: tokens for path, tokens in suspects.items() if path not in always}


def certain(
    resource: Resource,
    held: Placeholders | None,
    problems_of: Callable[..., Iterable[Problem]],
    *,
    is_partial: bool = False,
    is_patched: bool = False,
) -> Iterator[Problem]:
    """Yield a note on the placeholders of an object, and the problems that it has whatever they become.

    `problems_of` returns the problems of the object as it is, of a variant by its number, or of another
    object in its place. A problem that goes away where the placeholders become a word of its message or its
    value, such as a name that is not defined, is left out too. What a partial object lacks is a note.
    """
    by_program = any(_PHRASE.fullmatch(token) for token in chain.from_iterable((held or {}).values()))
    of_pods = is_pod_template(resource)
    completed = is_partial or by_program or of_pods or is_of_metadata(resource)
    is_template = is_called_template(resource.file)
    problems = [
        # A program names an object without metadata, and adds what else is missing below its top.
        as_note(
            problem,
            adds_volumes=by_program or is_patched,
            is_pod_template=of_pods,
            is_template=is_template,
        )
        if completed or (problem.path and not resource.metadata)
        else problem
        for problem in problems_of()
    ]
    wrong = frozenset[Path]() if held is None else _of_errors(problems)
    suspects = _suspects(
        resource.data, wrong, is_partial=is_partial, is_template=is_template, is_unfinished=bool(held)
    )
    refused = _refused(resource, dict(suspects), problems_of)
    if not (held or refused):
        yield from problems
        return
    placeholders = {**(held or {}), **refused, **(held or {})}
    yield from _note(resource, placeholders)
    tokens = set(chain.from_iterable(placeholders.values()))
    is_about = _about(placeholders)
    left = [
        problem
        for problem in problems
        if not (is_about(problem) or any(token in problem.message for token in tokens))
    ]
    for number, variant in enumerate(VARIANTS, start=1) if left else ():
        filled = fill(resource, placeholders, variant) if refused else None
        others = problems_of(number if held else 0, filled)  # beside others with the same values
        left = _in_both(left, others)
    words = _words(resource, placeholders, problems, left) if left else []
    for word in words[:_WORDS]:
        left = _in_both(left, problems_of(0, fill(resource, placeholders, {"": word})))
    yield from left


def _words(
    resource: Resource, held: Placeholders, problems: Iterable[Problem], left: Iterable[Problem]
) -> list[str]:
    """Return what the schema or other fields would have in the place of a placeholder."""
    of_choice = (problem for problem in problems if problem.id == "SCHEMA006" and problem.path in held)
    choices = [_CHOICE.findall(problem.hint) for problem in of_choice]
    values = dict(values_in(resource.data))
    beside = [[*_QUOTED.findall(problem.message), values.get(problem.path)] for problem in left]
    return list(dict.fromkeys(str(word) for word in chain(*choices, *beside) if isinstance(word, str | int)))


_identity = attrgetter("id", "path", "message")


def _in_both(some: Iterable[Problem], others: Iterable[Problem]) -> list[Problem]:
    same = set(map(_identity, others))
    return [problem for problem in some if _identity(problem) in same]


_OF_A_WHOLE = frozenset({"CEL001", "SCHEMA007", "SCHEMA008", "SCHEMA012"})
"""Problems of a value with all that is in it."""


def _about(held: Placeholders) -> Callable[[Problem], bool]:
    """Return what tells whether a problem is one of a value with placeholders, or of what holds it."""
    wholes = {path[:length] for path in held for length in range(len(path) + 1)}
    holders = {_holder(path) for path in held if path[0] != "metadata"}
    may_fit = any(path != ("metadata", "name") for path in held)  # another selector, another flavor

    def is_about(problem: Problem) -> bool:
        return (
            (problem.id in _OF_A_WHOLE and problem.path in wholes)
            or (problem.id.startswith("FIT") and may_fit)
            or any(problem.path[:length] in held for length in range(1, len(problem.path) + 1))
            or (not problem.id.startswith("SCHEMA") and problem.path in holders)
        )

    return is_about


def _holder(path: Path) -> Path:
    """Return the path of the mapping in which a value or a list of values is."""
    while isinstance(path[-1], int):
        path = path[:-1]
    return path[:-1]


_LISTED = 8


def _note(resource: Resource, held: Placeholders) -> Iterator[Problem]:
    if resource.group in _OWN_LANGUAGE:
        return
    paths = [path for path in held if "env" not in path]
    tokens = list(dict.fromkeys(token for path in paths for token in held[path]))
    if tokens:
        listed = ", ".join(tokens[:_LISTED]) + (", ..." if len(tokens) > _LISTED else "")
        them = "it" if len(tokens) == 1 else "them"
        message = f"{counted(len(tokens), 'placeholder')}: {listed}; what depends on {them} is not checked"
        yield resource.problem("FILE030", paths[0], message, _way(tokens), severity="note")


def _way(tokens: list[str]) -> str:
    """Return how to fill in some placeholders."""
    named = list(filter(is_filled, tokens))
    if len(named) == len(tokens):
        return "fill them in: --set NAME=VALUE, or --env-file FILE"
    if named:
        return f"--set NAME=VALUE fills in {named[0]} and others with such marks; write the rest in the file"
    return f"write the {'value' if len(tokens) == 1 else 'values'} in the file"
