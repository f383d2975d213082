"""The checks of a change as Markdown: a summary first, long parts folded, and all text escaped.

All text that comes from files is in code, where Markdown, HTML and @mentions mean nothing.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from slicewright.kubernetes.visible import shown, visible

COMMENT, SUMMARY = 65_000, 1_000_000
"""The most bytes that a comment may have, and a job's summary; GitHub takes 65,536 characters, and 1 MiB."""
_MOST_LINES = 10**9
"""More lines than any text has, so that the note about omitted lines always has room."""
_DIFF = re.compile(r"^([-+~]|---) ", re.MULTILINE)
_SIGNS = {True: "✅", False: "❌"}


class Check(Struct, frozen=True):
    """The result of one command for a change."""

    name: str
    """The name of its file."""
    command: str
    code: int
    title: str
    line: str = ""
    """The result in a line."""
    words: str = ""
    """The visible text."""
    details: str = ""
    """The folded text, below the title `fold`."""
    fold: str = ""

    @property
    def text(self) -> str:
        """Return all that it said."""
        return "\n".join(f"{part}\n" for part in (self.line, self.words, self.details) if part)


class _Block(Struct, frozen=True):
    """Text in code, and the Markdown around it."""

    name: str
    before: str
    text: str
    after: str
    is_folded: bool


def markdown(checks: Sequence[Check], limit: int, whole: str) -> str:
    """Return the checks within a limit of bytes; `whole` is Markdown that says where the files of all are."""
    head = _head(checks)
    blocks = [block for check in checks for block in _blocks(check)]
    room = limit - _size(head) - sum(_size(_block(block, "", _MOST_LINES, whole)) for block in blocks)
    kept: dict[int, tuple[str, int]] = {}
    for is_folded in (False, True):
        # The shortest first, each with an equal share of the room; what it leaves is for the longer ones.
        texts = {index: block.text for index, block in enumerate(blocks) if block.is_folded == is_folded}
        for done, index in enumerate(sorted(texts, key=lambda index: _size(texts[index]))):
            kept[index] = _cut(texts[index], room // (len(texts) - done))
            room -= _size(kept[index][0])
    return head + "".join(_block(block, *kept[index], whole) for index, block in enumerate(blocks))


def _head(checks: Sequence[Check]) -> str:
    failed = sum(check.code != 0 for check in checks)
    verdict = f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed"
    lines = (
        f"- {_SIGNS[check.code == 0]} {code(check.command)}" + (f": {code(check.line)}" if check.line else "")
        for check in checks
    )
    return f"### slicewright: {verdict}\n\n" + "\n".join(lines) + "\n"


def _blocks(check: Check) -> Iterator[_Block]:
    if check.words:
        yield _Block(check.name, f"\n**{check.title}**\n", shown(check.words), "", is_folded=False)
    if check.details:
        fold = f"\n<details><summary>{check.fold}</summary>\n"
        yield _Block(check.name, fold, shown(check.details), "\n</details>\n", is_folded=True)


def _block(block: _Block, text: str, left: int, whole: str) -> str:
    language = "diff" if _DIFF.search(block.text) else "text"
    rest = f"\n{left:,} more {'line is' if left == 1 else 'lines are'} in `{block.name}.txt` of {whole}.\n"
    fence = f"\n~~~{language}\n{text}\n~~~\n" if text or left == _MOST_LINES else ""
    return f"{block.before}{fence}{rest if left else ''}{block.after}"


def _cut(text: str, room: int) -> tuple[str, int]:
    """Return the first lines of a text that have room, and the number of the others."""
    if _size(text) <= room:
        return text, 0
    start = text.encode()[: max(0, room)].decode(errors="ignore")
    kept = start.rpartition("\n")[0]
    return kept, text[len(kept) :].lstrip("\n").count("\n") + 1


def _size(text: str) -> int:
    return len(text.encode())


def code(text: str) -> str:
    """Return a line of text as code in a line of Markdown."""
    safe = shown(visible(text)).replace("`", "'")
    return f"`{safe}`"
