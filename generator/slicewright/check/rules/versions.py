"""Rules of versions: what the release of Kueue or JobSet that a tree installs does not know."""

import re
from collections.abc import Iterator

from slicewright.catalogue.shape import version_numbers
from slicewright.check.kueue_conversion import to_v1beta2
from slicewright.kubernetes.fields import entries, mapping, text, texts, words
from slicewright.kubernetes.kinds import EACH, KUEUE_GROUP, V1BETA2_SINCE, Way
from slicewright.kubernetes.pods import along
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

Version = tuple[int, ...]
_NAMES = ("kueue", "jobset")
_PINNED = re.compile(
    r"(?<![\w.-])(kueue|jobset)(?:\.git)?(?:/releases/download/|(?:/[^?#\s]*)?\?ref=|(?:/[^\s:]*)?:)"
    r"(v[0-9]+\.[0-9]+\.[0-9]+)"
)
"""A release in the address of its manifests, of a remote base, and in the name of its image.

An add-on (`kueue-addon`, `tekton-kueue`) has releases of its own.
"""
_SERVED = {"v1beta1": ((0, 0), (0, 20)), "v1beta2": (V1BETA2_SINCE, (99,))}
"""The releases of Kueue that serve a version of its API: the first, and the first that does not."""
_KINDS = frozenset(
    {
        *("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig"),
        *("ProvisioningRequestConfig", "ResourceFlavor", "Topology", "Workload", "WorkloadPriorityClass"),
    }
)
_SINCE: dict[Way, Version] = {
    ("spec", "replicatedJobs", EACH, "dependsOn"): (0, 8),
    ("spec", "coordinator"): (0, 6),
    ("spec", "failurePolicy", "restartStrategy"): (0, 7),
    ("spec", "volumeClaimPolicies"): (0, 11),
    ("spec", "failurePolicy", "rules"): (0, 6),
    ("spec", "failurePolicy", "rules", EACH, "onJobFailureMessagePatterns"): (0, 10),
    ("spec", "replicatedJobs", EACH, "groupName"): (0, 9),
}
"""Fields of JobSet, and the first release that has them."""


def pinned(objects: ObjectSet, name: str) -> tuple[Version, ...]:
    """Return the releases of a controller that are installed, by the TPUCluster or the manifests around."""
    return objects.once("versions of controllers", _read).get(name, ())


def _read(objects: ObjectSet) -> dict[str, tuple[Version, ...]]:
    if objects.site is not None:
        pins = texts(objects.site.cluster.spec.get("versions"))
        return {name: (version_numbers(pins[name]),) for name in _NAMES if name in pins}
    versions: dict[str, set[Version]] = {name: set() for name in _NAMES}
    for resource in objects.all:
        for word in _addresses(resource):
            for name, version in _PINNED.findall(word):
                versions[name].add(version_numbers(version))
    return {name: tuple(sorted(releases)) for name, releases in versions.items()}


def _addresses(resource: Resource) -> Iterator[str]:
    """Yield what an object says of where manifests and images come from."""
    if resource.kind in ("Kustomization", "Component"):
        yield from (word for key in ("resources", "bases") for _, word in words(resource.data.get(key)))
    elif resource.kind == "Deployment":
        yield from (text(container.get("image")) for _, container in resource.containers)
    elif resource.kind == "Application":
        spec = mapping(resource.data.get("spec"))
        for source in (mapping(spec.get("source")), *(entry for _, entry in entries(spec.get("sources")))):
            version = text(source.get("targetRevision"))
            yield f"{text(source.get('chart'))}:{version if version.startswith('v') else f'v{version}'}"


def _shown(version: Version) -> str:
    return ".".join(map(str, version))


@rule("KQ157", _KINDS)
def _unserved(resource: Resource, objects: ObjectSet) -> Findings:
    if resource.group != KUEUE_GROUP or resource.version not in _SERVED:
        return
    first, end = _SERVED[resource.version]
    releases = pinned(objects, "kueue")
    if releases and not any(first <= release < end for release in releases):
        message = f"Kueue {_shown(releases[-1])} does not serve {KUEUE_GROUP}/{resource.version}"
        other = "v1beta2" if resource.version == "v1beta1" else "v1beta1"
        fix = to_v1beta2(resource.data) if other == "v1beta2" else None
        yield Finding(("apiVersion",), message, f"write {KUEUE_GROUP}/{other}", fix)


@rule("JS132", {"JobSet"})
def _newer_fields(resource: Resource, objects: ObjectSet) -> Findings:
    releases = pinned(objects, "jobset")
    if releases:
        for way, since in _SINCE.items():
            if all(release < since for release in releases):
                for path in (path for path, steps in along(way, resource.data) if steps[-1] is not None):
                    message = f"JobSet {_shown(releases[-1])} does not know {path[-1]} and drops it"
                    yield Finding(path, message, f"install JobSet {_shown(since)} or later")
