"""The work of the rules grows with the number of objects, and not with its square."""

import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from tests.check.rules.kit import BAD, Fixture, object_set

from slicewright.check.rules.every import RULES
from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.objects import Rule

FEW, MANY = 1, 4
ENOUGH = 4_000
"""Calls below this number are not compared."""


def _objects(count: int) -> list[dict[str, Any]]:
    """Return the objects of one fixture of each rule, each run as often as asked: a tree has many runs."""
    texts = {fixture.rule: fixture.text for fixture in reversed(BAD)}
    data = [document.data for text in texts.values() for document in read_documents(text, "a.yaml")[0]]
    found = []
    for one in data:
        is_run = one.get("kind") in RUN_KINDS and isinstance(one.get("metadata"), dict)
        for number in range(count if is_run else 1):
            copied = deepcopy(one)
            if is_run:
                copied["metadata"]["name"] = f"{one['metadata'].get('name', 'run')}-{number}"
            found.append(copied)
    return found


def _calls(rules: Sequence[Rule], data: list[dict[str, Any]]) -> dict[str, int]:
    """Return how many calls of Python functions each rule makes."""
    objects, counts = object_set(*data), dict.fromkeys((rule.id for rule in rules), 0)
    for rule in rules:

        def count(_frame: object, event: str, _argument: object, ident: str = rule.id) -> None:
            counts[ident] += event == "call"

        chosen = [one for one in objects.all if not rule.kinds or one.kind in rule.kinds]
        sys.setprofile(count)
        try:
            for one in chosen:
                list(rule.check(one, objects))
        finally:
            sys.setprofile(None)
    return counts


@pytest.mark.ci  # ten seconds of CPU
def test_work_of_each_rule_grows_linearly() -> None:
    """Four times as many runs take no rule more than four times as many calls, but for a tenth."""
    few, many = _calls(RULES, _objects(FEW)), _calls(RULES, _objects(MANY))
    growth = {ident: many[ident] / count for ident, count in few.items() if count > ENOUGH}

    assert len(growth) > 30
    assert {} == {ident: round(times, 1) for ident, times in growth.items() if times > 1.1 * MANY / FEW}


@pytest.mark.ci
def test_heads_that_list_their_ports_are_compared_with_no_others() -> None:
    """Three times as many heads of Pathways, with one port each, take at most four times as many calls."""
    head = read_documents(Fixture("PW147", "good_ports").text, "a.yaml")[0][0].data
    rules = [rule for rule in RULES if rule.id == "PW147"]
    few, many = (
        _calls(rules, [{**head, "metadata": {"name": f"run-{number}"}} for number in range(count)])["PW147"]
        for count in (20, 60)
    )

    assert many <= 4 * few
