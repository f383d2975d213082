"""Values for placeholders: `${X}` and `$X` as envsubst fills them in, `{{ X }}` and `<X>` alike."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from slicewright.document.read import read_documents
from slicewright.document.write import write_document
from slicewright.kubernetes.problem import Problem

_REFERENCE = re.compile(
    r"\$\{(?P<braced>[A-Za-z_]\w*)(?:(?P<sign>:?-)(?P<default>[^${}\n]*))?\}|\$(?P<bare>[A-Za-z_]\w*)"
    r"|\{\{\s*\.?(?P<curly>[\w.-]+)\s*\}\}|<(?P<angle>[^<>\n]+)>"
)
_LINE = re.compile(
    r"(?:export[ \t]+)?(?P<name>[^\s=#](?:[^=]*[^\s=])?)[ \t]*=[ \t]*"
    r"(?:(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)[ \t]*)?(?P<plain>(?(quote)|.*?))(?:(?<=[ \t])#.*)?"
)
"""A line of an env file; a quote is plain if more than a comment follows its end."""


def is_filled(token: str) -> bool:
    """Tell whether a value can be given for a placeholder; one is not for `YOUR_NAME` and `$(NAME)`."""
    return _REFERENCE.fullmatch(token) is not None


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders of a text for which values can be given."""
    return [_name(match) for match in _REFERENCE.finditer(text)]


def _name(match: re.Match[str]) -> str:
    return match["braced"] or match["bare"] or match["curly"] or match["angle"]


def filled(text: str, values: Mapping[str, str]) -> tuple[str, frozenset[str]]:
    """Return a text with values in the place of its placeholders, and the names that it has.

    `${X:-default}` becomes the default if X has no value or an empty one, and `${X-default}`
    if it has none. What has neither stays; envsubst would make it empty.
    """
    used = set()

    def value(match: re.Match[str]) -> str:
        name = _name(match)
        default = match["default"]
        if name not in values:
            return match[0] if default is None else default
        used.add(name)
        return default if match["sign"] == ":-" and not values[name] else values[name]

    return _REFERENCE.sub(value, text), frozenset(used)


def filled_object(
    data: Any, file: str, values: Mapping[str, str]
) -> tuple[Any, tuple[Problem, ...], frozenset[str]]:
    """Return a composed object with values filled in, its new problems, and its placeholders' names."""
    before = write_document(data)
    text, used = filled(before, values)
    if text == before:
        return data, (), used
    documents, problems = read_documents(text, file)
    return (documents[0].data if documents else None), problems, used


def read_values(text: str) -> Iterator[tuple[str, str] | int]:
    """Yield the names and values of an env file, and the number of each line that is neither.

    Empty lines and comments are left out, `export` and quotes around a value dropped.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip(" \t\r")
        if stripped and not stripped.startswith("#"):
            match = _LINE.fullmatch(stripped)
            value = (match["quoted"] if match["quote"] else match["plain"].rstrip()) if match else ""
            yield (match["name"], value) if match else number


def not_taken(names: Iterable[str], used: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each name of a value that no file contains: it may be misspelt."""
    hint = "check the spelling; ${NAME}, $NAME, {{ NAME }} and <NAME> are filled in"
    for name in names:
        if name not in used:
            yield Problem("FILE031", f"--set {name}: no file has such a placeholder", hint, "warning")
