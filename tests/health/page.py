"""The table of docs/reference/health.md, from `expected.yaml`: `python -m tests.health.page` writes it."""

from pathlib import Path

from tests.health.fixtures import expected

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "health.md"
_BEGIN = "<!-- states -->\n"
_END = "<!-- /states -->\n"


def table() -> str:
    """Return the table: a row for each health of each kind, with the states that have it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for states in expected().values():
        for name, said in states.items():
            kind, state = name.split("/")
            rows.setdefault((kind, said["status"]), []).append(state.replace("-", " "))
    lines = [("kind", "health", "states"), ("---",) * 3]
    lines += [(kind, health, ", ".join(sorted(names))) for (kind, health), names in sorted(rows.items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def held() -> str:
    """Return the table that the page has."""
    return PAGE.read_text(encoding="utf-8").split(_BEGIN)[1].split(_END)[0]


def write() -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    PAGE.write_text(f"{before}{_BEGIN}{table()}{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write()
