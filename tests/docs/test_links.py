"""The links of every page lead somewhere, in a checkout as on the site."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT,
    check=True,
    capture_output=True,
    text=True,
).stdout.split()
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_EXTERNAL = re.compile(r"(?:\]\(|<)(https?://[^)>\s]+)")
EXTERNAL = {
    "https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#repositories",
    "https://keepachangelog.com/en/1.1.0/",
    "https://peps.python.org/pep-0440/#version-specifiers",
    "https://semver.org",
    "https://slicewright.dev/docs/",
}
"""Links to other hosts. No test asks them: whoever adds one opens it."""


@cache
def text(page: Path) -> str:
    """Return a page without its fenced code."""
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings: lower case, no punctuation, hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, link: str) -> bool:
    """Tell whether a relative link leads to a file, and to a heading where it names one."""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("name", [name for name in PAGES if (ROOT / name).is_file()])
def test_links_lead_to_files_and_headings(name: str) -> None:
    """Every relative link leads to a file, and to a heading of it."""
    page = ROOT / name
    links = [link for link in _LINK.findall(text(page)) if "://" not in link]

    assert [] == [link for link in links if not leads_somewhere(page, link)]


def test_links_to_other_hosts_are_listed() -> None:
    """Nobody links another host by mistake."""
    found = {
        link for name in PAGES if (ROOT / name).is_file() for link in _EXTERNAL.findall(text(ROOT / name))
    }

    assert EXTERNAL == found
