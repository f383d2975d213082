"""Objects with the verdict of the real API server and its webhooks; tests/e2e_rules asks it again."""

from pathlib import Path

import pytest
import yaml
from tests.check.rules.verdicts import (
    CONTROLLED,
    CORPUS,
    FILES,
    ROWS,
    changed,
    controlled,
    errors,
    expected,
    refusals,
)

from slicewright.objects import Resource

DIFFERENCES = yaml.load((CORPUS.parent / "differences.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verdict_is_that_of_the_server(path: Path) -> None:
    """We refuse what the server refuses and nothing else; where we differ, a reason is written down."""
    found = errors(path)
    verdict = "refused" if found else "accepted"

    if path.stem in DIFFERENCES:
        assert verdict != expected(path)
        assert DIFFERENCES[path.stem].partition(":")[0] in {problem.partition(" ")[0] for problem in found}
    else:
        assert expected(path) == verdict, found


@pytest.mark.slow
@pytest.mark.parametrize("of", ROWS)
def test_verdicts_of_changed_objects_are_those_of_the_server(of: str) -> None:
    """We refuse what the server refuses, and more only by rules of what no controller runs."""
    for row in ROWS[of]:
        ids = {said.partition(" ")[0] for said in refusals(Resource(changed(row), "a.yaml"))}
        stricter = set(row.get("stricter", ()))
        verdict = "refused" if ids - stricter else "accepted"
        assert (row["ops"], row["verdict"], stricter) == (row["ops"], verdict, ids & stricter)


@pytest.mark.slow
@pytest.mark.parametrize("of", CONTROLLED)
def test_verdicts_are_those_of_controllers(of: str) -> None:
    """We refuse what controllers of other projects refuse or fail at; where we differ, the row says why."""
    for row in CONTROLLED[of]:
        items = [Resource(data, "a.yaml") for data in controlled(row)]
        ids = {said.partition(" ")[0] for said in refusals(*items)}
        stricter = set(row.get("stricter", ()))
        verdict = "refused" if ids - stricter else "accepted"
        theirs = "accepted" if row["verdict"] == "accepted" or "missed" in row else "refused"
        assert (row["ops"], theirs, stricter) == (row["ops"], verdict, ids & stricter)


def test_corpus_is_large_and_two_sided() -> None:
    """At least 800 objects, of which a good part is accepted."""
    verdicts = [expected(path) for path in FILES] + [row["verdict"] for rows in ROWS.values() for row in rows]

    assert len(verdicts) >= 800
    assert verdicts.count("accepted") >= 300
    assert set(verdicts) == {"accepted", "refused"}


def test_differences_are_of_the_corpus() -> None:
    """A reason whose object is gone is gone too."""
    assert set(DIFFERENCES) <= {path.stem for path in FILES}
