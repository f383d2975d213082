"""JSON Pointers (RFC 6901)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.document import json_patch as patch
from slicewright.kubernetes.problem import pointer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("/", ("",)),
        ("/a/b", ("a", "b")),
        ("/a//b/", ("a", "", "b", "")),
        ("/a~1b/m~0n", ("a/b", "m~n")),
        ("/~01", ("~1",)),
        ("/0/-", ("0", "-")),
        ("/ /c%d", (" ", "c%d")),
    ],
)
def test_tokens(text: str, expected: tuple[str, ...]) -> None:
    """A pointer is a slash before each token; `~1` is a slash in a token and `~0` a tilde."""
    assert expected == patch.parse_pointer(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/b", "'a/b' is not a JSON pointer: it must begin with '/'"),
        ("/a~", "'/a~' is not a JSON pointer: '~' is written ~0 and '/' in a key ~1"),
        ("/a~2b", "'/a~2b' is not a JSON pointer: '~' is written ~0 and '/' in a key ~1"),
    ],
)
def test_no_pointers(text: str, message: str) -> None:
    """What begins without a slash, or has a tilde that is not a valid escape, is refused."""
    with pytest.raises(ValueError, match="is not a JSON pointer") as raised:
        patch.parse_pointer(text)

    assert message == str(raised.value)


@pytest.mark.slow
@given(st.lists(st.text()))
def test_any_keys_can_be_written(keys: list[str]) -> None:
    """Escaped tokens, joined by slashes, are parsed to what they were."""
    assert tuple(keys) == patch.parse_pointer(pointer(tuple(keys)))
