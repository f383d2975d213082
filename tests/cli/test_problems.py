"""Every id that a command can print is explained, and what explains it is true."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Repo
from website.inputs import REPOSITORY, command, example

from slicewright.check.io.meaning import EXAMPLES, Meaning, all_rules, subjects

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "generator" / "slicewright"
_ID = re.compile(r"[A-Z]{2,6}\d{3}")
NO_IDS = {"ECDSAP384", "ECDSAP521"}
"""Constants of the code that only look like ids: options of security policies."""
OWN = [one for subject in subjects() for one in subject.meanings]
TRIED = [one for one in OWN if one.example_of != "message"]


def ids_of_code() -> Iterator[str]:
    """Yield every string constant of the package that has the form of an id."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _ID.fullmatch(node.value):
                yield node.value


@pytest.mark.slow
def test_every_id_of_the_code_is_explained_and_no_other() -> None:
    """`slicewright rule` knows each id: a new one gets its entry in problems/, an old one is retired."""
    explained = {one.id for one in all_rules() if not one.is_retired}

    assert explained == set(ids_of_code()) - NO_IDS


def test_every_id_is_explained_once() -> None:
    """There is one source for each: a rule, the engine's table, or the table of all others."""
    ids = [one.id for one in all_rules()]

    assert ids == sorted(set(ids))


@pytest.mark.parametrize("one", all_rules(), ids=lambda one: one.id)
def test_explanation_says_what_is_wrong_why_and_what_to_do(one: Meaning) -> None:
    """Title and hint fit into one line of a page and need no full stop; the reason is a sentence."""
    assert one.title
    assert not one.title.endswith(".")
    assert one.why.rstrip(")").endswith((".", "?"))
    assert one.hint
    assert not one.hint.endswith(".")


@pytest.mark.parametrize("one", TRIED, ids=lambda one: one.id)
def test_example_has_the_problem_that_it_explains(repo: Repo, one: Meaning) -> None:
    """The example of an id, rendered or validated, has this problem and no other error."""
    for path, text in {**REPOSITORY, **example(one)}.items():
        repo.write(path, text)
    code = 1 if one.severity == "error" else 0

    found = repo.run(*command(one), "-o", "json", code=code).json["problems"]

    assert {(one.id, one.severity)} == {
        (problem["id"], problem["severity"])
        for problem in found
        if problem["severity"] == "error" or problem["id"] == one.id
    }


def test_examples_are_of_known_places() -> None:
    """What is tried is most of what a person can write into a file."""
    assert {one.example_of for one in OWN} == set(EXAMPLES)


def test_retired_id_names_the_rule_that_finds_the_mistake_now(repo: Repo) -> None:
    """A note or old output may name an id that no command prints any more."""
    known = {one.id: one for one in all_rules()}

    succeeded = [one for one in known.values() if "finds it now" in one.why]

    assert ["QUOTA005", "QUOTA006", "QUOTA011", "QUOTA013"] == [one.id for one in succeeded]
    for one in succeeded:
        successors = _ID.findall(one.hint)
        assert successors
        assert not any(known[ident].is_retired for ident in successors)
    said = repo.run("rule", "QUOTA005").out
    assert said.startswith("QUOTA005 (retired): ")
    assert "KQ103 finds it now" in said
    assert [["QUOTA005", "retired"]] == [
        line.split()[:2] for line in repo.run("rule", "QUOTA").out.splitlines() if "QUOTA005" in line
    ]


def test_id_of_a_deleted_check_is_retired(repo: Repo) -> None:
    """It is not given to another problem, and says that it may be removed."""
    (subject,) = (one for one in subjects() if one.title == "Retired")

    assert all(one.is_retired for one in subject.meanings)
    assert "Retired: nothing checks this any more." in repo.run("rule", subject.meanings[0].id).out
