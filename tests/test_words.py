"""Snapshots of messages: places stay in the test, words are compared with tests/messages."""

from pathlib import Path

import pytest
from tests import words

from slicewright.kubernetes.problem import Problem

PROBLEM = Problem("ABC101", "quota of 24 chips", "write 32", file="a.yaml", line=3)


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of snapshots, to which the test writes."""
    monkeypatch.setattr(words, "FOLDER", tmp_path)
    monkeypatch.setattr(words, "_session", words._Session(recorded={}))
    words._read.cache_clear()
    return tmp_path


def test_words_are_written_with_the_tests_that_see_them(snapshot: Path) -> None:
    """A text is there once, with its hint and each place in which a test sees it."""
    assert ["a.yaml:3: ABC101", "b:\na.yaml:3: ABC101\n"] == words.places(
        [PROBLEM, f"b:\n{PROBLEM.text()}\n"]
    )
    words.write()

    name = "tests: words_are_written_with_the_tests_that_see_them"
    expected = f"ABC101 quota of 24 chips\n  hint: write 32\n  - {name}\n  - {name} #2\n"
    assert expected == (snapshot / "ABC.txt").read_text(encoding="utf-8")


@pytest.mark.usefixtures("snapshot")
@pytest.mark.parametrize("text", ["quota of 25 chips", "quota of 24 chips or less"])
def test_other_words_fail(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Another number is other words."""
    assert "a.yaml:3: ABC101" == words.places(PROBLEM)
    words.write()
    monkeypatch.setattr(words, "_session", words._Session())

    assert "a.yaml:3: ABC101" == words.places(PROBLEM)
    monkeypatch.setattr(words, "_session", words._Session())
    with pytest.raises(
        pytest.fail.Exception, match="expected in tests/messages:\nABC101 quota of 24 chips\n"
    ):
        words.places(Problem("ABC101", text, "write 32", file="a.yaml", line=3))
