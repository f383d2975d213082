"""Objects with placeholders: a note on them, and the problems that do not depend on their values.

A placeholder counts where a field has one word: a name, a number, an image. Scripts, texts of several words
and the data of a ConfigMap may hold the same characters and mean them. `$(X)` in a command, its arguments or
the environment is Kubernetes' own.
"""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from slicewright.check.filling import is_filled
from slicewright.document.document import EXPANSION, TOKEN, values_in
from slicewright.kubernetes.fields import at, text
from slicewright.kubernetes.labels import ACCELERATOR, TOPOLOGY
from slicewright.kubernetes.problem import Path, Problem, counted
from slicewright.objects import Resource

Placeholders = Mapping[Path, Sequence[str]]
"""The placeholders in the value at a path, or in the key at its end."""

SAMPLES: tuple[Mapping[str, str], ...] = (
    {"": "1", ACCELERATOR: "tpu-v6e-slice", TOPOLOGY: "2x2"},
    {"": "x7", ACCELERATOR: "tpu-v5p-slice", TOPOLOGY: "2x2x4"},
    {"": "64", ACCELERATOR: "tpu-v5-lite-podslice", TOPOLOGY: "8x8"},
)
"""Values for placeholders, by the last key of a path. A problem with each of them depends on none."""

_BEGINS = re.compile(
    r"\$[A-Za-z_{(]|<[a-zA-Z<]|@[A-Z]|%[A-Za-z_]|\{\{|__[A-Z]|YOUR[-_]|REPLACE|CHANGE|PLACEHOLDER"
).search
"""The beginnings of placeholders, which take a tenth of the time of the whole pattern."""
_CAPITAL_NAME = re.compile(r"Name': '[A-Z]").search
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""`KSA_NAME`: a placeholder if a field names an object, because names of objects have no capitals."""
_BLANK = re.compile(r"\s")
_TEXTS = frozenset({"data", "stringData", "binaryData"})
"""Fields of a ConfigMap and a Secret, which hold files."""
_EXPANDED = frozenset({"command", "args", "env", "subPathExpr"})


def placeholders_in(data: dict[str, Any]) -> Placeholders:
    """Return the placeholders in an object."""
    shown = repr(data)
    if not (_may_hold(shown) or _CAPITAL_NAME(shown)):
        return {}
    each = ((path, _tokens(path, value)) for path, value in values_in(data) if path and path[0] not in _TEXTS)
    return {path: tokens for path, tokens in each if tokens}


def _tokens(path: Path, value: Any) -> list[str]:
    """Return the placeholders in the last key of a path, and those in its value."""
    tokens = []
    if isinstance(path[-1], str) and _may_hold(path[-1]):
        tokens += TOKEN.findall(path[-1])
    if isinstance(value, str) and _may_hold(value) and _is_word(value):
        tokens += TOKEN.findall(value)
    if str(path[-1]).endswith("Name") and _CAPITALS.fullmatch(text(value)):
        tokens.append(value)
    if _EXPANDED.isdisjoint(path):
        return tokens
    return [token for token in tokens if not re.fullmatch(EXPANSION, token)]


def _may_hold(text: str) -> bool:
    """Tell at a glance whether a text, or a `repr`, may hold a placeholder."""
    return bool(_BEGINS(text) or "eplace" in text or "hange" in text)


def _is_word(text: str) -> bool:
    return "\n" not in text and not _BLANK.search(TOKEN.sub("", text))


def filled(resource: Resource, held: Placeholders, sample: Mapping[str, str]) -> Resource:
    """Return an object with a sample's values in the place of its placeholders; keys stay as they are."""
    data = copy.deepcopy(resource.data)
    for (*way, last), tokens in held.items():
        parent: Any = data
        for key in way:
            parent = parent[key]
        value = parent[last]
        if isinstance(value, str):
            is_whole = value in tokens
            text = sample.get(str(last), sample[""]) if is_whole else TOKEN.sub(sample[""], value)
            parent[last] = int(text) if text.isdecimal() else text
    return replace(resource, data=data)


_QUOTED = re.compile("'([^']+)'")
_WORDS = 8
"""Values that are tried of those that problems are about."""
_identity = attrgetter("id", "path", "message")


def independent(found: Iterable[Iterable[Problem]], held: Placeholders) -> list[Problem]:
    """Return the problems that an object has with each sample, but those of its placeholders themselves."""
    first, *others = map(list, found)
    same = set(map(_identity, first)).intersection(*(map(_identity, problems) for problems in others))
    return [problem for problem in first if _identity(problem) in same and not _touches(problem, held)]


def own_samples(resource: Resource, problems: Iterable[Problem]) -> list[Mapping[str, str]]:
    """Return samples of the values that problems are about: a placeholder may have to be equal to one."""
    words: dict[str, None] = {}
    for problem in problems:
        value = at(resource.data, *problem.path)
        own = [str(value)] if isinstance(value, str | int) else []
        words |= dict.fromkeys((*_QUOTED.findall(problem.message), *own))
    return [{"": word} for word in list(words)[:_WORDS]]


_OF_A_WHOLE = frozenset({"CEL001", "SCHEMA007", "SCHEMA008", "SCHEMA012"})
"""Problems of a value with all that is in it."""


def _touches(problem: Problem, held: Placeholders) -> bool:
    """Tell whether a problem is one of a value with placeholders, or of what holds it.

    Another selector may fit another flavor, so nothing is said of quota.
    """
    if problem.id.startswith("FIT"):
        return any(path != ("metadata", "name") for path in held)
    if any(problem.path[: len(path)] == path for path in held):
        return True
    if problem.id in _OF_A_WHOLE:
        return any(path[: len(problem.path)] == problem.path for path in held)
    is_of_rule = not problem.id.startswith("SCHEMA")
    return is_of_rule and any(_holder(path) == problem.path for path in held if path[0] != "metadata")


def _holder(path: Path) -> Path:
    """Return the path of the mapping in which a value or a list of values is."""
    while isinstance(path[-1], int):
        path = path[:-1]
    return path[:-1]


_LISTED = 8


def note(resource: Resource, held: Placeholders) -> list[Problem]:
    """Return one note on the placeholders of an object; none if all are in environment variables."""
    paths = [path for path in held if "env" not in path]
    tokens = list(dict.fromkeys(token for path in paths for token in held[path]))
    if not tokens:
        return []
    listed = ", ".join(tokens[:_LISTED]) + (", ..." if len(tokens) > _LISTED else "")
    them = "it" if len(tokens) == 1 else "them"
    message = f"{counted(len(tokens), 'placeholder')}: {listed}; what depends on {them} is not checked"
    return [resource.problem("FILE030", paths[0], message, _way(tokens), severity="note")]


def _way(tokens: list[str]) -> str:
    """Return how to fill in some placeholders."""
    named = list(filter(is_filled, tokens))
    if len(named) == len(tokens):
        return "fill them in: --set NAME=VALUE, or --env-file FILE"
    if named:
        return f"--set NAME=VALUE fills in {named[0]} and others with such marks; write the rest in the file"
    return f"write the {'value' if len(tokens) == 1 else 'values'} in the file"
