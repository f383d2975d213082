"""A real API server counts pods against ResourceQuota and LimitRange as the rules count them."""

from http import HTTPStatus
from typing import Any

import pytest
from tests.check.rules.kit import findings, object_set
from tests.check.rules.queues import kueue

from slicewright.check.rules.fit_namespace import used
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import KUEUE_VERSION
from slicewright.kubernetes.labels import QUEUE
from slicewright.kubernetes.types import Object
from slicewright.kueue.quota_workload import amounts, pod_sets
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # unit tests hold the same arithmetic to fixtures

MANY = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
COUNTS = ("pods", "requests.google.com/tpu", "requests.ephemeral-storage", "count/pods")
CPU = {"cpu": "2", "memory": "1Gi"}
BOTH = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "3", "memory": "2Gi"}}
DEFAULTS = [
    {"type": "Container", "max": {"cpu": "8"}, "min": {"memory": "64Mi"}, "default": {"memory": "3Gi"}}
]
PODS: dict[str, list[dict[str, Any]]] = {
    "limits": [{"limits": CPU}],
    "both": [BOTH, {"limits": CPU}],
    "nothing": [{}],
    "chips": [{"limits": {"google.com/tpu": "4"}}],
    "one without": [BOTH, {"requests": {"cpu": "1"}}],
    "disk": [{"limits": {**CPU, "ephemeral-storage": "5Gi"}}],
    "init": [BOTH, {"limits": {"cpu": "7", "memory": "1Gi"}, "init": True}],
    "sidecar": [BOTH, {"limits": {"cpu": "5", "memory": "1Gi"}, "init": True, "restartPolicy": "Always"}],
}


def _pod(namespace: str, containers: list[dict[str, Any]]) -> Object:
    own: dict[str, list[Any]] = {"containers": [], "initContainers": []}
    for index, entry in enumerate(containers):
        resources = {key: entry[key] for key in ("requests", "limits") if key in entry}
        container = {"name": f"c{index}", "image": "x", "resources": resources}
        container |= {key: entry[key] for key in ("restartPolicy",) if key in entry}
        own["initContainers" if entry.get("init") else "containers"].append(container)
    return _object("Pod", "p", namespace, own)


def _object(kind: str, name: str, namespace: str, spec: dict[str, Any]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": spec,
    }


@pytest.mark.parametrize("limits", [[], DEFAULTS], ids=["without defaults", "with defaults"])
@pytest.mark.parametrize("hard", [MANY, COUNTS], ids=["demanded", "counted"])
@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_server_counts_as_the_rule(
    own_api: Api, request: Any, pod: list[dict[str, Any]], hard: tuple[str, ...], limits: list[Any]
) -> None:
    """It refuses a pod where the rule has a finding, else it counts what the rule counts."""
    namespace = f"n{abs(hash(request.node.name))}"
    quota = _object("ResourceQuota", "q", namespace, {"hard": dict.fromkeys(hard, "1000Gi")})
    ranges = [_object("LimitRange", "l", namespace, {"limits": limits})] if limits else []
    item = _pod(namespace, pod)
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for other in (quota, *ranges):
        own_api.create(other)
    account = ("v1", "ServiceAccount", "default", namespace)
    until("the namespace", lambda: own_api.find(*account) and _status(own_api, namespace), seconds=120)

    known = object_set(item, quota, *ranges)
    refused = bool(findings("FIT132", item, quota, *ranges))
    expected = {name: value for name, (_, value) in used(known.all[0], known).items() if name in hard}

    assert refused == _is_refused(own_api, item)
    if not refused:
        counted = amounts(_status(own_api, namespace)["used"])
        assert {name: value for name, value in expected.items() if value} == {
            name: value for name, value in counted.items() if value
        }


