"""The address of the documentation, and of each page that a command links."""

DOCS = "https://slicewright.dev/docs/"


def page(path: str) -> str:
    """Return the address of a page, which is named by its path below `docs/`, without `.md`."""
    return f"{DOCS}{path}/"


def schema_address(path: str) -> str:
    """Return the address of a schema, which is named by its path below `schemas/`."""
    return f"{DOCS}schemas/{path}"


def command_page(name: str) -> str:
    """Return the address of the page of a command."""
    return page(f"reference/commands/{name}")


def rule_page(ident: str) -> str:
    """Return the address of the page of an id."""
    return page(f"reference/rules/{ident}")
