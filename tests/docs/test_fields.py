"""The reference of fields is made from the schemas."""

from website.fields import TARGET, pages


def test_fields_pages_are_current() -> None:
    """docs/reference/fields/ says what the schemas say; `make docs` writes it."""
    assert pages() == {file.name: file.read_text(encoding="utf-8") for file in TARGET.glob("*.md")}
