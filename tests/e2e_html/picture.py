"""Takes the pictures of a rehearsal's page that the docs show: `python -m tests.e2e_html.picture`."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.e2e_html.browser import Browser
from tests.e2e_html.records import eventful

from slicewright.cli.report.rehearsal_output import render_page as page

_IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PICTURES: Mapping[str, Path] = {"light": _IMAGES / "rehearsal.png", "dark": _IMAGES / "rehearsal-dark.png"}
_BOTTOM = "return Math.round(document.querySelector('.table').getBoundingClientRect().top)"
"""Where the tables begin: the picture has what is above them."""


def taken(browser: Browser, scheme: str, folder: Path) -> bytes:
    """Return the picture in one of the two schemes; the page is written into a folder."""
    record = eventful()
    never = {"research/too-big", "prod/bad-name", "prod/late"}
    record["workloads"] = [run for run in record["workloads"] if run["run"] not in never]
    record["problems"] = [found for found in record["problems"] if "nightly" in found["message"]]
    record["summary"] |= {"runs": 4, "waiting": 0, "refused": 0, "notSubmitted": 0}
    file = folder / "picture.html"
    file.write_text(page([record]), encoding="utf-8")
    browser.open(file, scheme=scheme)
    return browser.screenshot(browser.run(_BOTTOM))


def main() -> None:
    """Write the pictures anew."""
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for scheme, file in PICTURES.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(taken(browser, scheme, Path(folder)))
    finally:
        browser.close()


if __name__ == "__main__":
    main()
