"""Writers of a check's report: each turns it into text, and the command prints that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli.report import github, junit, plain, sarif

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.workspace.examine import Report

WRITERS: dict[str, Callable[[Report], str]] = {
    "text": plain.write,
    "json": plain.write_json,
    "junit": junit.write,
    "sarif": sarif.write,
    "github": github.write,
}
