"""What Kueue's webhooks and CEL rules refuse about ClusterQueues and Cohorts, and what makes them useless."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from slicewright.check.rules.dns import is_label_key
from slicewright.document import edit as edits
from slicewright.document.edit import fix_of_choice
from slicewright.kubernetes.fields import at, entries, mapping, sequence, text, words
from slicewright.kubernetes.labels import PROVISIONING_CONTROLLER, QUEUED_CLASS
from slicewright.kubernetes.problem import Path, did_you_mean
from slicewright.kubernetes.quantity import amount, plain
from slicewright.kueue import quota_read
from slicewright.kueue.quota_read import configuration, parent_of, variants
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule
from slicewright.rendering.platform.flavor import capacities, queued

_QUOTAS = frozenset({"ClusterQueue", "Cohort"})
_QUEUES = frozenset({"ClusterQueue"})
_GROUPS: Path = ("spec", "resourceGroups")
_CHECKS: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
_ZERO = Fraction(0)
_SMALLEST_WEIGHT = Fraction(1, 10**9)
_MOST_FLAVORS = 256
_MOST_COMBINATIONS = 512


def groups(resource: Resource) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the resource groups of a queue or cohort with their paths."""
    for index, group in entries(at(resource.data, *_GROUPS)):
        yield (*_GROUPS, index), group


