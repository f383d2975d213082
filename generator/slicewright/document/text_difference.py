"""The difference of two texts, as `git apply` reads it."""

import difflib
import re

_CODED = re.compile("[\x00-\x1f\x7f\udc80-\udcff]")
_UNSAFE = re.compile(f'{_CODED.pattern}|[ "\\\\]')
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def unified(name: str, before: str | None, after: str | None) -> str:
    """Return the unified diff of two versions of a file; None stands for a missing file."""
    place = name.lstrip("/")
    old = "/dev/null" if before is None else _quoted(f"a/{place}")
    new = "/dev/null" if after is None else _quoted(f"b/{place}")
    lines = difflib.unified_diff(lines_of(before or ""), lines_of(after or ""), old, new)
    without = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else f"{line}{without}" for line in lines)


def _quoted(name: str) -> str:
    """Return a name as git writes it in a patch: within quotes, and with escapes, where it must be."""
    if not _UNSAFE.search(name):
        return name

    def octal(match: re.Match[str]) -> str:
        return "".join(f"\\{byte:03o}" for byte in match[0].encode(errors="surrogateescape"))

    escaped = re.sub(r'["\\]', r"\\\g<0>", name)
    return f'"{_CODED.sub(octal, escaped)}"'


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, each with the line feed at its end."""
    return _LINE.findall(text)
