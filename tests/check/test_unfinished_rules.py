"""What a placeholder could mend is not reported, with the rules' own examples."""

import copy
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.kit import Alone, engine
from tests.check.rules.kit import BAD, Fixture
from tests.properties import share

from slicewright.check.examine import Judges, examine
from slicewright.check.io.meaning import semantic_rules
from slicewright.check.run import RuleSet
from slicewright.check.unfinished import placeholders_in
from slicewright.check.units import Checked, Examined, Unit
from slicewright.document.document import values_in
from slicewright.kubernetes.labels import OURS, TOPOLOGY
from slicewright.kubernetes.problem import Path as Way
from slicewright.kubernetes.problem import dotted
from slicewright.objects import Resource
from slicewright.rendering.io import package_data as package


def test_quota_of_an_unfinished_object_is_unknown() -> None:
    """Another node selector may fit another flavor."""
    text = Fixture("FIT101", "bad_job").text
    documents = [one for one in yaml.safe_load_all(text) if not one["apiVersion"].startswith(OURS)]
    job = next(at for at, one in enumerate(documents) if one["kind"] == "Job")
    fits = {ident for ident, _ in _findings(documents, job) if ident.startswith("FIT")}
    documents[job]["spec"]["template"]["spec"]["nodeSelector"][TOPOLOGY] = "${TOPOLOGY}"

    assert {"FIT101"} == fits
    assert not {ident for ident, _ in _findings(documents, job) if ident.startswith("FIT")}


@cache
def _rules() -> RuleSet:
    rules = RuleSet(semantic_rules(), package.hint_of)
    setattr(rules, "without_repeats", tuple)  # noqa: B010 - schemas say what a rule left out says
    return rules


def _findings(documents: list[dict[str, Any]], index: int) -> set[tuple[str, str]]:
    """Return id and field of all problems of one of several objects: some rules report one of several."""
    resources = [Resource(data, "a.yaml", at=("items", at)) for at, data in enumerate(documents)]
    checked = tuple(
        Checked(one, engine().verdict(one), clean=False, placeholders=placeholders_in(one.data))
        for one in resources
    )
    reading = [Examined(Unit("stdin", "", "a.yaml"), checked, (), ())]
    found = examine(reading, Judges(engine(), _rules()), Alone()).problems
    return {
        (one.id, dotted(one.path[-1:]))
        for one in found
        if one.object == resources[index].subject and one.id != "FILE030"
    }


def _words(data: Any) -> list[Way]:
    """Return the paths of values that a person could fill in later."""
    fields = {"name", "namespace", "image", "replicas", "parallelism", "completions", "serviceAccountName"}
    holders = {"labels", "nodeSelector", "limits", "requests", "matchLabels"}
    left_out = {"env", "data", "volumes", "volumeMounts", "ports"}
    return [
        path
        for path, _ in values_in(data)
        if left_out.isdisjoint(path)
        and ((path[-1:] and path[-1] in fields) or holders.intersection(path[-2:-1]))
    ]


@pytest.mark.slow
@settings(max_examples=share(60))
@given(st.data())
def test_no_problem_is_reported_that_a_value_could_mend(data: st.DataObject) -> None:
    """An object with a placeholder has no problem that it does not have with the value that belongs there."""
    text = data.draw(st.sampled_from(BAD)).text
    documents = [one for one in yaml.safe_load_all(text) if not one["apiVersion"].startswith(OURS)]
    index = data.draw(st.integers(0, len(documents) - 1))
    words = _words(documents[index])
    if not words:
        return
    path = data.draw(st.sampled_from(words))
    unfinished = copy.deepcopy(documents)
    parent: Any = unfinished[index]
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = "${PLACE}"

    whole = _findings(documents, index)
    # A rule may speak for the schema there, and not know enough here.
    spoken_for = {place for _, place in whole}
    new = _findings(unfinished, index) - whole
    assert [] == [one for one in new if not (one[0].startswith("SCHEMA") and one[1] in spoken_for)]
