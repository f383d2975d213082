"""One browser for all tests here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e_html.browser import Browser, NoBrowserError
from tests.e2e_html.records import calm, eventful, large

from slicewright.cli.report.rehearsal_output import render_page as page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    try:
        started = Browser()
    except NoBrowserError as error:
        pytest.fail(str(error), pytrace=False)
    yield started
    started.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `teams.html`, `several.html` and `large.html`."""
    folder = tmp_path_factory.mktemp("pages")
    for name, records in (("teams", [eventful()]), ("several", [eventful(), calm()]), ("large", [large()])):
        (folder / f"{name}.html").write_text(page(records), encoding="utf-8")
    return folder
