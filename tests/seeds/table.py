"""Copy differences.yaml into docs/contributing/seeds.md: `python -m tests.seeds.table`."""

from __future__ import annotations

import json
from typing import Any

from .kit import ROOT, Declared, declared

PAGE = ROOT / "docs" / "contributing" / "seeds.md"
BEGIN = "<!-- The tables below are made from tests/seeds/differences.yaml: python -m tests.seeds.table -->\n"
END = "<!-- End of the tables. -->\n"
_POD = ".template.spec.template.spec."
_LONGEST = 60
"""Characters of a value that the tables show; a longer one is only in differences.yaml."""
_HEAD = "| object | field | tutorial | ours | why |\n| --- | --- | --- | --- | --- |\n"


def table(rows: tuple[Declared, ...]) -> str:
    """Return the tables of the declared differences, one a tutorial."""
    text = ""
    for title in dict.fromkeys(row.tutorial for row in rows):
        text += f"\n### {title}\n\n{_HEAD}"
        for row in rows:
            if row.tutorial == title:
                text += _line(row)
    return text


def _line(row: Declared) -> str:
    names = ", ".join(_code(_short(name)) for name in row.objects)
    paths = ", ".join(_code(path.replace(_POD, "…")) for path in row.paths)
    sides = " | ".join(_value(row.row[side]) if side in row.row else "—" for side in ("tutorial", "ours"))
    return f"| {names} | {paths} | {sides} | {row.row['reason']} |\n"


def _short(name: str) -> str:
    """Leave the cluster and the namespace out where the tutorial has but one of each."""
    kind, _, place = name.rpartition(" ")
    cluster, _, rest = place.partition("/")
    return f"{kind} {rest.rpartition('/')[2] or cluster}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return _code(text) if len(text) <= _LONGEST else "…"


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def written(page: str) -> str:
    """Return the page with its tables made anew."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{table(declared())}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
