"""The work of a rule grows with the number of objects, and not with its square."""

import sys
from typing import Any

import pytest

from slicewright.check.rules.every import RULES
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

_MOST = 4.5
"""How many times as many calls three times as many objects may cost: 3, and what a rule does once."""
_FEW = 500


def _jobset(number: int, more: list[Any], env: list[Any]) -> dict[str, Any]:
    selector = {"accelerator": "tpu-v6e-slice", "topology": "4x4"}
    container = {"name": "m", "image": "a/b:1", "env": env, "resources": {"limits": {"google.com/tpu": 4}}}
    pods = {
        "nodeSelector": {f"cloud.google.com/gke-tpu-{key}": value for key, value in selector.items()},
        "containers": [container],
    }
    job = {"completions": 4, "parallelism": 4, "template": {"spec": pods}}
    jobs = [{"name": "slice", "template": {"spec": job}}, *more]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": f"run-{number}"},
        "spec": {"replicatedJobs": jobs},
    }


def _plain(number: int) -> dict[str, Any]:
    return _jobset(number, [], [])


def _by_hand(number: int) -> dict[str, Any]:
    address = f"other-{number}-slice-0-0.other-{number}:8476"
    variables = {"JAX_COORDINATOR_ADDRESS": address, "JAX_PROCESS_ID": "0"}
    return _jobset(number, [], [{"name": name, "value": value} for name, value in variables.items()])


def _pathways(number: int) -> dict[str, Any]:
    args, ports = ["--server_port=29001", "--node_type=resource_manager"], [{"containerPort": 29001}]
    container = {"name": "rm", "image": "a/pathways/server:1", "args": args, "ports": ports}
    pods = {"hostNetwork": True, "containers": [container]}
    return _jobset(number, [{"name": "head", "template": {"spec": {"template": {"spec": pods}}}}], [])


def _calls(items: list[dict[str, Any]], *, is_cluster: bool) -> dict[str, int]:
    """Return how many calls each rule makes for some objects."""
    resources = [Resource(item, f"{number}.yaml") for number, item in enumerate(items)]
    objects = ObjectSet(resources, catalogue(), is_cluster=is_cluster)
    counts = dict.fromkeys((rule.id for rule in RULES), 0)
    for rule in RULES:

        def count(_frame: object, event: str, _argument: object, ident: str = rule.id) -> None:
            counts[ident] += event.endswith("call")

        sys.setprofile(count)
        for resource in objects.all:
            if not rule.kinds or resource.kind in rule.kinds:
                for _ in rule.check(resource, objects):
                    pass
        sys.setprofile(None)
    return counts


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("is_cluster", [True, False])
@pytest.mark.parametrize("scene", [_plain, _by_hand, _pathways])
def test_three_times_the_objects_are_three_times_the_work(scene: Any, is_cluster: bool) -> None:
    """5,000 runs of one repository are checked in seconds, with names and ports of their own or not."""
    few, many = (_calls([*map(scene, range(size))], is_cluster=is_cluster) for size in (20, 60))

    assert {} == {
        name: (few[name], calls) for name, calls in many.items() if calls > _FEW and calls > _MOST * few[name]
    }
