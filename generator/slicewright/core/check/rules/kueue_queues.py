"""What Kueue's webhooks and CEL rules refuse about ClusterQueues and Cohorts, and what makes them useless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Rule
from slicewright.core.check.quota_read import parent_of
from slicewright.core.check.rules.dns import is_label_key
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text, words
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path

WEBHOOK = "kubernetes-sigs/kueue v0.19.2: pkg/webhooks/clusterqueue_webhook.go"
_CRD = "kubernetes-sigs/kueue v0.19.2: config/components/crd/bases/kueue.x-k8s.io_clusterqueues.yaml"
_QUOTAS = frozenset({"ClusterQueue", "Cohort"})
_QUEUES = frozenset({"ClusterQueue"})
_GROUPS: Path = ("spec", "resourceGroups")
_MOST_FLAVORS = 256
_MOST_COMBINATIONS = 512


def groups(resource: Resource) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the resource groups of a queue or cohort with their paths."""
    for index, group in entries(at(resource.data, *map(str, _GROUPS))):
        yield (*_GROUPS, index), group


def quotas(group: dict[str, Any], path: Path) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield (path, flavor, quota of one resource) of a resource group."""
    for index, flavor in entries(group.get("flavors")):
        for place, quota in entries(flavor.get("resources")):
            yield (*path, "flavors", index, "resources", place), text(flavor.get("name")), quota


def _order(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for path, group in groups(resource):
        covered = [word for _, word in words(group.get("coveredResources"))]
        for index, flavor in entries(group.get("flavors")):
            names = [text(quota.get("name")) for _, quota in entries(flavor.get("resources"))]
            if names != covered:
                message = (
                    f"flavor '{flavor.get('name')}' lists {', '.join(names) or 'nothing'}, "
                    f"and coveredResources is {', '.join(covered) or 'empty'}"
                )
                yield Finding((*path, "flavors", index, "resources"), message)


def _once(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    resources: set[str] = set()
    flavors: dict[str, int] = {}
    for at_group, (path, group) in enumerate(groups(resource)):
        for index, name in words(group.get("coveredResources")):
            if name in resources:
                message = f"resource '{name}' is covered twice"
                yield Finding((*path, "coveredResources", index), message)
            resources.add(name)
        for index, flavor in entries(group.get("flavors")):
            name = text(flavor.get("name"))
            if flavors.setdefault(name, at_group) != at_group:
                message = f"flavor '{name}' is in two resource groups"
                yield Finding((*path, "flavors", index, "name"), message)


def _limits(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if parent_of(resource):
        return
    needed = "parentName" if resource.kind == "Cohort" else "cohortName"
    for path, group in groups(resource):
        for where, _, quota in quotas(group, path):
            for key in ("borrowingLimit", "lendingLimit"):
                if quota.get(key) is not None:
                    yield Finding(
                        (*where, key), f"{key} without {needed}", f"add {needed}, or drop the limit"
                    )


def _lending(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for path, group in groups(resource):
        for where, _, quota in quotas(group, path):
            lend, nominal = amount(quota.get("lendingLimit")), amount(quota.get("nominalQuota"))
            if lend is not None and nominal is not None and lend > nominal:
                message = (
                    f"lendingLimit {quota['lendingLimit']} is above nominalQuota {quota['nominalQuota']}"
                )
                yield Finding((*where, "lendingLimit"), message)


def _negative(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for path, group in groups(resource):
        for where, _, quota in quotas(group, path):
            for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                found = amount(quota.get(key))
                if found is not None and found < 0:
                    yield Finding((*where, key), f"{key} is {quota[key]}")
    weight = amount(at(resource.data, "spec", "fairSharing", "weight"))
    smallest = amount("1n")
    if weight is not None and smallest is not None and (weight < 0 or 0 < weight <= smallest):
        message = f"weight {at(resource.data, 'spec', 'fairSharing', 'weight')} is negative or nearly nothing"
        yield Finding(("spec", "fairSharing", "weight"), message)


def _resource_names(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    for path, group in groups(resource):
        for index, name in words(group.get("coveredResources")):
            if not is_label_key(name):
                yield Finding(
                    (*path, "coveredResources", index), f"'{name}' is not a valid name of a resource"
                )


def _sizes(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    total, covered = 0, 0
    for path, group in groups(resource):
        flavors = sequence(group.get("flavors"))
        total += len(flavors)
        covered += len(sequence(group.get("coveredResources")))
        combinations = sum(len(sequence(mapping(flavor).get("resources"))) for flavor in flavors)
        if combinations > _MOST_COMBINATIONS:
            message = f"{combinations} pairs of flavor and resource, {_MOST_COMBINATIONS} at most"
            yield Finding(path, message)
    for found, what in ((total, "flavors"), (covered, "covered resources")):
        if found > _MOST_FLAVORS:
            yield Finding(_GROUPS, f"{found} {what} in all groups, {_MOST_FLAVORS} at most")


def _preemption(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    preemption = mapping(at(resource.data, "spec", "preemption"))
    policy = at(preemption, "borrowWithinCohort", "policy")
    if policy not in (None, "Never") and preemption.get("reclaimWithinCohort", "Never") == "Never":
        message = "borrowWithinCohort preempts, and reclaimWithinCohort is Never"
        yield Finding(("spec", "preemption", "borrowWithinCohort"), message)


def _fungibility(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    wanted = mapping(at(resource.data, "spec", "flavorFungibility"))
    if wanted.get("preference") is None:
        return
    borrow = wanted.get("whenCanBorrow", "MayStopSearch")
    preempt = wanted.get("whenCanPreempt", "TryNextFlavor")
    if (borrow, preempt) != ("TryNextFlavor", "TryNextFlavor"):
        path: Path = ("spec", "flavorFungibility", "preference")
        yield Finding(path, "preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor")


def _on_flavors(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    known = {
        text(flavor.get("name"))
        for _, group in groups(resource)
        for _, flavor in entries(group.get("flavors"))
    }
    base: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    for index, check in entries(at(resource.data, *map(str, base))):
        for place, name in words(check.get("onFlavors")):
            if name not in known:
                message = f"flavor '{name}' is not in this queue"
                yield Finding((*base, index, "onFlavors", place), message, did_you_mean(name, known))


def _selector(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    if at(resource.data, "spec", "namespaceSelector") is None:
        yield Finding(
            ("spec",), "the queue admits nothing: namespaceSelector matches no namespace when it is absent"
        )


def _expressions(resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    base: Path = ("spec", "namespaceSelector", "matchExpressions")
    for index, expression in entries(at(resource.data, *map(str, base))):
        operator, values = expression.get("operator"), sequence(expression.get("values"))
        path = (*base, index)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield Finding((*path, "operator"), f"'{operator}' is not a valid operator of a label selector")
        elif (operator in ("In", "NotIn")) != bool(values):
            yield Finding((*path, "operator"), f"{operator} with {'values' if values else 'no values'}")
        if not is_label_key(text(expression.get("key"))):
            yield Finding((*path, "key"), f"'{expression.get('key')}' is not a valid key of a label")


RULES = (
    Rule(
        id="KQ101",
        severity="error",
        title="A flavor does not list the covered resources in their order",
        why="Kueue's webhook compares them place by place and refuses any other order or number.",
        hint="list the same resources in the same order",
        kinds=_QUOTAS,
        check=_order,
        sources=(WEBHOOK, _CRD),
    ),
    Rule(
        id="KQ102",
        severity="error",
        title="A resource or a flavor is in two resource groups",
        why="Kueue's webhook refuses duplicates across groups.",
        hint="merge the groups, or make a flavor of its own",
        kinds=_QUOTAS,
        check=_once,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ103",
        severity="error",
        title="Borrowing or lending without a cohort",
        why="A CEL rule and the webhook refuse the limits where there is nobody to borrow from.",
        hint="add cohortName, or drop the limit",
        kinds=_QUOTAS,
        check=_limits,
        sources=(WEBHOOK, _CRD),
    ),
    Rule(
        id="KQ104",
        severity="error",
        title="A queue lends more than it has",
        why="Kueue's webhook refuses a lendingLimit above the nominalQuota.",
        hint="lower the lendingLimit",
        kinds=_QUEUES,
        check=_lending,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ105",
        severity="error",
        title="A quota or a weight is negative",
        why="Kueue's webhook refuses them, and weights of 1n or less too.",
        hint="write 0 or more",
        kinds=_QUOTAS,
        check=_negative,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ106",
        severity="error",
        title="A covered resource does not have a resource name",
        why="Kueue's webhook refuses what is not a valid qualified name.",
        hint="write cpu, memory or google.com/tpu",
        kinds=_QUOTAS,
        check=_resource_names,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ107",
        severity="error",
        title="A queue has more than 256 flavors or 512 quotas in a group",
        why="Kueue's webhook refuses more.",
        hint="split the queue",
        kinds=_QUEUES,
        check=_sizes,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ108",
        severity="error",
        title="borrowWithinCohort without reclaimWithinCohort",
        why="A CEL rule and the webhook refuse to preempt while borrowing where reclaiming is Never, the "
        "default.",
        hint="write reclaimWithinCohort: LowerPriority or Any",
        kinds=_QUEUES,
        check=_preemption,
        sources=(WEBHOOK, _CRD),
    ),
    Rule(
        id="KQ109",
        severity="error",
        title="A flavor preference does not take effect",
        why="A CEL rule and the webhook refuse preference unless whenCanBorrow and whenCanPreempt are "
        "TryNextFlavor; the default of whenCanBorrow is MayStopSearch.",
        hint="write whenCanBorrow: TryNextFlavor",
        kinds=_QUEUES,
        check=_fungibility,
        sources=(WEBHOOK, _CRD),
    ),
    Rule(
        id="KQ110",
        severity="error",
        title="Admission checks name flavors that the queue does not have",
        why="Kueue's webhook refuses onFlavors that the queue does not have.",
        hint="name flavors of this queue",
        kinds=_QUEUES,
        check=_on_flavors,
        sources=(WEBHOOK,),
    ),
    Rule(
        id="KQ111",
        severity="warning",
        title="A ClusterQueue does not select namespaces",
        why="Without namespaceSelector a queue matches no namespace, and every workload waits without a "
        "word.",
        hint="write namespaceSelector: {} to admit all namespaces",
        kinds=_QUEUES,
        check=_selector,
        sources=("kubernetes-sigs/kueue v0.19.2: apis/kueue/v1beta2/clusterqueue_types.go",),
    ),
    Rule(
        id="KQ112",
        severity="error",
        title="The namespace selector is malformed",
        why="Kueue's webhook refuses unknown operators, In without values and Exists with values.",
        hint="see the Kubernetes documentation, page Labels and Selectors",
        kinds=_QUEUES,
        check=_expressions,
        sources=(WEBHOOK,),
    ),
)
