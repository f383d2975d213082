"""The reference of fields is made from the schemas."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_fields_page_is_current() -> None:
    """docs/reference/fields.md says what the schemas say; `make docs` writes it."""
    made = runpy.run_path(str(ROOT / "docs" / "reference" / "fields.py"))["page"]()

    assert made == (ROOT / "docs" / "reference" / "fields.md").read_text(encoding="utf-8")
