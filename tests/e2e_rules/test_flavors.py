"""The offline model of flavors against Kueue: who is admitted, and to which flavors."""

import time

import pytest
from tests.e2e_rules.drawn import draw

from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.kueue.assignment import admit
from slicewright.kueue.quota_read import queue_of, quotas
from slicewright.kueue.quota_workload import pod_sets
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import package
from slicewright.testbed.waiting import stretched

pytestmark = pytest.mark.workflow  # hundreds of queues

Flavors = dict[str, dict[str, str]] | None
"""The flavors of each pod set by resource; None where a workload is not admitted."""

SEED = 12
QUEUES = 400
QUIET = 8.0
"""After so many seconds without news (more on a busy machine) nothing new is expected."""
EVERY = 10
"""Of so many workloads one is submitted as a JobSet; the others as the Workload that Kueue would make."""


def _workload(jobset: Object) -> Object:
    """Return the Workload that Kueue makes of a JobSet."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": jobset["metadata"]["name"], "namespace": "default"},
        "spec": {
            "queueName": jobset["metadata"]["name"],
            "podSets": [_pod_set(entry) for entry in jobset["spec"]["replicatedJobs"]],
        },
    }


def _pod_set(entry: Object) -> Object:
    job = entry["template"]["spec"]
    found = {
        "name": entry["name"],
        "count": entry["replicas"] * job["parallelism"],
        "template": job["template"],
    }
    for key, value in job["template"].get("metadata", {}).get("annotations", {}).items():
        way = key.removeprefix("kueue.x-k8s.io/podset-")
        request = found.setdefault("topologyRequest", {})
        if way == "group-name":
            request["podSetGroupName"] = value
        else:
            request[way.removesuffix("-topology")] = value == "true" or value
    return found


def _name(workload: Object) -> str:
    owners = workload["metadata"].get("ownerReferences", [])
    return str(owners[0]["name"] if owners else workload["metadata"]["name"])


def _flavors(workload: Object) -> Flavors:
    admission = workload.get("status", {}).get("admission")
    if admission is None:
        return None
    return {entry["name"]: entry.get("flavors", {}) for entry in admission["podSetAssignments"]}


def _settled(api: Api, count: int) -> dict[str, Flavors]:
    """Return what the workloads were given by their names, once Kueue has nothing new to say of any.

    Of some it always says something else, for it tries their flavors in turns; of some it says nothing.
    """
    before: dict[str, tuple[bool, Flavors]] = {}
    since = time.monotonic()
    while len(before) < count or time.monotonic() - since < stretched(QUIET):
        time.sleep(1)
        workloads = api.list("kueue.x-k8s.io/v1beta2", "Workload", "default")
        now = {_name(entry): (bool(entry.get("status")), _flavors(entry)) for entry in workloads}
        if now != before:
            before, since = now, time.monotonic()
    return {name: flavors for name, (_, flavors) in before.items()}


def test_model_gives_the_flavors_that_kueue_gives(own_api: Api) -> None:
    """On random queues it admits the same workloads, and gives each pod set the same flavors."""
    drawn = draw(SEED, QUEUES)
    own_api.each(own_api.create, drawn.nodes)
    own_api.each(own_api.create, drawn.platform)
    direct = [jobset for index, jobset in enumerate(drawn.jobsets) if index % EVERY == 0]
    own_api.each(own_api.create, direct)
    own_api.each(own_api.create, [_workload(entry) for entry in drawn.jobsets if entry not in direct])
    found = _settled(own_api, QUEUES)
    object_set = ObjectSet(
        [Resource(entry, "") for entry in (*drawn.platform, *drawn.jobsets)], package().catalogue
    )
    wrong = {}
    admitted = 0
    for item in object_set.of_kind("JobSet"):
        queue = queue_of(item, object_set)
        assert queue is not None
        given = admit(quotas(object_set), queue, pod_sets(item, object_set))
        expected = None if given is None else {entry.pods.name: entry.flavors for entry in given}
        admitted += expected is not None
        if expected != found[item.name]:
            wrong[item.name] = {"model": expected, "Kueue": found[item.name]}

    assert {} == wrong
    assert QUEUES // 3 < admitted < QUEUES * 2 // 3
