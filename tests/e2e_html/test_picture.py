"""The picture of the README, as a browser draws it."""

from pathlib import Path

from tests.e2e_html.browser import Browser

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "picture.svg"
_LEFT = """
const left = {};
for (const text of document.querySelectorAll('text')) {
  const at = text.textContent.search(/[^\\s\\u00a0]/);
  left[text.textContent.trim()] = text.getStartPositionOfChar(at).x;
}
return left;
"""


def test_lines_of_yaml_keep_their_indentation(browser: Browser) -> None:
    """What is inside of something stands further to the right, by two characters a level."""
    browser.open(PICTURE)
    left = browser.run(_LEFT)
    levels = ["spec:", "tpu: v5litepod-8", "image: python:3.12"]
    first, second, third = (left[line] for line in levels)
    outer, inner = left["kind: JobSet"], left["gke-tpu-topology: 2x4"]

    assert second - first > 10
    assert abs((third - second) - (second - first)) < 1
    assert abs((inner - outer) - 3 * (second - first)) < 1
