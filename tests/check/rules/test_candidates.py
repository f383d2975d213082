"""Several objects of one name in a scope: a reference is wrong where none of them fits."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import yaml
from tests.check.rules.kit import FIXTURES, run

from slicewright.check.rules.every import RULES
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue


def _findings(ident: str, *objects: dict[str, Any]) -> list[str]:
    items = [Resource(data, f"{index}.yaml") for index, data in enumerate(objects)]
    scope = ObjectSet(items, catalogue(), is_cluster=False)
    return [problem.id for problem in run(scope, [rule for rule in RULES if rule.id == ident])]


def _bad(ident: str, name: str = "bad") -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FIXTURES / ident / f"{name}.yaml").read_text(encoding="utf-8")))


def test_pods_need_one_compute_class_that_fits() -> None:
    """Pods that contradict one class of a name are right where another of that name has their nodes."""
    pods, refusing = _bad("CC109")
    fitting = deepcopy(refusing)
    fitting["spec"]["priorities"][0]["tpu"]["type"] = "tpu-v5-lite-podslice"

    assert ["CC109"] == _findings("CC109", pods, refusing, deepcopy(refusing))
    assert [] == _findings("CC109", pods, refusing, fitting)


def test_train_job_needs_one_runtime_that_fits() -> None:
    """A TrainJob with other nodes than one runtime is right where another of that name has as many."""
    job, *_, refusing = _bad("TRAIN103")
    fitting = deepcopy(refusing)
    pods = fitting["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pods["nodeSelector"]["cloud.google.com/gke-tpu-topology"] = "2x4"

    assert ["TRAIN103"] == _findings("TRAIN103", job, refusing, deepcopy(refusing))
    assert [] == _findings("TRAIN103", job, refusing, fitting)
