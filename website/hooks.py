"""What the site has besides the files of docs/: the pages of commands and of ids, made when it is built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, InclusionLevel

from slicewright.project.new_files import SCHEMAS
from slicewright.rendering.io.package_data import data_folder
from website import commands, rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_INDEXES = {"reference/commands/index.md": commands.index, "reference/rules/index.md": rules.index}
_BOOST = {"how-to": 3.0, "tutorial": 2.0, "explanation": 2.0, "contributing": 0.3, "decisions": 0.2}
"""What people look for first, by folder."""


def on_config(config: MkDocsConfig) -> None:
    """List the pages that the navigation names by a pattern."""
    docs = Path(config.docs_dir)
    pages = sorted(path.relative_to(docs) for path in docs.rglob("*.md"))
    pages += [Path(path) for path, _ in commands.pages()]
    config.nav = list(_listed(config.nav or [], pages))


def _listed(nav: list[Any], pages: list[Path]) -> Iterator[Any]:
    """Yield the entries of a navigation, its patterns replaced; listed pages are taken out."""
    for entry in nav:
        if isinstance(entry, dict):
            yield {title: list(_listed(below, pages)) for title, below in entry.items()}
            continue
        chosen = [page for page in pages if page.match(entry) and page.parent == Path(entry).parent]
        for page in chosen:
            pages.remove(page)
            yield page.as_posix()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the schemas of what people write."""
    for made, inclusion in ((commands, InclusionLevel.INCLUDED), (rules, InclusionLevel.NOT_IN_NAV)):
        for path, text in made.pages():
            files.append(File.generated(config, path, content=text, inclusion=inclusion))
    for name in SCHEMAS:  # first lines of files that `new` and `import` write lead here
        files.append(
            File.generated(config, f"schemas/{name}", abs_src_path=str(data_folder("schemas") / name))
        )
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let the indexes list what was made, and the search find tutorials and how-to pages first."""
    path = page.file.src_uri
    if boost := _BOOST.get(path.partition("/")[0]):
        page.meta.setdefault("search", {"boost": boost})
    return markdown + _INDEXES[path]() if path in _INDEXES else markdown
