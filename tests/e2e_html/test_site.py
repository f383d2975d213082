"""The site of docs/ as people read it, from a server: `make e2e-html` builds it first."""

from collections.abc import Iterator

import pytest
from tests.e2e_html.browser import Browser
from tests.e2e_html.site import served

QUESTIONS = {
    "how do I mount a bucket": "how-to/mount-a-bucket/",
    "why is my run pending": "how-to/read-a-stuck-queue/",
    "what ends a run": "explanation/runs/",
    "how do I give team B 16 chips": "how-to/add-a-team/",
    "what does TPU119 mean": "reference/rules/TPU119/",
}
"""What somebody types into the search, and the page that answers."""
PAGES = ["", "reference/fields/tpuworkload/", "reference/commands/render/", *QUESTIONS.values()]
_SEARCH = """
const field = document.querySelector('.md-search__input');
field.focus();
field.value = arguments[0];
field.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
"""
_RESULTS = """
const links = document.querySelectorAll('.md-search-result__item > a');
return [...links].map(link => new URL(link.href).pathname);
"""
_REQUESTS = "return performance.getEntriesByType('resource').map(entry => entry.name)"
_WIDER = "return document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the built site."""
    with served() as address:
        yield address


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_search_finds_the_answer(browser: Browser, site: str, question: str, answer: str) -> None:
    """The page that answers is among the first three results."""
    browser.open(site)
    browser.run(_SEARCH, question)
    results = browser.waited(_RESULTS)

    assert f"/docs/{answer}" in results[:3]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_page_fits_and_asks_only_its_server(
    browser: Browser, site: str, page: str, scheme: str, width: int
) -> None:
    """No page asks another host for fonts or scripts, none is wider than a phone, and none has an error."""
    browser.open(site + page, scheme=scheme, width=width)
    browser.run(_SEARCH, "bucket")
    browser.waited(_RESULTS)

    assert [] == [address for address in browser.run(_REQUESTS) if not address.startswith(site)]
    assert 0 == browser.run(_WIDER)
    assert [] == browser.console()
