"""Queues with flavors, and workloads that ask for them, as chance would have them; a seed draws the same."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from slicewright.kubernetes.types import Object
from slicewright.testbed.nodes import SIMULATED

TPU = "google.com/tpu"
RESOURCES = (TPU, "cpu", "memory", "example.com/link", "pods")
KEYS = {"example.com/kind": "ab", "example.com/spot": "ab", "example.com/size": "159"}
"""Labels of nodes with the values that they have; sizes are numbers."""
TAINTS = ("example.com/held", "example.com/team")
TOPOLOGIES = {"wide": ("example.com/block", "example.com/rack"), "flat": ("example.com/rack",)}
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_ASK = "kueue.x-k8s.io/podset-"


@dataclass
class Drawn:
    """Objects of Kueue, nodes for what has a topology, and one JobSet for each queue named `q...`."""

    platform: list[Object] = field(default_factory=list)
    nodes: list[Object] = field(default_factory=list)
    jobsets: list[Object] = field(default_factory=list)


def draw(seed: int, queues: int) -> Drawn:
    """Draw so many queues, each with a workload; those that give quota to them come on top."""
    random = Random(seed)  # noqa: S311 - the same numbers each time
    found = Drawn()
    for name, levels in TOPOLOGIES.items():
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        found.platform.append(_kueue("Topology", name, spec))
    for number in range(queues):
        _queue(random, f"q{number}", found)
    return found


def _kueue(kind: str, name: str, spec: Object, **metadata: str) -> Object:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def _chance(random: Random, one_of: int) -> bool:
    return random.randrange(one_of) == 0


def _queue(random: Random, name: str, found: Drawn) -> None:
    topologies = random.choice(["none", "none", "none", "some", "all"])
    resources = random.sample(RESOURCES, random.randint(1, 4))
    cut = random.randint(0, len(resources) - 1)
    groups = []
    for number, covered in enumerate(part for part in (resources[:cut], resources[cut:]) if part):
        flavors = [f"{name}-{number}{letter}" for letter in "abcd"[: random.randint(1, 4)]]
        for flavor in flavors:
            _flavor(random, flavor, found, topologies)
        groups.append((covered, flavors))
    spec: Object = {"namespaceSelector": {}}
    if _chance(random, 2):
        spec["flavorFungibility"] = _fungibility(random)
    parent = ""
    if _chance(random, 2):
        parent = _cohort(random, f"{name}-top", "", groups, found)
        if _chance(random, 2):
            parent = _cohort(random, f"{name}-mid", parent, groups, found)
        for giver in range(random.randint(0, 2)):
            lender = {"namespaceSelector": {}, "resourceGroups": _groups(random, groups, limits=True)}
            found.platform.append(
                _kueue("ClusterQueue", f"{name}-giver{giver}", {**lender, "cohortName": parent})
            )
        spec["cohortName"] = parent
    spec["resourceGroups"] = _groups(random, groups, limits=bool(parent))
    found.platform.append(_kueue("ClusterQueue", name, spec))
    found.platform.append(_kueue("LocalQueue", name, {"clusterQueue": name}, namespace="default"))
    found.jobsets.append(_jobset(random, name, resources, topologies))


def _fungibility(random: Random) -> Object:
    borrow, preempt = (random.choice(["MayStopSearch", "TryNextFlavor"]) for _ in range(2))
    found = {"whenCanBorrow": borrow, "whenCanPreempt": preempt}
    if borrow == preempt == "TryNextFlavor" and _chance(random, 2):
        found["preference"] = random.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
    return found


def _cohort(random: Random, name: str, parent: str, groups: Any, found: Drawn) -> str:
    spec: Object = {"parentName": parent} if parent else {}
    if _chance(random, 2):
        spec["resourceGroups"] = _groups(random, groups, limits=bool(parent))
    found.platform.append(_kueue("Cohort", name, spec))
    return name


def _groups(random: Random, groups: list[tuple[list[str], list[str]]], *, limits: bool) -> list[Object]:
    return [
        {
            "coveredResources": covered,
            "flavors": [
                {"name": flavor, "resources": [_quota(random, name, limits=limits) for name in covered]}
                for flavor in flavors
            ],
        }
        for covered, flavors in groups
    ]


def _quota(random: Random, resource: str, *, limits: bool) -> Object:
    nominal = random.randint(0, 16)
    found = {"name": resource, "nominalQuota": nominal}
    if limits and _chance(random, 3):
        found["borrowingLimit"] = random.randint(0, 8)
    if limits and _chance(random, 3):
        found["lendingLimit"] = random.randint(0, nominal)
    return {key: value if key == "name" else str(value) for key, value in found.items()}


def _flavor(random: Random, name: str, found: Drawn, topologies: str) -> None:
    topology = (
        random.choice([*TOPOLOGIES]) if topologies == "all" or _two_of_three(random, topologies) else ""
    )
    keys = random.sample([*KEYS], random.randint(1 if topology else 0, len(KEYS)))
    spec: Object = {"nodeLabels": {key: random.choice(KEYS[key]) for key in keys}}
    if _chance(random, 3):
        spec["nodeTaints"] = [_taint(random, key) for key in random.sample(TAINTS, random.randint(1, 2))]
    if _chance(random, 3):
        spec["tolerations"] = [_toleration(random)]
    if topology:
        spec["topologyName"] = topology
        # Flavors of other queues with the same labels have the same nodes: there is room for all.
        levels = dict.fromkeys(TOPOLOGIES[topology], name)
        found.nodes.append(_node(name, {**spec["nodeLabels"], **levels}))
    found.platform.append(_kueue("ResourceFlavor", name, spec))


def _two_of_three(random: Random, topologies: str) -> bool:
    return topologies == "some" and not _chance(random, 3)


def _taint(random: Random, key: str) -> Object:
    effect = random.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    return {"key": key, "value": random.choice(["1", "2", ""]), "effect": effect}


def _toleration(random: Random) -> Object:
    found: Object = {"operator": random.choice(["Exists", "Equal"])}
    if found["operator"] == "Equal" or not _chance(random, 4):
        found["key"] = random.choice(TAINTS)
    if found["operator"] == "Equal":
        found["value"] = random.choice(["1", "2"])
    if _chance(random, 2):
        found["effect"] = random.choice(["NoSchedule", "NoExecute"])
    return found


def _node(name: str, labels: dict[str, str]) -> Object:
    room = dict.fromkeys(RESOURCES, "100000")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, SIMULATED: "true"}},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _jobset(random: Random, name: str, covered: list[str], topologies: str) -> Object:
    sets = random.choice([1, 1, 2, 3])
    asks = topologies != "none" and not _chance(random, 3)
    jobs = [
        _replicated(random, f"s{index}", covered, asks=asks and not _chance(random, 5))
        for index in range(sets)
    ]
    if asks and sets == len(("leader", "workers")) and _chance(random, 2):
        _group(random, jobs)
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": name}},
        "spec": {"replicatedJobs": jobs},
    }


def _group(random: Random, jobs: list[Object]) -> None:
    """Make a topology group of two pod sets: one pod leads the others, at the same level."""
    level = {f"{_ASK}{random.choice(['required', 'preferred'])}-topology": "example.com/rack"}
    for job in jobs:
        job["template"]["spec"]["template"]["metadata"] = {"annotations": {**level, f"{_ASK}group-name": "g"}}
    jobs[0]["replicas"] = 1
    jobs[0]["template"]["spec"] |= {"parallelism": 1, "completions": 1}


def _replicated(random: Random, name: str, covered: list[str], *, asks: bool) -> Object:
    pods = random.randint(1, 3)
    template: Object = {"spec": _pod_spec(random, covered)}
    if asks:
        level = random.choice(["example.com/block", "example.com/rack", "example.com/rack"])
        way = random.choice(["required", "preferred", "unconstrained"])
        template["metadata"] = {
            "annotations": {f"{_ASK}{way}-topology": "true" if way == "unconstrained" else level}
        }
    job = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"name": name, "replicas": random.randint(1, 2), "template": {"spec": job}}


def _pod_spec(random: Random, covered: list[str]) -> Object:
    wanted = [name for name in covered if name != "pods" and not _chance(random, 4)]
    requests = {name: str(random.randint(0 if _chance(random, 4) else 1, 3)) for name in wanted}
    if _chance(random, 15):
        requests["example.com/other"] = random.choice(["0", "1"])
    spec: Object = {
        "restartPolicy": "Never",
        "containers": [
            {"name": "main", "image": "x", "resources": {"requests": requests, "limits": requests}}
        ],
    }
    if _chance(random, 3):
        key = random.choice([*KEYS])
        spec["nodeSelector"] = {key: random.choice(KEYS[key]), "example.com/zone": "any"}
    if _chance(random, 3):
        terms = [
            {"matchExpressions": [_expression(random) for _ in range(random.randint(1, 2))]}
            for _ in range(random.randint(1, 2))
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if _chance(random, 2):
        spec["tolerations"] = [_toleration(random) for _ in range(random.randint(1, 2))]
    return spec


def _expression(random: Random) -> Object:
    operator = random.choice(_OPERATORS)
    key = "example.com/size" if operator in ("Gt", "Lt") else random.choice([*KEYS, "example.com/zone"])
    values = KEYS.get(key, "xy")
    found: Object = {"key": key, "operator": operator}
    if operator in ("Gt", "Lt"):
        found["values"] = [random.choice("0357")]
    elif operator in ("In", "NotIn"):
        found["values"] = random.sample(values, random.randint(1, 2))
    return found
