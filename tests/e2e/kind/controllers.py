"""JobSet and Kueue in pods, as their releases install them, and simulated nodes kept apart from real ones."""

import http
from collections.abc import Iterable, Mapping

from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.testbed import control_plane, manifests, waiting
from slicewright.testbed.nodes import SIMULATED

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
DAEMON_SET = ("apps/v1", "DaemonSet")
KUEUE_CERTIFICATES = ("v1", "Secret", "kueue-webhook-server-cert", "kueue-system")
TOLERATION = {"key": CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}
OFF_SIMULATED_NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": SIMULATED, "operator": "DoesNotExist"}]}]
        }
    }
}

READY_SECONDS = 600
"""For images that come from a registry, and for Kueue, which looks for certificates less and less often."""


def install(api: Api, items: Iterable[Object], images: Mapping[str, str]) -> None:
    """Create the objects of JobSet and Kueue, and wait until their webhooks answer."""
    for batch in manifests.in_order([_on_real_nodes(item, images) for item in items]):
        api.each(api.create, batch)
    waiting.until("the certificates of Kueue", lambda: _certificates_made(api), seconds=READY_SECONDS)
    for pod in api.list("v1", "Pod", KUEUE_CERTIFICATES[-1]):
        # A kubelet looks after a changed pod at once, and else at its leisure: Kueue waits for the files.
        api.patch(pod, {"metadata": {"annotations": {"slicewright.dev/certificates": "made"}}})
    waiting.until("the webhooks of JobSet", lambda: control_plane.jobset_answers(api), seconds=READY_SECONDS)
    waiting.until("the webhooks of Kueue", lambda: control_plane.kueue_answers(api), seconds=READY_SECONDS)


def keep_daemons_off(api: Api) -> None:
    """Keep what runs on every node, such as kube-proxy, off the simulated ones, and wait until it runs.

    Those that run already are not replaced. Without kube-proxy's rules a controller would begin with a
    time-out of half a minute, so these are waited for as well.
    """
    pod = {"spec": {"affinity": OFF_SIMULATED_NODES}}
    change = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}, "template": pod}}
    for item in api.list(*DAEMON_SET):
        api.patch(item, change)
    waiting.until("the daemons of kind to run", lambda: _daemons_run(api), seconds=READY_SECONDS)
    waiting.until("the rules of kube-proxy", lambda: _rules_written(api), seconds=READY_SECONDS)


def _certificates_made(api: Api) -> bool:
    return bool(api.get(*KUEUE_CERTIFICATES).get("data", {}).get("tls.crt"))


def _daemons_run(api: Api) -> bool:
    states = [item.get("status", {}) for item in api.list(*DAEMON_SET)]
    return all(0 < state.get("desiredNumberScheduled", 0) == state.get("numberReady", 0) for state in states)


def _rules_written(api: Api) -> bool:
    proxies = api.list("v1", "Pod", "kube-system", labels="k8s-app=kube-proxy")
    paths = [f"/api/v1/namespaces/kube-system/pods/{pod['metadata']['name']}:10256" for pod in proxies]
    return all(api.raw("GET", f"{path}/proxy/healthz")[0] == http.HTTPStatus.OK for path in paths)


def reserve(api: Api) -> None:
    """Taint the real nodes as control planes usually are: pods that are to be simulated stay off them."""
    taint = {"key": CONTROL_PLANE, "effect": "NoSchedule"}
    for node in api.list("v1", "Node"):
        api.patch(node, {"spec": {"taints": [taint]}})


def _on_real_nodes(item: Object, images: Mapping[str, str]) -> Object:
    """Return an object of a release; its Deployment stays on real nodes, and pulls what is not there."""
    if item["kind"] != "Deployment":
        return item
    pod = item["spec"]["template"]["spec"]
    pod["affinity"] = {**pod.get("affinity", {}), **OFF_SIMULATED_NODES}
    pod["tolerations"] = [*pod.get("tolerations", ()), TOLERATION]
    for container in pod["containers"]:
        container["image"] = images.get(item["metadata"]["name"], container["image"])
        container["imagePullPolicy"] = "IfNotPresent"
    return item
