"""The page of a rehearsal as people get it: opened from disk in a real browser."""

from itertools import pairwise
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from tests.e2e_html import scripts
from tests.e2e_html.browser import Browser
from tests.e2e_html.picture import PICTURES, taken

SCHEMES = ["light", "dark"]
NAMES = ["teams", "several", "large"]
_TEXT, _GRAPHICS, _MOST_BYTES = 4.5, 3.0, 200_000
_DRAWN = [
    ("pattern.queued path", "stroke"),
    ("pattern.reserved circle", "fill"),
    ("pattern.starting path", "stroke"),
    ("pattern.restarting path", "stroke"),
    ("pattern.borrowed path", "stroke"),
    ("rect.queued", "stroke"),
    ("rect.reserved", "stroke"),
    ("rect.starting", "stroke"),
    ("rect.running", "fill"),
    ("rect.restarting", "stroke"),
    (".steps .used", "stroke"),
    (".steps .limit", "stroke"),
    (".steps .there", "stroke"),
    (".steps rect.borrowed", "stroke"),
    (".mark.evicted", "fill"),
    (".mark.fault", "fill"),
    (".mark.finished", "fill"),
    (".mark.failed", "fill"),
    (".mark.restarted", "stroke"),
    (".mark.refused", "stroke"),
    (".mark .stem", "stroke"),
    (".icon", "color"),
    (".problem", "borderLeftColor"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_opens_from_disk_without_a_word_of_the_console(
    browser: Browser, pages: Path, name: str
) -> None:
    """Nothing is missing, refused or wrong, and nothing else is loaded."""
    browser.open(pages / f"{name}.html")

    assert [] == browser.console()
    assert 0 == browser.run("return performance.getEntriesByType('resource').length")
    assert "CSS1Compat" == browser.run("return document.compatMode")
    assert "sans-serif" in browser.run("return getComputedStyle(document.body).fontFamily")


def test_the_policy_of_the_page_stops_a_script(browser: Browser, pages: Path) -> None:
    """Should a script ever get into the page, the browser does not run it, and says so in the console."""
    text = (pages / "teams.html").read_text(encoding="utf-8")
    bad = pages / "bad.html"
    bad.write_text(text.replace("</main>", "<script>document.title='ran'</script></main>"), encoding="utf-8")
    browser.open(bad)

    assert [True] == ["Content Security Policy" in message for message in browser.console()]
    assert "failed: rehearsal of teams" == browser.run("return document.title")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", NAMES)
def test_every_text_stands_out_from_its_ground(browser: Browser, pages: Path, name: str, scheme: str) -> None:
    """WCAG AA: 4.5 to 1 for every text that can be seen, with everything opened."""
    browser.open(pages / f"{name}.html", scheme=scheme)
    browser.run(scripts.OPEN_ALL)
    found = browser.run(scripts.TEXTS)

    assert [] == [entry for entry in found if entry[1] < _TEXT]
    assert [] == browser.run(scripts.TRANSLUCENT)
    assert {"h1", "small", "b", "text", "td", "span.badge.failed", "span.at"} <= {
        what for what, _ in found
    } or name == "large"
    assert len(found) > 300


@pytest.mark.parametrize("scheme", SCHEMES)
def test_everything_drawn_stands_out_from_its_ground(browser: Browser, pages: Path, scheme: str) -> None:
    """WCAG AA: 3 to 1 for patterns, lines, marks and signs."""
    browser.open(pages / "teams.html", scheme=scheme)

    assert [] == [entry for entry in browser.run(scripts.GRAPHICS, _DRAWN) if entry[1] < _GRAPHICS]


def test_the_two_schemes_are_two(browser: Browser, pages: Path) -> None:
    """Who prefers dark gets dark."""
    grounds = []
    for scheme in SCHEMES:
        browser.open(pages / "teams.html", scheme=scheme)
        grounds.append(browser.run("return getComputedStyle(document.body).backgroundColor"))

    assert ["rgb(244, 245, 247)", "rgb(13, 17, 23)"] == grounds


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["teams", "several"])
def test_the_tabulator_reaches_everything_in_order(
    browser: Browser, pages: Path, name: str, scheme: str
) -> None:
    """Each stop is in view, on top, below the last one, and has an outline that one sees."""
    browser.open(pages / f"{name}.html", scheme=scheme)
    wanted = browser.run(scripts.FOCUSABLE)
    stops = [browser.run(scripts.FOCUSED) for _ in browser.tab()]

    assert wanted == [stop["what"] for stop in stops]
    assert [] == [stop for stop in stops if stop["outline"] < 2 or stop["contrast"] < _GRAPHICS]
    assert [] == [stop for stop in stops if not (stop["inView"] and stop["onTop"])]
    assert [] == [
        (one, other)
        for one, other in pairwise(stop for stop in stops if "a.skip" not in stop["what"])
        if other["top"] < one["top"] - 4
    ]


def test_a_row_opens_and_closes_by_the_keyboard(browser: Browser, pages: Path) -> None:
    """Enter on a row of the timeline shows what happened to the run; once more hides it."""
    browser.open(pages / "teams.html")
    for _ in browser.tab():
        if browser.run("return document.activeElement.matches('.row summary')"):
            break
    shown = "return document.activeElement.parentElement.querySelector('.log').checkVisibility()"
    states = [browser.run(shown)]
    for key in (Keys.ENTER, Keys.ENTER):
        browser.press(key)
        states.append(browser.run(shown))

    assert [False, True, False] == states


def test_the_rows_of_the_timeline_can_be_skipped(browser: Browser, pages: Path) -> None:
    """Of a hundred rows nobody has to pass each one to come to the charts and tables."""
    browser.open(pages / "large.html")
    for _ in browser.tab():
        if "Skip the 100 rows" in browser.run("return document.activeElement.textContent"):
            break
    browser.press(Keys.ENTER)
    browser.press(Keys.TAB)

    assert "table" == browser.run("return document.activeElement.parentElement.className")


@pytest.mark.parametrize("name", NAMES)
def test_the_timeline_is_in_sight_without_scrolling(browser: Browser, pages: Path, name: str) -> None:
    """On a small laptop one sees what is wrong, and at least the first run along the time."""
    browser.open(pages / f"{name}.html", height=800)

    assert [True, True] == browser.run(
        "return [...document.querySelectorAll('.row')].slice(0, 2)"
        ".map(row => row.getBoundingClientRect().bottom <= innerHeight);"
    )


def test_a_problem_is_a_line_until_it_is_opened(browser: Browser, pages: Path) -> None:
    """Long messages do not push the timeline away; Enter shows the message, the hint and the place."""
    browser.open(pages / "teams.html", width=600)
    heights = "return [...document.querySelectorAll('.problem')].slice(0, 3).map(one => one.offsetHeight)"
    before = browser.run(heights)
    browser.run("document.querySelectorAll('.problem summary')[1].focus()")
    browser.press(Keys.ENTER)
    after = browser.run(heights)

    assert 1 == len(set(before))
    assert [True, False, True] == [one == other for one, other in zip(before, after, strict=True)]


def test_a_link_to_a_run_opens_what_happened_to_it(browser: Browser, pages: Path) -> None:
    """Whoever gets the link sees the run's row and its log, in sight; so does who follows it in the page."""
    seen = (
        "const row = document.querySelector('.row:has(:target)'), box = row.getBoundingClientRect();"
        "return [row.querySelector('.name').textContent, row.open, box.top >= 0 && box.top < innerHeight];"
    )
    browser.open(pages / "large.html", at="large/team-0/a-rather-long-workload-name-077")
    assert ["team-0/a-rather-long-workload-name-077", True, True] == browser.run(seen)

    browser.open(pages / "teams.html")
    browser.run("document.querySelector('tbody a[title=\"prod/nightly\"]').click()")
    assert ["prod/nightly", True, True] == browser.run(seen)


def test_a_link_to_a_problem_opens_it(browser: Browser, pages: Path) -> None:
    """Also where it is among those that are not in sight at first."""
    browser.open(pages / "teams.html", at="c0p3")

    assert [True, True] == browser.run(
        "const problem = document.querySelector('.problem:has(:target)');"
        "return [problem.open, problem.querySelector(':target').checkVisibility()];"
    )


def test_a_team_can_be_chosen_without_a_script(browser: Browser, pages: Path) -> None:
    """What other teams have is gone from timeline, problems and tables, in this cluster alone."""
    names = (
        "return [...new Set([...document.querySelectorAll('#c0 [data-team]')]"
        ".filter(one => one.checkVisibility()).map(one => one.textContent.match(/prod|research/)[0]))].sort()"
    )
    browser.open(pages / "several.html")
    others = "return [...document.querySelectorAll('#c1 .row')].filter(row => row.checkVisibility()).length"
    before = browser.run(others)
    found = [browser.run(names)]
    for _ in browser.tab():
        if browser.run("return document.activeElement.tagName") == "SELECT":
            break
    for key in (Keys.DOWN, Keys.DOWN, Keys.HOME):
        browser.press(key)
        found.append(browser.run(names))

    assert [["prod", "research"], ["prod"], ["research"], ["prod", "research"]] == found
    assert before == browser.run(others)


@pytest.mark.parametrize("width", [320, 360, 735, 740, 1280, 2560])
@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_wider_than_the_screen(browser: Browser, pages: Path, name: str, width: int) -> None:
    """From the narrowest phone to a wall: nobody scrolls sideways, but inside a table."""
    browser.open(pages / f"{name}.html", width=width)
    browser.run(scripts.OPEN_ALL)

    assert width == browser.run("return document.documentElement.scrollWidth")
    assert [] == browser.run(scripts.TOO_WIDE)
    assert ([], 0) == (browser.run(scripts.CUT_OFF), browser.run(scripts.LABELS))


def test_every_picture_has_a_name_and_a_description(browser: Browser, pages: Path) -> None:
    """Who cannot see the pictures hears what they are and what they show."""
    browser.open(pages / "teams.html")
    found = browser.pictured()

    assert [] == [picture for picture in found if not (picture["name"] and picture["description"])]
    assert {"research/base-model: finished", "prod-cq: chips in use", "flex: chips in use"} <= {
        picture["name"] for picture in found
    }


def test_paper_is_white_and_shows_closed_tables(browser: Browser, pages: Path) -> None:
    """A print of a dark screen is light, and has the tables that are closed on the screen."""
    browser.open(pages / "large.html", scheme="dark", media="print")

    assert "rgb(255, 255, 255)" == browser.run("return getComputedStyle(document.body).backgroundColor")
    assert [False, True, 100] == browser.run(
        "const table = document.querySelector('.table'), rows = [...table.querySelectorAll('tbody tr')];"
        "return [table.open, rows.every(row => row.checkVisibility()), rows.length];"
    )
    assert [] == [entry for entry in browser.run(scripts.TEXTS) if entry[1] < _TEXT]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_picture_of_the_docs_can_be_taken(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """The page as the docs show it is a small picture as wide as a page; the one in the docs is too."""
    for picture in (taken(browser, scheme, tmp_path), PICTURES[scheme].read_bytes()):
        width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))

        assert (b"\x89PNG", 1280) == (picture[:4], width)
        assert 1000 < height < 1800
        assert 20_000 < len(picture) < _MOST_BYTES
