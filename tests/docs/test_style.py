"""Docstrings, comments, messages, data and pages are in plain English, as docs/contributing/style.md says."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.files import git

ROOT = Path(__file__).resolve().parents[2]
TEXTS = git(
    ROOT,
    "ls-files",
    *("generator/*.py", "generator/*.yaml", "generator/*.sh", "generator/*.lua", "docs/*.md"),
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", ":!docs/contributing/style.md"),
).splitlines()


class Phrase(NamedTuple):
    """A phrase that no text has: a pattern, what to write instead, and a sentence that has it."""

    pattern: str
    instead: str
    example: str


PHRASES = (
    Phrase(r"nobody says", "the default is ...", "the speed where nobody says one"),
    Phrase(r"(what|which) is none", "name the value: NaN, None", "what is none is refused"),
    Phrase(r"anew", "again; recreate", "a Job that is made anew"),
    Phrase(r"of yours", "your ...", "a component of yours"),
    Phrase(r"stands?(?! (for|in for))", "is, is written", "the only place where it stands"),
    Phrase(r"so (many|much)(?! that)", "the number, the maximum", "so many cores a test bed keeps busy"),
    Phrase(r"for ever", "without end, or never ends", "a pod waits for ever"),
    Phrase(r"unasked", "by default", "unasked, no more begin"),
    Phrase(r"(for|of) whom|that which", "split the sentence", "a team for whom nothing runs"),
    Phrase(r"(is|are) said to", "name the file that says it", "what the cluster is said to have"),
    Phrase(r"living clusters?", "live cluster", "read a living cluster"),
    Phrase(r"comes? twice", "duplicate", "a name that comes twice"),
    Phrase(r"be had", "is available", "v4 cannot be had as FlexStart"),
    Phrase(r"what it holds|who held what", "name the content", "a file and what it holds"),
    Phrase(r"luck", "the random numbers", "base and variants have the same luck"),
    Phrase(r"the way (back )?to (an?|the|its|one)", "the path to", "the way to the pod's spec"),
    Phrase(r"(is|are) (not there|there (twice|already|now))", "exists, is missing", "a name is there twice"),
    Phrase(r"that (is|are) there", "existing", "the tree that is there"),
    Phrase(
        r"(?<!there\s)(is|are|was|were) no (?!longer|more|less)[a-z]+",
        "is not a ...",
        "what is no name of a queue",
    ),
)


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    """Compile patterns to one, in which a space is also a line break."""
    words = "|".join(patterns).replace(" ", r"\s+")
    return re.compile(rf"(?<![-\w])(?:{words})\b(?!-)", re.IGNORECASE)


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.pattern)
def test_each_phrase_is_found_in_its_example(phrase: Phrase) -> None:
    """A pattern that finds nothing would let every text pass."""
    assert _compiled([phrase.pattern]).search(phrase.example)


@pytest.mark.slow
def test_texts_are_in_plain_english() -> None:
    """No line of code, data or documentation has one of the phrases that a reader has to read twice."""
    pattern = _compiled(f"(?P<p{number}>{phrase.pattern})" for number, phrase in enumerate(PHRASES))
    found = []
    for path in TEXTS:
        text = (ROOT / path).read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            phrase = PHRASES[int(str(match.lastgroup)[1:])]
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: '{match[0]}': write {phrase.instead}")
    assert [] == found
