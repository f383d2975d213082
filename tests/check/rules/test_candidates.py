"""Several objects of one name in a scope: a reference is wrong where none of them fits."""

from copy import deepcopy
from typing import Any

import yaml
from tests.check.rules.kit import Fixture, run

from slicewright.check.rules.every import RULES
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue


def _findings(ident: str, *objects: dict[str, Any]) -> list[str]:
    items = [Resource(data, f"{index}.yaml") for index, data in enumerate(objects)]
    scope = ObjectSet(items, catalogue(), is_cluster=False)
    return [problem.id for problem in run(scope, [rule for rule in RULES if rule.id == ident])]


def _bad(ident: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(Fixture(ident, "bad").text))


def test_pods_need_one_compute_class_that_fits() -> None:
    """Pods that contradict one class of a name are right where another of that name has their nodes."""
    pods, refusing = _bad("CC109")
    fitting = deepcopy(refusing)
    fitting["spec"]["priorities"][0]["tpu"]["type"] = "tpu-v5-lite-podslice"

    assert ["CC109"] == _findings("CC109", pods, refusing, deepcopy(refusing))
    assert [] == _findings("CC109", pods, refusing, fitting)
