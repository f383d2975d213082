"""Whatever bytes a file holds, reading it ends in data or in one problem."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.document.document import same
from slicewright.document.read import read_documents, read_manifests, read_places

from .kit import LINES

pytestmark = pytest.mark.slow

TOKENS = (
    *(
        "a",
        "b",
        ": ",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "&x ",
        "*x",
        "<<: ",
    ),
    *(
        "'",
        '"',
        "#",
        " #",
        "|\n",
        "|",
        "> ",
        "!",
        "!!str ",
        "!a ",
        "? ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
    ),
    *(
        "\r\n",
        "\r",
        "\ufeff",
        "\x85",
        "\u2028",
        "1",
        "0x1",
        "012",
        "~",
        "null",
        "true",
        "1e3",
        "\\",
        "é",
        "😀",
        "\x00",
    ),
    *("x: 1\n", "- y\n", "\ud800"),
)
garbage = st.one_of(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join), st.text(max_size=40))
QUIETLY = settings(
    derandomize=True,
    max_examples=share(500),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@settings(QUIETLY)
@given(garbage)
def test_reading_never_raises(text: str) -> None:
    """A text is documents that JSON can hold, or one problem with a place in it."""
    documents, problems = read_documents(text, "a.yaml")

    assert bool(problems) <= (documents == ())
    json.dumps([document.data for document in documents], allow_nan=False)
    for problem in problems:
        assert (problem.file, problem.line >= 1, problem.column >= 1) == ("a.yaml", True, True)
        assert problem.line <= len(text.splitlines()) + 1


@settings(QUIETLY)
@given(garbage)
def test_disputes_only_take_away(text: str) -> None:
    """The strict way of reading finds the same documents or refuses them; it never reads others."""
    documents, _ = read_documents(text, "")
    strict, problems = read_documents(text, "", undisputed=True)

    assert bool(problems) or documents == strict


@settings(QUIETLY)
@given(st.one_of(garbage, LINES.map("\n".join)))
def test_undisputed_text_is_the_same_to_kubectl(text: str) -> None:
    """Where neither way of reading has a problem, both find the same documents."""
    documents, problems = read_documents(text, "", undisputed=True)
    manifests, others = read_manifests(text, "")

    found = ([document.data for document in documents], [document.data for document in manifests])
    assert bool(problems or others) or same(*found)


@settings(QUIETLY)
@given(garbage)
def test_every_value_has_a_place(text: str) -> None:
    """In a text that can be read, each document has the places of its values, and of its own keys."""
    documents, _ = read_documents(text, "")
    for document in documents:
        places = read_places(text, document.index)
        assert (document.line, ()) == (places.of(())[0], ())
        if isinstance(document.data, dict):
            assert set(document.data) <= set(places.names) or "<<" in places.names
