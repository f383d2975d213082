"""Text of users and of other programs, as it is printed: shown, and never obeyed."""

import re

OBEYED = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
)
"""Control characters but tab and newline, other ends of lines, marks of direction, bytes outside UTF-8."""
_CHARACTER = re.compile(f"[{OBEYED}]")
_IN_A_LINE = re.compile(f"[\n{OBEYED}]")
_COMMAND = re.compile(r"(?m)^([^\S\n]*)([:`~])(?=:|``|~~)|(#)(#)(?=\[)")
"""GitHub's runner obeys `::x` after blanks and `##[x]` anywhere; the others end a fence of Markdown."""
_IN_JSON = re.compile(f"[{OBEYED}]|(?<=#)#(?=\\[)")


def visible(text: str) -> str:
    """Return text on one line: ends of lines, and what a terminal would obey, are escaped."""
    return _IN_A_LINE.sub(_escaped, text)


def shown(text: str) -> str:
    """Return lines of text, without what a terminal, a log of GitHub or a Markdown fence would obey."""
    return _COMMAND.sub(_spelt, _CHARACTER.sub(_escaped, text))


def in_json(text: str) -> str:
    """Return a JSON document that means the same, without what a terminal or a log would obey."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    return "\\n" if match[0] == "\n" else _code(match[0])


def _spelt(match: re.Match[str]) -> str:
    blanks, first, hash_one, hash_two = match.groups()
    return f"{hash_one}{_code(hash_two)}" if hash_one else f"{blanks}{_code(first)}"


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"  # noqa: PLR2004 - one byte
