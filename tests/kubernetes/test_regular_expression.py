"""Patterns that somebody else wrote."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.check.kit import CONFIG_MAP, run, write

from slicewright.kubernetes.regular_expression import whole
from slicewright.rendering.folder import SETTINGS
from slicewright.rendering.kustomization import _PATTERN

BOMBS = ("(a|a)*b", "(a*)*b", "([a-zA-Z0-9.-]|[a-z]|[a-z]|[a-z]|[a-z]|[a-z]|[a-z]|[a-z])*_", "(a|aa)+$b")


@pytest.mark.parametrize("pattern", BOMBS)
def test_no_pattern_takes_long(pattern: str) -> None:
    """Python's engine would need longer than the universe has been there."""
    began = time.monotonic()
    matches = whole(pattern)
    assert matches is not None
    assert not matches("a" * 5000)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)a", "(", "a**", "(a{500}){500}", r"\Qa\E"])
def test_what_the_engine_does_not_take_has_no_answer(pattern: str) -> None:
    """References back, look-around, what is not a pattern, what would be too large, and Go's own syntax."""
    assert whole(pattern) is None


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of Python, about [||]
@given(st.text("ab.|*+?^$()[]-", max_size=8), st.text("ab.-", max_size=4))
def test_composed_patterns_match_as_before(pattern: str, text: str) -> None:
    """In the subset that we compose, the engine answers as a backtracking one does on a short text.

    It refuses nothing that is a pattern but a bracket that closes none.
    """
    assume(_PATTERN.fullmatch(pattern))
    matches = whole(pattern)
    try:
        expected = re.search(f"^(?:{pattern})$", text) is not None
    except re.error:
        assert matches is None
        return
    assert matches is not None or "]" in pattern
    assert matches is None or expected is matches(text)


@pytest.mark.tools
@pytest.mark.parametrize("more", ["", "namePrefix: b-\n"])
@pytest.mark.parametrize("pattern", BOMBS)
def test_targets_end(tmp_path: Path, pattern: str, more: str) -> None:
    """A target is held against objects in no time, by whomever the folder is built."""
    write(
        tmp_path,
        {
            SETTINGS: "",  # in a repository of ours objects of all kinds are judged
            "a.yaml": CONFIG_MAP.replace("name: a", f"name: {'a' * 40}"),
            "kustomization.yaml": f"resources: [a.yaml]\n{more}patches:\n- target: {{name: '{pattern}'}}\n"
            "  patch: |\n    - {op: add, path: /metadata/labels, value: {a: b}}\n",
        },
    )
    assert ["KUS105"] == run(tmp_path, ".", "-o", "json").ids
