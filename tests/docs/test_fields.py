"""The reference of fields is made from the schemas."""

from __future__ import annotations

from website.fields import TARGET, page


def test_fields_page_is_current() -> None:
    """docs/reference/fields.md says what the schemas say; `make docs` writes it."""
    assert page() == TARGET.read_text(encoding="utf-8")
