"""The page of a rehearsal as a file: what stood there stays until the new page is whole."""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from slicewright.cli import show
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import Group

_NO_PLACE_BESIDE = (errno.EACCES, errno.EPERM, errno.EBUSY)
"""The folder is not writable, or the file is a mount point: only the file itself can be written."""


def render_page(records: Sequence[Object]) -> str:
    """Return the HTML page of rehearsals, from their JSON records."""
    from slicewright.rehearse.report.page import page  # noqa: PLC0415 - few rehearsals write one

    return page(records, *_template())


def render_variants(groups: Sequence[Group]) -> str:
    """Return the HTML page of variants, from their JSON records; in each group the base is first."""
    from slicewright.rehearse.report.page import page_of_variants  # noqa: PLC0415 - few rehearsals write one

    return page_of_variants(groups, *_template())


def _template() -> tuple[str, str]:
    """Return the template of a page and its style sheet."""
    folder = files("slicewright.rehearse.report")
    template, style = ((folder / name).read_text("utf-8") for name in ("page.html.j2", "page.css"))
    return template, style


def check(page: Path | None) -> None:
    """End the command where the page could not be written after a play of minutes."""
    problem = page and unwritable(page)
    if problem:
        show.stop((problem,))


def unwritable(page: Path) -> Problem | None:
    """Return why a page could not be written after the rehearsal; the file is as it was before."""
    is_new = not page.exists()
    try:
        with page.open("ab"):
            pass
    except OSError as error:
        return _not_written(page, error)
    if is_new:
        page.unlink()
    return None


def publish(page: Path | None, title: str, render: Callable[[], str]) -> tuple[Problem, ...]:
    """Write a page where one is asked for and say so, or return why that failed."""
    if page is None:
        return ()
    problem = write(page, render())
    if problem:
        return (problem,)
    say(f"{title}: {page}", err=True)
    return ()


def write(page: Path, text: str) -> Problem | None:
    """Write a page, or return why that failed; then an earlier page is still whole."""
    try:
        if page.exists() and not page.is_file():  # a pipe or a device
            page.write_text(text, encoding="utf-8")
        else:
            _replace(page.resolve(), text)
    except OSError as error:
        return _not_written(page, error)
    return None


def _replace(page: Path, text: str) -> None:
    beside = page.with_name(f".slicewright-{os.getpid()}.html")
    try:
        beside.write_text(text, encoding="utf-8")
        if page.exists():
            shutil.copymode(page, beside)
        beside.replace(page)
    except OSError as error:
        beside.unlink(missing_ok=True)
        if error.errno not in _NO_PLACE_BESIDE:
            raise
        page.write_text(text, encoding="utf-8")


def _not_written(page: Path, error: OSError) -> Problem:
    hint = "name a file in a folder that exists and can be written, or make room"
    return Problem("FILE003", f"the page cannot be written: {error.strerror}", hint, file=str(page))
