"""Every rule has an object that breaks it and one that does not."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.check.rules.kit import FIXTURES, findings_of
from tests.words import places

from slicewright.check.io.meaning import Meaning, rule_subjects
from slicewright.check.rules.every import RULES
from slicewright.kubernetes.problem import dotted

ROOT = Path(__file__).resolve().parents[3]
IDS = [rule.id for rule in RULES]
TEXTS = [one for subject in rule_subjects() for one in subject.meanings]
GOOD = sorted(FIXTURES.glob("*/good*.yaml"))
_FORM = "(?:TPU|JS|KQ|PW|REF|FIT|GIT|KUS|LWS|RAY|TRAIN|CC|SLICE|MK)1[0-9]{2}"
BAD = sorted(FIXTURES.glob("*/bad*.yaml"))
_KIND = re.compile("^kind: (.*)$", re.MULTILINE)
_ROW = re.compile(r"^- \{of: (\w+)/\w+, verdict: accepted,", re.MULTILINE)


def _name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def _expected(text: str) -> list[str]:
    """Return the leading comment lines: the path of each finding."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        lines.append(line[2:])
    return lines


@pytest.mark.parametrize("path", GOOD, ids=_name)
def test_good_object_keeps_the_rule(path: Path) -> None:
    """What is right is not reported."""
    found = findings_of(path.parent.name, path.read_text(encoding="utf-8"))

    assert found == ()


@pytest.mark.parametrize("path", BAD, ids=_name)
def test_bad_object_breaks_the_rule(path: Path) -> None:
    """What is wrong is reported at the paths that the fixture's first lines give."""
    text = path.read_text(encoding="utf-8")

    found = findings_of(path.parent.name, text)

    assert _expected(text) == [dotted(problem.path) for problem in found]
    assert len(found) == len(places(found))


@pytest.mark.slow
def test_texts_say_which_rules_have_fixes() -> None:
    """An id has a fix exactly where a finding of its fixtures has one; safe if one of them is."""
    found: dict[str, str] = {}
    for path in BAD:
        for problem in findings_of(path.parent.name, path.read_text(encoding="utf-8")):
            if problem.fix:
                is_safe = problem.fix.safe or found.get(problem.id) == "safe"
                found[problem.id] = "safe" if is_safe else "unsafe"

    assert {one.id: one.fix for one in TEXTS if one.fix} == found


@pytest.mark.parametrize("path", BAD, ids=_name)
def test_findings_have_a_place_and_a_hint(path: Path) -> None:
    """A finding points into the file and says what to write instead."""
    found = findings_of(path.parent.name, path.read_text(encoding="utf-8"))

    assert found
    assert all(problem.line > 0 and problem.hint for problem in found)


def test_every_rule_has_both_fixtures() -> None:
    """No rule is without an object that breaks it and one that keeps it, and no fixture without a rule.

    What keeps it is a good fixture, or an accepted object of one of its kinds in the corpus.
    """
    texts = [path.read_text(encoding="utf-8") for path in FIXTURES.parent.glob("corpus/*.yaml")]
    kinds = {kind for text in texts if text.startswith("# accepted") for kind in _KIND.findall(text)}
    kinds |= {*_ROW.findall((FIXTURES.parent / "corpus.yaml").read_text(encoding="utf-8"))}
    good = {path.parent.name for path in GOOD}

    assert set(IDS) == good | {rule.id for rule in RULES if not rule.kinds.isdisjoint(kinds)}
    assert set(IDS) == {path.parent.name for path in BAD}
    assert set(IDS) >= good


def test_ids_are_unique_and_well_formed() -> None:
    """An id is the letters of a subject and three digits from 101 on, given once."""
    assert [ident for ident, times in Counter(IDS).items() if times > 1] == []
    assert [ident for ident in IDS if not re.fullmatch(_FORM, ident)] == []


def test_every_rule_has_texts_and_no_other() -> None:
    """A rule is a function and an entry of problems/rules/, in the file of its letters."""
    assert sorted(IDS) == sorted(one.id for one in TEXTS)


@pytest.mark.parametrize("one", TEXTS, ids=lambda one: one.id)
def test_rule_says_why_and_what_instead(one: Meaning) -> None:
    """Title, reason, hint and source are written, and none ends in a full stop but the reason."""
    assert all((one.title, one.why, one.hint, one.sources))
    assert not one.title.endswith(".")
    assert not one.hint.endswith(".")
    assert one.why.endswith(".")
