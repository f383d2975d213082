"""Why a text is not valid YAML: the words and the place of libyaml, and what to do about it."""

import re
from typing import Any

import yaml
from msgspec.structs import replace

from slicewright.document.kubectl import LINE_BREAK
from slicewright.kubernetes.problem import Problem

_HINTS = {
    "tab": "indent with spaces, not with tabs",
    "cannot start any token": "put a value that begins with @, ` or % in quotes",
    "mapping values are not allowed": 'put a value that holds ": " in quotes, or look at the indentation',
    "expected ':'": "a colon is missing after the key, or the line belongs to the value above: indent it",
    "quoted scalar": "look for a missing quote; inside double quotes, write a backslash twice",
    "expected ',' or": "look for a missing bracket, brace or comma",
    "expected '-' indicator": "begin each element of the list with '- ' in the same column",
    "expected key": "look at the indentation: keys of one mapping begin in the same column",
    "document start": "write --- between two documents",
    "block scalar": "only a comment may follow | or >",
}
"""What to do about the parser's words, by a part of them; the first that fits is shown."""
_LONG = 1000
"""Characters of a line in which a template is looked for."""
_TEMPLATE = re.compile(r"\{\{.*\}\}|\s*\{%")
_RENDER = "this is a template: check what it renders to (helm template), or put {{ }} in quotes if it is text"
_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def of_parser(error: yaml.MarkedYAMLError, file: str, text: str) -> Problem:
    """Return the problem that the parser found in a text."""
    words = " ".join(filter(None, (error.context, error.problem)))
    hint = next((hint for part, hint in _HINTS.items() if part in words), "")
    # What is still open at the end of the file began somewhere above, and that is the line to look at.
    began = any(part in words for part in ("end of stream", "flow", "simple key"))
    mark: Any = error.context_mark if began else error.problem_mark
    line, column = mark.line + 1, mark.column + 1
    lines = LINE_BREAK.split(text.removeprefix("\ufeff")) if "any token" in words else []
    if lines and lines[mark.line].startswith("\t", mark.column):
        words, hint = "a tab where YAML requires spaces", _HINTS["tab"]
    return Problem("YAML001", f"not valid YAML: {words}", hint, file=file, line=line, column=column)


def of_template(problem: Problem, lines: list[str]) -> Problem:
    """Return the problem with the hint for a template, if its line has marks of one."""
    if problem.id not in ("YAML001", "YAML003"):
        return problem
    line = "".join(lines[problem.line - 1 : problem.line])[:_LONG]
    is_template = _TEMPLATE.search(line) if problem.id == "YAML003" else _TEMPLATE.match(line.lstrip("- "))
    return replace(problem, hint=_RENDER) if is_template else problem


def of_character(text: str, file: str) -> Problem:
    """Return the problem of a character that YAML does not allow; the parser itself counts bytes."""
    character = _NOT_ALLOWED.search(text)
    at = character.start() if character else 0
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    message = f"not valid YAML: character U+{ord(text[at]):04X} is not allowed"
    hint = "write it as an escape inside double quotes"
    return Problem("YAML001", message, hint, file=file, line=line, column=column)