SIZES = {
    "chips": [{"type": "Container", "max": {"google.com/tpu": "2"}}],
    "cpu": [{"type": "Container", "max": {"cpu": "2"}}],
    "memory": [{"type": "Container", "min": {"memory": "2Gi"}}],
    "default": [{"type": "Container", "max": {"cpu": "4"}, "default": {"cpu": "1"}}],
    "pod": [{"type": "Pod", "max": {"cpu": "4", "memory": "4Gi"}}],
    "ratio": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}],
    "least": [{"type": "Pod", "min": {"memory": "1Gi"}}],
}
SCOPES: list[dict[str, Any]] = [
    {"scopes": ["BestEffort"]},
    {"scopes": ["NotBestEffort"]},
    {"scopes": ["Terminating"]},
    {"scopes": ["NotTerminating"]},
    {"scopes": ["PriorityClass"]},
    *(
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", **expression}]}}
        for expression in (
            {"operator": "In", "values": ["high"]},
            {"operator": "NotIn", "values": ["high"]},
            {"operator": "Exists"},
            {"operator": "DoesNotExist"},
        )
    ),
]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_server_refuses_what_is_beyond_a_limit_range(own_api: Api, request: Any, sizes: list[Any]) -> None:
    """It refuses the pods of which FIT151 has a finding, and no others."""
    namespace = f"l{abs(hash(request.node.name))}"
    limits = _object("LimitRange", "l", namespace, {"limits": sizes})
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    own_api.create(limits)
    until("the account", lambda: own_api.find("v1", "ServiceAccount", "default", namespace), seconds=120)
    items = {name: _pod(namespace, pod) for name, pod in PODS.items()}

    known = {name: bool(findings("FIT151", item, limits)) for name, item in items.items()}

    assert known == {name: _is_refused(own_api, item, dryRun="All") for name, item in items.items()}


@pytest.mark.parametrize("scopes", SCOPES, ids=lambda scopes: str([*scopes.values()]))
def test_server_counts_the_pods_of_a_scope(own_api: Api, request: Any, scopes: dict[str, Any]) -> None:
    """A ResourceQuota without room refuses the pods of which FIT132 has a finding, and no others."""
    namespace = f"s{abs(hash(request.node.name))}"
    quota = _object("ResourceQuota", "q", namespace, {"hard": {"pods": "0"}, **scopes})
    if not own_api.find("scheduling.k8s.io/v1", "PriorityClass", "high"):
        meta = {"apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": "high"}}
        own_api.create({**meta, "kind": "PriorityClass", "value": 1000})
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    own_api.create(quota)
    account = ("v1", "ServiceAccount", "default", namespace)
    until("the namespace", lambda: own_api.find(*account) and _status(own_api, namespace), seconds=120)
    items = [_pod(namespace, PODS[name]) for name in ("chips", "both", "limits")]
    for more in ({"activeDeadlineSeconds": 9}, {"priorityClassName": "high"}):
        items += [{**item, "spec": {**item["spec"], **more}} for item in items[:2]]

    known = [bool(findings("FIT132", item, quota)) for item in items]

    assert known == [_is_refused(own_api, item, dryRun="All") for item in items]


def _status(api: Api, namespace: str) -> dict[str, Any]:
    status: dict[str, Any] = api.get("v1", "ResourceQuota", "q", namespace).get("status", {})
    return status if "used" in status else {}


def _is_refused(api: Api, item: Object, **options: str) -> bool:
    try:
        api.create(item, **options)
    except ApiError as error:
        if error.code != HTTPStatus.FORBIDDEN:
            raise
        return True
    return False


@pytest.mark.parametrize(
    "containers", [[{}], [{"limits": {"cpu": "3"}}], [BOTH, {}]], ids=["none", "limit", "two"]
)
def test_kueue_counts_default_requests(own_api: Api, request: Any, containers: list[dict[str, Any]]) -> None:
    """It counts what FIT rules count: the request, else the default request, else the limit."""
    name = f"k{abs(hash(request.node.name))}"
    defaults = [{"type": "Container", "default": CPU, "defaultRequest": {"cpu": "1", "memory": "512Mi"}}]
    limits = _object("LimitRange", "l", name, {"limits": defaults})
    quota = [{"name": resource, "nominalQuota": "1000Gi"} for resource in ("cpu", "memory")]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": quota}]}
    template = {"spec": {**_pod(name, containers)["spec"], "restartPolicy": "Never"}}
    job = _object("Job", "j", name, {"suspend": True, "template": template}) | {"apiVersion": "batch/v1"}
    job["metadata"]["labels"] = {QUEUE: "q"}
    own_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    own_api.create(limits)
    own_api.create(kueue("ResourceFlavor", name, {}))
    own_api.create(kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]}))
    local = kueue("LocalQueue", "q", {"clusterQueue": name})
    own_api.create({**local, "metadata": {"name": "q", "namespace": name}})
    own_api.create(job)

    def admitted() -> dict[str, Any] | None:
        found = own_api.list(KUEUE_VERSION, "Workload", name)
        sets = [one.get("status", {}).get("admission", {}).get("podSetAssignments") for one in found]
        return sets[0][0]["resourceUsage"] if sets and sets[0] else None

    counted = amounts(until("the admission", admitted, seconds=120))

    known = object_set(job, limits)
    (pods,) = pod_sets(known.all[0], known)
    assert counted == {resource: value for resource, value in pods.requests.items() if resource != "pods"}
