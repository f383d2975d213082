"""The release manifests of JobSet, Kueue and PathwaysJob, for controllers outside of the cluster.

The tree of a cluster may install others: `installation` says what of it a test cluster can have.
"""

import base64
import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from slicewright.document.read import read_documents
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.programs.pins import versions
from slicewright.rendering.compose import compose
from slicewright.rendering.folder import controllers_folder
from slicewright.rendering.io.package_data import data_folder
from slicewright.rendering.kustomization import ReadText
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import controller_files
from slicewright.rendering.platform.controller_files import CONTROLLERS, MANIFESTS, Controller, Release
from slicewright.rendering.platform.kueue_configuration import simulated

FOLDER = Path(__file__).with_name("manifests")

_RUNS_ELSEWHERE = frozenset({"APIService", "ConfigMap", "Deployment", "Secret", "Service"})
"""Kinds that only make sense for a controller that runs as a pod."""

_FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that others need; the rest may be created in any order."""


def provisioning_requests() -> list[Object]:
    """Return the definition of ProvisioningRequest, which GKE has built in."""
    return parsed((FOLDER / "provisioningrequests.yaml").read_bytes())


def pinned(controller: Controller) -> Release:
    """Return the release of a controller that the test bed runs."""
    return Release(controller, versions()[controller.field])


def completed(items: Iterable[Object]) -> list[Object]:
    """Return the given objects of controllers, with the test bed's releases of missing controllers."""
    objects = list(items)
    namespaces = {item["metadata"]["name"] for item in objects if item["kind"] == "Namespace"}
    for controller in CONTROLLERS:
        objects += [] if controller.namespace in namespaces else released(controller)
    return objects


def for_host(
    items: Iterable[Object], *, ports: Mapping[str, int] | None = None, authority: str = ""
) -> list[Object]:
    """Return the objects of a manifest that a controller outside of the cluster needs.

    Webhooks and conversions call the loopback address, at the port of the namespace of their Service, and
    trust `authority`, a PEM text; objects of the controller's own pod are left out. So are the descriptions
    in definitions: the API server would work longer on them than on all the rest. The items stay as they are.
    """
    kept = [_lean(copy.deepcopy(item)) for item in items if item["kind"] not in _RUNS_ELSEWHERE]
    for client, path in _webhook_clients(kept):
        service = client.pop("service")
        port = (ports or {}).get(service["namespace"])
        if port is None:
            raise ValueError("the manifest has webhooks: they need a port")
        client["url"] = f"https://127.0.0.1:{port}{service.get('path', path)}"
        client["caBundle"] = base64.b64encode(authority.encode("ascii")).decode("ascii")
    return kept


def in_order(items: Collection[Object]) -> Iterable[list[Object]]:
    """Yield the objects that others need, then the others; those of one list can be created in parallel."""
    yield [item for item in items if item["kind"] in _FIRST]
    yield [item for item in items if item["kind"] not in _FIRST]


def _lean(item: Object) -> Object:
    if item["kind"] == "CustomResourceDefinition":
        for version in item["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = _undescribed(version["schema"]["openAPIV3Schema"])
    return item


def _undescribed(schema: Any) -> Any:
    """Return a schema without descriptions; a property named `description` stays."""
    if isinstance(schema, list):
        return [_undescribed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _undescribed(part) for name, part in value.items()}
        if key == "properties"
        else _undescribed(value)
        for key, value in schema.items()
        if key != "description"
    }


def _webhook_clients(items: Iterable[Object]) -> Iterable[tuple[Object, str]]:
    for item in items:
        if item["kind"].endswith("WebhookConfiguration"):
            for webhook in item["webhooks"]:
                yield webhook["clientConfig"], "/"
        conversion = item.get("spec", {}).get("conversion", {})
        if "webhook" in conversion:
            yield conversion["webhook"]["clientConfig"], "/convert"


def released(controller: Controller) -> list[Object]:
    """Return the objects of the release of a controller whose program the test bed has."""
    return parsed((data_folder("bases").parent / pinned(controller).folder / MANIFESTS).read_bytes())


def parsed(text: str | bytes) -> list[Object]:
    """Return the objects of manifests, by the fastest reader there is: a release has 27,000 lines."""
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


class Installation(Struct, frozen=True):
    """The objects of controllers, and Kueue's settings."""

    objects: tuple[Object, ...] = ()
    """The objects that kustomize builds; empty if the test bed uses its bundled releases."""
    settings: dict[str, Any] = field(default_factory=dict)
    jobset_gates: dict[str, bool] = field(default_factory=dict)
    """The feature gates of JobSet that a cluster sets."""

    @property
    def options(self) -> dict[str, Any]:
        """What a cluster of the test bed is started with."""
        settings, gates = self.settings, self.jobset_gates
        return {"controllers": self.objects, "kueue_settings": settings, "jobset_gates": gates}


def installation(site: ResolvedCluster, read_text: ReadText) -> tuple[Installation, tuple[Problem, ...]]:
    """Return what the folder of a cluster's controllers installs, and the problems of installing it.

    If the file has no `kueue`, Kueue looks after Jobs and JobSets; its release looks after pods too, which
    are asked about one by one. Another release than the test bed has the programs of is not installed.
    """
    others = tuple(_others(site))
    installed = controller_files.installed(controllers_folder(site.cluster.name), read_text)
    if installed is None or others or not site.cluster.installs:
        return Installation(settings=simulated(site), jobset_gates=site.cluster.jobset_gates), others
    composed = compose(controllers_folder(site.cluster.name), read_text)
    documents, _ = read_documents(installed.configuration, "")
    settings = documents[0].data if documents else {}
    return Installation(composed.objects, settings, site.cluster.jobset_gates), composed.problems


def _others(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of each release that is not the one that is installed."""
    releases = site.cluster.spec.get("versions", {})
    for controller in CONTROLLERS:
        ours = pinned(controller)
        theirs = releases.get(controller.field, ours.version)
        if theirs != ours.version:
            message = (
                f"cluster '{site.cluster.name}' has {controller.title} {theirs}, but the test cluster has "
                f"{ours.version}: differences between the two are not rehearsed"
            )
            hint = "rehearse with --kubeconfig on a cluster that has this release"
            at = ("spec", "versions", controller.field)
            yield site.cluster.source.problem("CTRL005", at, message, hint, warning=True)
