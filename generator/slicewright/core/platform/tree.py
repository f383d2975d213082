"""The files of a cluster's platform: overlays/<cluster>/_platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.write import write_documents
from slicewright.core.platform.checks import checks
from slicewright.core.platform.compute_classes import compute_classes
from slicewright.core.platform.flavor import flavors
from slicewright.core.platform.kueue_configuration import kueue_configuration
from slicewright.core.platform.priorities import priority_classes, topologies
from slicewright.core.platform.queues import cluster_queues, cohorts, local_queues
from slicewright.core.platform.teams import namespaces, team
from slicewright.core.run import header
from slicewright.core.run.listing import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.plan.site import Site
    from slicewright.core.platform.kueue import KubernetesObject

_KUEUE = ("versions", "pools", "mode", "cohorts", "clusterQueues")


def folder(cluster: str) -> str:
    """Return the folder of a cluster's platform."""
    return f"overlays/{cluster}/_platform"


def files(site: Site) -> dict[str, str]:
    """Return the files of a cluster's platform by path; none where the platform is not ours to make."""
    made: dict[str, str] = {}
    if not site.cluster.managed:
        return made
    for name, facts, objects in _parts(site):
        documents = list(objects)
        if documents:
            made[name] = header.live(_inputs(site, facts), write_documents(documents))
    if made:
        made[FILE_NAME] = listing("the platform in this folder", made)
    return {f"{folder(site.cluster.name)}/{name}": text for name, text in made.items()}


def objects(site: Site) -> list[KubernetesObject]:
    """Return the objects of a cluster's platform, also of one that is not ours to make."""
    return [item for _, _, found in _parts(site) for item in found]


def _parts(site: Site) -> Iterator[tuple[str, Any, Iterable[KubernetesObject]]]:
    """Yield each file's name, what of the TPUCluster it comes from, and its objects, in order of the list."""
    spec = site.cluster.spec

    def facts(*fields: str) -> dict[str, Any]:
        return {field: spec[field] for field in fields if field in spec}

    local = {queue["name"]: queue.get("localQueues", []) for queue in spec.get("clusterQueues", [])}
    yield "namespaces.yaml", {"localQueues": local, **facts("teams")}, namespaces(site)
    yield "priority-classes.yaml", facts("versions", "priorityClasses"), priority_classes(site)
    yield "topologies.yaml", facts("versions", "topologies"), topologies(site)
    yield "flavors.yaml", facts(*_KUEUE), flavors(site)
    yield "checks.yaml", facts(*_KUEUE, "admissionChecks", "provisioningRequestConfigs"), checks(site)
    yield "queues.yaml", facts(*_KUEUE), (*cohorts(site), *cluster_queues(site))
    yield "local-queues.yaml", {"localQueues": local, **facts("versions")}, local_queues(site)
    yield "compute-classes.yaml", facts("computeClasses"), compute_classes(site)
    for entry in site.cluster.teams:
        yield f"team-{entry.name}.yaml", spec["teams"][entry.index], team(entry)
    yield "kueue-manager-config.yaml", facts(*_KUEUE, "kueue"), kueue_configuration(site)


def _inputs(site: Site, facts: Any) -> str:
    """Name the file that a part of the platform comes from, with a digest of what of it was read."""
    source = site.cluster.source
    return header.inputs(source.file.path, site.cluster.name, facts)
