"""The pages of all ids: what each means, an input that has it, and what the program prints about that input.

Nothing here is written into the repository: `hooks` gives the pages to the site.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.check.io.meaning import FIXES, rule_subjects, subjects
from website.inputs import fixed, of_problem, of_rule, repository
from website.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.check.io.meaning import Meaning, Subject
    from website.inputs import Files


def page(one: Meaning, subject: Subject, files: Files, output: str) -> str:
    """Return the page of an id."""
    looks_at = f" of {', '.join(one.kinds)}" if one.kinds else ""
    parts = [
        f"# {one.id}: {escaped(one.title)}\n",
        f"[{subject.title}](index.md#{_anchor(subject)}) · **{one.level}**{looks_at}\n",
        f"{escaped(one.why)}\n",
        f"**What to do:** {escaped(one.hint)}.\n",
    ]
    if one.fix:
        parts.append(f"**Mended by** `slicewright {FIXES[one.fix]}`, [where it can](../validate.md#fixes).\n")
    if files:
        parts.append(f"**{'A file' if len(files) == 1 else 'Files'} with this problem**\n")
        parts += (f'```yaml title="{path}"\n{text.rstrip()}\n```\n' for path, text in files.items())
        parts.append(f"**What slicewright prints**\n\n```text\n{output.rstrip()}\n```\n")
        if change := fixed(one.id, files):
            parts.append(f"**What the fix changes**\n\n```diff\n{change.rstrip()}\n```\n")
    elif one.example:
        parts.append(f"**As it is printed**\n\n```text\n{one.example.rstrip()}\n```\n")
    if one.sources:
        parts.append("**Sources**\n\n" + "".join(f"- {_linked(source)}\n" for source in one.sources))
    return "\n".join(parts)


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else escaped(source)


def _anchor(subject: Subject) -> str:
    return re.sub(r"[^\w]+", "-", subject.title.lower())


def table(subject: Subject) -> str:
    """Return the list of a subject's ids."""
    rows = "".join(
        f"| [{one.id}]({one.id}.md) | {one.level} | {escaped(one.title)} | {one.fix} |\n"
        for one in subject.meanings
    )
    head = "| id | severity | what is wrong | fix |\n| --- | --- | --- | --- |\n"
    return f"\n## {subject.title}\n\n{escaped(subject.intro)}\n\n{head}{rows}"


def index() -> str:
    """Return what follows the text of the pages' index: every id by subject."""
    return "".join(map(table, (*rule_subjects(), *subjects())))


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page below docs/, and its text."""
    for subject in rule_subjects():
        for one in subject.meanings:
            yield f"reference/rules/{one.id}.md", page(one, subject, *of_rule(one.id))
    with repository() as folder:
        for subject in subjects():
            for one in subject.meanings:
                yield f"reference/rules/{one.id}.md", page(one, subject, *of_problem(one, folder))
