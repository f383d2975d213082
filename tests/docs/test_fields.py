"""The reference of fields is made from the schemas."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_fields_page_is_current() -> None:
    """docs/fields.md says what the schemas say; `make docs` writes it."""
    made = runpy.run_path(str(ROOT / "docs" / "fields.py"))["page"]()

    assert made == (ROOT / "docs" / "fields.md").read_text(encoding="utf-8")
