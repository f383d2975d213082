"""Rules of NetworkPolicies that cut the hosts of a run apart."""

from collections.abc import Iterator, Mapping
from typing import Any

from slicewright.check.rules.tpu_shape import shape
from slicewright.kubernetes.fields import at, entries, mapping, number, texts
from slicewright.kubernetes.kinds import NAMESPACED_KINDS, RUN_OF
from slicewright.kubernetes.labels import JOB_NAME, NAMESPACE_NAME, REPLICATED_JOB
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.scheduler import Requirement, requirement
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_PORT = 8471
"""The port over which libtpu of one host reaches that of another."""
_DNS, _DNS_NAMESPACE = 53, "kube-system"
_NAMES = "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}"
_WAYS = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))


def labels_of(resource: Resource, pods: Pods) -> dict[str, str]:
    """Return the labels of pods, with those of their controllers."""
    own = dict(pods.labels)
    if resource.kind in RUN_OF:
        own[RUN_OF[resource.kind].pod_label] = resource.name
    if resource.kind == "JobSet":
        own[REPLICATED_JOB] = pods.name
    if resource.kind == "Job":
        own |= {"job-name": resource.name, JOB_NAME: resource.name}
    return own


def selects(selector: object, labels: Mapping[str, str], group: str = "") -> bool:
    """Tell whether a selector selects an object, or may where the controller of a group adds labels."""
    maker, own = group.partition(".")[0], texts(at(selector, "matchLabels"))
    expressions = [requirement(one) for _, one in entries(at(selector, "matchExpressions"))]
    expressions += [Requirement(key, "In", (value,)) for key, value in own.items()]
    keys = {one.key for one in expressions if one.key not in labels}
    unknown = {key for key in keys if maker and maker in key.partition("/")[0]}
    return all(one.key in unknown or one.accepts(labels.get(one.key)) for one in expressions)


def _of_namespace(selector: dict[str, Any], namespace: str) -> bool:
    """Tell whether a selector may select the namespace; of its labels only the name is known."""
    keys = {*texts(selector.get("matchLabels"))}
    keys |= {str(one.get("key")) for _, one in entries(selector.get("matchExpressions"))}
    return not keys <= {NAMESPACE_NAME} or selects(selector, {NAMESPACE_NAME: namespace})


def _lets(entry: dict[str, Any], peers: str, labels: Mapping[str, str], resource: Resource) -> bool:
    """Tell whether a rule of a policy lets the pods of a run reach each other."""
    ports = [port for _, port in entries(entry.get("ports"))]
    if ports and not any(_is_open(port) for port in ports):
        return False
    listed = [peer for _, peer in entries(entry.get(peers))]
    return not listed or any(
        "ipBlock" in peer
        or (
            selects(peer.get("podSelector"), labels, resource.group)
            and (
                "namespaceSelector" not in peer
                or _of_namespace(mapping(peer["namespaceSelector"]), resource.namespace or "default")
            )
        )
        for peer in listed
    )


def _resolves(entry: dict[str, Any]) -> bool:
    """Tell whether a rule of a policy lets pods reach the DNS of the cluster."""
    ports = [port for _, port in entries(entry.get("ports"))]
    peers = [peer for _, peer in entries(entry.get("to"))]
    spaces = (mapping(peer["namespaceSelector"]) for peer in peers if "namespaceSelector" in peer)
    is_peer = not peers or any("ipBlock" in peer for peer in peers)
    is_peer |= any(_of_namespace(space, _DNS_NAMESPACE) for space in spaces)
    return is_peer and (not ports or any(_is_open(port, _DNS, "UDP") for port in ports))


def _is_open(port: dict[str, Any], wanted: int = _PORT, protocol: str = "TCP") -> bool:
    """Tell whether an entry of `ports` may contain a port, by default libtpu's; a named port may be any."""
    first = port.get("port")
    last = number(port.get("endPort"), number(first))
    is_in = not isinstance(first, int) or first <= wanted <= (last or first)
    return port.get("protocol", "TCP") == protocol and is_in


def _policies(resource: Resource, pods: Pods, objects: ObjectSet) -> Iterator[tuple[Resource, str, str]]:
    """Yield the first policy of each direction in which no policy lets the pods reach each other.

    Without peers, they can reach each other, but not the DNS.
    """
    namespace, labels = resource.namespace or "default", labels_of(resource, pods)
    own = [
        policy
        for policy in objects.of_kind("NetworkPolicy")
        if (policy.namespace or "default") == namespace
        and policy.group == "networking.k8s.io"
        and selects(at(policy.data, "spec", "podSelector"), labels)
    ]
    for direction, key, peers in _WAYS:
        isolating = [policy for policy in own if direction in _types(policy)]
        rules = [entry for policy in isolating for _, entry in entries(at(policy.data, "spec", key))]
        if isolating and not any(_lets(entry, peers, labels, resource) for entry in rules):
            yield isolating[0], key, peers
        elif isolating and key == "egress" and not any(map(_resolves, rules)):
            yield isolating[0], key, ""


def _types(policy: Resource) -> list[str]:
    written = at(policy.data, "spec", "policyTypes")
    if isinstance(written, list) and written:
        return written
    return ["Ingress", "Egress"] if at(policy.data, "spec", "egress") else ["Ingress"]


@rule("REF169", NAMESPACED_KINDS, "warning")
def _apart(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        row = shape(pods, objects)
        is_slice = row is not None and (row.multi_host or pods.slices > 1)
        if not is_slice or not pods.asks_for_tpu or pods.spec.get("hostNetwork") is True:
            continue
        for policy, key, peers in _policies(resource, pods, objects):
            message = f"NetworkPolicy '{policy.name}' of {policy.file} does not let the hosts of the slice "
            message += f"reach each other ({key})" if peers else "resolve the names of each other (DNS)"
            hint = f"add to its spec.{key}: {{{peers}: [{{podSelector: {{}}}}]}}"
            if key == "egress":
                hint = f"{hint}, and for DNS {_NAMES}" if peers else f"add to its spec.egress: {_NAMES}"
            yield Finding(pods.spec_path, message, hint)