def quotas(resource: Resource) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield (path, flavor, quota of one resource) of a queue or cohort."""
    for path, group in groups(resource):
        for index, flavor in entries(group.get("flavors")):
            for place, quota in entries(flavor.get("resources")):
                yield (*path, "flavors", index, "resources", place), text(flavor.get("name")), quota


def flavor_names(resource: Resource) -> set[str]:
    """Return the names of the flavors of a queue or cohort."""
    flavors = (flavor for _, group in groups(resource) for _, flavor in entries(group.get("flavors")))
    return {text(flavor.get("name")) for flavor in flavors}


def checks(queue: Resource) -> Iterator[tuple[Path, str, list[Any]]]:
    """Yield path, name and flavors (none: all) of the admission checks of a ClusterQueue."""
    for index, name in words(at(queue.data, "spec", "admissionChecks")):
        yield ("spec", "admissionChecks", index), name, []
    for index, check in entries(at(queue.data, *_CHECKS)):
        yield (*_CHECKS, index), text(check.get("name")), sequence(check.get("onFlavors"))


@once
def queued_flavors(objects: ObjectSet) -> dict[str, set[str]]:
    """Return, by ClusterQueue, its flavors whose nodes Kueue requests from GKE with a ProvisioningRequest."""
    if objects.site is not None and not objects.of_kind("ClusterQueue"):
        flavors = set(queued(capacities(objects.site).values()))
        return {queue.name: flavors for queue in objects.site.cluster.cluster_queues}
    configs = {
        config.name
        for config in objects.of_kind("ProvisioningRequestConfig")
        if at(config.data, "spec", "provisioningClassName") == QUEUED_CLASS
    }
    requesting = {
        check.name
        for check in objects.of_kind("AdmissionCheck")
        if at(check.data, "spec", "controllerName") == PROVISIONING_CONTROLLER
        and text(at(check.data, "spec", "parameters", "name")) in configs
    }
    by_queue: dict[str, set[str]] = defaultdict(set)
    for queue in objects.of_kind("ClusterQueue"):
        for _, name, only in checks(queue):
            if name in requesting:
                by_queue[queue.name] |= set(map(text, only)) or flavor_names(queue)
    return by_queue


def _names(flavor: dict[str, Any]) -> list[str]:
    return [text(quota.get("name")) for _, quota in entries(flavor.get("resources"))]


@rule("KQ101", _QUOTAS, says=("flavors must have the same number of resources as the coveredResources",))
def _order(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, group in groups(resource):
        covered = [word for _, word in words(group.get("coveredResources"))]
        for index, flavor in entries(group.get("flavors")):
            names = _names(flavor)
            if names != covered:
                message = (
                    f"flavor '{flavor.get('name')}' lists {', '.join(names) or 'nothing'}, "
                    f"but coveredResources is {', '.join(covered) or 'empty'}"
                )
                # The order of the flavors is taken where all of them agree.
                orders = {tuple(_names(flavor)) for _, flavor in entries(group.get("flavors"))}
                fix = None
                if len(orders) == 1 and sorted(names) == sorted(covered):
                    fix = edits.write(resource.data, {(*path, "coveredResources"): names})
                yield Finding((*path, "flavors", index, "resources"), message, fix=fix)


@rule("KQ102", _QUOTAS)
def _once(resource: Resource, _objects: ObjectSet) -> Findings:
    resources: set[str] = set()
    flavors: dict[str, int] = {}
    for at_group, (path, group) in enumerate(groups(resource)):
        for index, name in words(group.get("coveredResources")):
            if name in resources:
                yield Finding((*path, "coveredResources", index), f"resource '{name}' is covered twice")
            resources.add(name)
        for index, flavor in entries(group.get("flavors")):
            name = text(flavor.get("name"))
            if flavors.setdefault(name, at_group) != at_group:
                yield Finding((*path, "flavors", index, "name"), f"flavor '{name}' is in two resource groups")


@rule("KQ103", _QUOTAS, says=("borrowingLimit must be nil when cohort is empty",))
def _limits(resource: Resource, _objects: ObjectSet) -> Findings:
    if parent_of(resource):
        return
    needed = "parentName" if resource.kind == "Cohort" else "cohortName"
    for where, _, quota in quotas(resource):
        for key in ("borrowingLimit", "lendingLimit"):
            if quota.get(key) is not None:
                yield Finding((*where, key), f"{key} needs {needed}", f"add {needed}, or remove the limit")


@rule("KQ104", _QUEUES)
def _lending(resource: Resource, _objects: ObjectSet) -> Findings:
    for where, _, quota in quotas(resource):
        lend, nominal = amount(quota.get("lendingLimit")), amount(quota.get("nominalQuota"))
        if lend is not None and nominal is not None and lend > nominal:
            limit = f"lendingLimit {quota['lendingLimit']} of {quota.get('name')}"
            message = f"{limit} is above nominalQuota {quota['nominalQuota']}"
            path: Path = (*where, "lendingLimit")
            fix = edits.write(resource.data, {path: quota["nominalQuota"]}, safe=False)
            yield Finding(path, message, fix=fix)


@rule("KQ105", _QUOTAS)
def _negative(resource: Resource, _objects: ObjectSet) -> Findings:
    for where, _, quota in quotas(resource):
        for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            if (amount(quota.get(key)) or 0) < 0:
                yield Finding((*where, key), f"{key} is {quota[key]}, but must be 0 or more")
    path = ("spec", "fairSharing", "weight")
    weight = amount(at(resource.data, *path)) or 0
    if weight < 0 or 0 < weight <= _SMALLEST_WEIGHT:
        message = f"weight is {at(resource.data, *path)}, but must be 0, or more than 1n"
        yield Finding(path, message, "write 0, or more than 1n")


@rule("KQ106", _QUOTAS)
def _resource_names(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, group in groups(resource):
        for index, name in words(group.get("coveredResources")):
            if not is_label_key(name):
                message = f"'{name}' is not a valid resource name"
                yield Finding((*path, "coveredResources", index), message)


@rule("KQ107", _QUEUES)
def _sizes(resource: Resource, _objects: ObjectSet) -> Findings:
    total, covered = 0, 0
    for path, group in groups(resource):
        flavors = sequence(group.get("flavors"))
        total += len(flavors)
        covered += len(sequence(group.get("coveredResources")))
        combinations = sum(len(sequence(mapping(flavor).get("resources"))) for flavor in flavors)
        if combinations > _MOST_COMBINATIONS:
            message = f"the group has {combinations} pairs of flavor and resource; "
            message += f"the limit is {_MOST_COMBINATIONS}"
            yield Finding(path, message)
    for number, noun in ((total, "flavors"), (covered, "covered resources")):
        if number > _MOST_FLAVORS:
            yield Finding(
                _GROUPS, f"the resource groups have {number} {noun} in total; the limit is {_MOST_FLAVORS}"
            )


@rule("KQ108", _QUEUES, says=("reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",))
def _preemption(resource: Resource, _objects: ObjectSet) -> Findings:
    preemption = mapping(at(resource.data, "spec", "preemption"))
    policy = at(preemption, "borrowWithinCohort", "policy")
    if policy not in (None, "Never") and preemption.get("reclaimWithinCohort", "Never") == "Never":
        message = "borrowWithinCohort allows preemption, but reclaimWithinCohort is Never"
        yield Finding(("spec", "preemption", "borrowWithinCohort"), message)


@rule(
    "KQ109",
    _QUEUES,
    says=("preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",),
)
def _fungibility(resource: Resource, _objects: ObjectSet) -> Findings:
    fungibility = mapping(at(resource.data, "spec", "flavorFungibility"))
    borrow = fungibility.get("whenCanBorrow", "MayStopSearch")
    preempt = fungibility.get("whenCanPreempt", "TryNextFlavor")
    if fungibility.get("preference") is not None and not borrow == preempt == "TryNextFlavor":
        path = ("spec", "flavorFungibility", "preference")
        fix = edits.remove(path, safe=False)
        yield Finding(
            path, "preference can be set only if whenCanBorrow and whenCanPreempt are TryNextFlavor", fix=fix
        )


@rule("KQ110", _QUEUES)
def _on_flavors(resource: Resource, _objects: ObjectSet) -> Findings:
    known = flavor_names(resource)
    for check, _, flavors in checks(resource):
        for index, name in words(flavors):
            if name not in known:
                path = (*check, "onFlavors", index)
                message, fix = f"flavor '{name}' is not in this queue", fix_of_choice(name, known, path)
                yield Finding(path, message, did_you_mean(name, known), fix)


@rule("KQ111", _QUEUES, "warning")
def _selector(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "namespaceSelector") is None:
        message = "the queue admits nothing: without namespaceSelector it selects no namespace"
        fix = edits.write(resource.data, {("spec", "namespaceSelector"): {}}, safe=False)
        yield Finding(("spec",), message, fix=fix)


def _shares_fairly(objects: ObjectSet) -> bool:
    """Tell whether fair sharing is on in Kueue's configuration."""
    sharing = configuration(objects).get("fairSharing")
    return isinstance(sharing, dict) and sharing.get("enable") is not False


