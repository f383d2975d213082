"""Writers of a check's report: each returns a text, and the command prints it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.check.examine import Report

FORMS = {
    "text": "plain.write",
    "json": "plain.write_json",
    "junit": "junit.write",
    "sarif": "sarif.write",
    "github": "plain.write_github",
}
"""Each form's module and function in this package; only the requested one is imported."""


def writer(form: str) -> Callable[[Report], str]:
    """Return the function that writes a report in a form."""
    module, _, function = FORMS[form].partition(".")
    write: Callable[[Report], str] = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    return write
