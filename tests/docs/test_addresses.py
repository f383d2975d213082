"""Every address of the documentation that the program can print is a page of the site."""

import re
from pathlib import Path

import pytest
from website import commands

from slicewright.check.io.meaning import ids
from slicewright.documentation import DOCS
from slicewright.project.new_files import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "generator" / "slicewright"
TEXTS = {
    path: path.read_text(encoding="utf-8")
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.yaml"), *PACKAGE.glob("project/template/*"))
}
WRITTEN = re.compile(re.escape(DOCS) + r"([\w/.-]+)")
NAMED = re.compile(r"\bpage\(['\"]([\w/-]+)['\"]\)")


def addresses() -> set[str]:
    """Return the paths that the package has after the address, or as a name of a page."""
    linked = {path for text in TEXTS.values() for path in WRITTEN.findall(text)}
    return linked | {f"{path}/" for text in TEXTS.values() for path in NAMED.findall(text)}


def pages() -> set[str]:
    """Return the paths of the site: of pages that are written, of those that are made, and of schemas."""
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made = {path for path, _ in commands.pages()} | {f"reference/rules/{ident}.md" for ident in ids()}
    return {f"{path.removesuffix('.md').removesuffix('/index')}/" for path in written | made} | {
        f"schemas/{path}" for path in SCHEMAS
    }


@pytest.mark.parametrize("address", sorted(addresses()))
def test_address_is_a_page(address: str) -> None:
    """Of docs/, of a command or of an id."""
    assert address in pages()


def test_text_names_no_file_of_docs() -> None:
    """Who installed slicewright has no docs/: what is printed has the address instead."""
    texts = {path: text for path, text in TEXTS.items() if path.suffix == ".yaml"}

    assert len(addresses()) >= 4
    assert [] == [path for path, text in texts.items() if re.search(r"\bdocs/[\w/-]+\.md", text)]
