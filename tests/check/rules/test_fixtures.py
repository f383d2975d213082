"""Every rule has an object that breaks it and one that does not."""

import re
from collections import Counter

import pytest
import yaml
from tests.check.rules.kit import BAD, GOOD, Fixture, findings_of
from tests.check.rules.verdicts import FILES, ROWS, changed, expected
from tests.words import places

from slicewright.check.io.meaning import Meaning, rule_subjects
from slicewright.check.rules.every import RULES
from slicewright.kubernetes.problem import dotted

IDS = [rule.id for rule in RULES]
TEXTS = [one for subject in rule_subjects() for one in subject.meanings]
_FORM = "(?:TPU|JS|KQ|PW|REF|FIT|GIT|KUS|LWS|RAY|TRAIN|CC|SLICE|MK)1[0-9]{2}"


@pytest.mark.parametrize("fixture", GOOD, ids=str)
def test_good_object_keeps_the_rule(fixture: Fixture) -> None:
    """What is right is not reported."""
    assert findings_of(fixture.rule, fixture.text) == ()


@pytest.mark.parametrize("fixture", BAD, ids=str)
def test_bad_object_breaks_the_rule(fixture: Fixture) -> None:
    """What is wrong is reported at the paths that the fixture gives, with a line and a hint."""
    found = findings_of(fixture.rule, fixture.text)

    assert found
    assert fixture.finds == [dotted(problem.path) for problem in found]
    assert len(found) == len(places(found))
    assert all(problem.line > 0 and problem.hint for problem in found)


@pytest.mark.slow
def test_texts_say_which_rules_have_fixes() -> None:
    """An id has a fix exactly where a finding of its fixtures has one; safe if one of them is."""
    found: dict[str, str] = {}
    for fixture in BAD:
        for problem in findings_of(fixture.rule, fixture.text):
            if problem.fix:
                is_safe = problem.fix.safe or found.get(problem.id) == "safe"
                found[problem.id] = "safe" if is_safe else "unsafe"

    assert {one.id: one.fix for one in TEXTS if one.fix} == found


def test_every_rule_has_both_fixtures() -> None:
    """No rule is without an object that breaks it and one that keeps it, and no fixture without a rule.

    What keeps it is a good fixture, or an accepted object of one of its kinds in the corpus.
    """
    accepted = [file for file in FILES if expected(file) == "accepted"]
    kinds = {yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)["kind"] for file in accepted}
    kinds |= {changed(row)["kind"] for rows in ROWS.values() for row in rows if row["verdict"] == "accepted"}
    good = {fixture.rule for fixture in GOOD}

    assert set(IDS) == good | {rule.id for rule in RULES if not rule.kinds.isdisjoint(kinds)}
    assert set(IDS) == {fixture.rule for fixture in BAD}
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