@rule("KQ179", _QUEUES, "warning")
def _unfair(resource: Resource, objects: ObjectSet) -> Findings:
    path: Path = ("spec", "preemption", "borrowWithinCohort")
    if _shares_fairly(objects) and at(resource.data, *path, "policy") not in (None, "Never"):
        message = "borrowWithinCohort has no effect: fair sharing is on in Kueue's configuration"
        yield Finding(path, message, fix=edits.remove(path, safe=False))


@rule("KQ178", _QUEUES, "warning")
def _not_counted(resource: Resource, objects: ObjectSet) -> Findings:
    """Find quota of resources that Kueue excludes, and that no transformation adds."""
    settings = mapping(configuration(objects).get("resources"))
    left_out = tuple(prefix for _, prefix in words(settings.get("excludeResourcePrefixes")))
    transformations = (mapping(entry.get("outputs")) for _, entry in entries(settings.get("transformations")))
    made = set().union(*transformations)
    for path, group in groups(resource):
        for index, name in words(group.get("coveredResources")):
            if name.startswith(left_out) and name not in made:
                message = f"the quota of {name} limits nothing: Kueue's configuration excludes the resource"
                yield Finding((*path, "coveredResources", index), message)


@rule("KQ166", _QUOTAS, "warning")
def _weight(resource: Resource, objects: ObjectSet) -> Findings:
    site = objects.site
    path: Path = ("spec", "fairSharing", "weight")
    is_known = bool(configuration(objects)) or (site is not None and site.cluster.managed)
    if is_known and not _shares_fairly(objects) and at(resource.data, *path) is not None:
        hint = ""
        if site is not None and "kueue" not in site.cluster.spec:
            hint = f"write kueue: {{}} in {site.cluster.source.file.path}, which turns fair sharing on"
        yield Finding(path, "the weight has no effect: fair sharing is off in Kueue's configuration", hint)


@rule("KQ177", {"Cohort"}, "note")
def _counted_twice(resource: Resource, objects: ObjectSet) -> Findings:
    """Find a Cohort with the sum of its queues' quotas; QUOTA008 judges those of a TPUCluster."""
    if objects.is_platform(resource) or (resource.kind, resource.name) in variants(objects):
        return
    known = quota_read.quotas(objects)
    cells = [(path, flavor, text(entry.get("name")), entry) for path, flavor, entry in quotas(resource)]
    values = [amount(entry.get("nominalQuota")) for *_, entry in cells]
    sums = [known.subtrees((flavor, name)).get(resource.name) for _, flavor, name, _ in cells]
    if cells and all(value and total == 2 * value for value, total in zip(values, sums, strict=True)):
        path, flavor, name, entry = cells[0]
        message = (
            f"the Cohort has {entry['nominalQuota']} {name} of {flavor}, as many as its queues together: "
        )
        message += f"Kueue adds both, {plain(sums[0] or _ZERO)} in all"
        yield Finding((*path, "nominalQuota"), message)


@rule("KQ112", _QUEUES)
def _expressions(resource: Resource, _objects: ObjectSet) -> Findings:
    base = ("spec", "namespaceSelector", "matchExpressions")
    for index, expression in entries(at(resource.data, *base)):
        operator, values = expression.get("operator"), sequence(expression.get("values"))
        path = (*base, index)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield Finding((*path, "operator"), f"'{operator}' is not a valid operator of a label selector")
        elif (operator in ("In", "NotIn")) != bool(values):
            yield Finding(
                (*path, "operator"), f"operator {operator} {'cannot have' if values else 'needs'} values"
            )
        if not is_label_key(text(expression.get("key"))):
            yield Finding((*path, "key"), f"'{expression.get('key')}' is not a valid label key")


def _cycles(objects: ObjectSet) -> dict[str, tuple[str, ...]]:
    """Return the cohorts in a cycle, each with the chain of parents that leads back to it."""
    parents = {
        cohort.name: parent_of(cohort)
        for cohort in objects.of_kind("Cohort")
        if (cohort.kind, cohort.name) not in variants(objects)
    }
    cycles: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for first in parents:
        way: dict[str, int] = {}
        name = first
        while name in parents and name not in seen:
            seen.add(name)
            way[name] = len(way)
            name = parents[name]
        if name in way:
            cycle = tuple(way)[way[name] :]
            cycles |= {name: (*cycle[place:], *cycle[:place], name) for place, name in enumerate(cycle)}
    return cycles


@rule("FIT107", {"Cohort"})
def _cycle(resource: Resource, objects: ObjectSet) -> Findings:
    way = objects.once("cycles of cohorts", _cycles).get(resource.name)
    if way is not None:
        path = ("spec", "parent" if resource.version == "v1alpha1" else "parentName")
        yield Finding(path, f"the cohorts form a cycle: {' -> '.join(way)}")
