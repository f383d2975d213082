"""The release manifests of JobSet, Kueue and PathwaysJob, for controllers outside of the cluster."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from slicewright.binaries.pins import versions

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).with_name("manifests")

_RUNS_ELSEWHERE = frozenset({"APIService", "ConfigMap", "Deployment", "Secret", "Service"})
"""Kinds that only make sense for a controller that runs as a pod."""

_FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that others need; the rest may come in any order."""


def jobset() -> list[dict[str, Any]]:
    """Return the objects of the JobSet release."""
    return _read(f"jobset-{versions()['jobset']}.yaml")


def kueue() -> list[dict[str, Any]]:
    """Return the objects of the Kueue release."""
    return _read(f"kueue-{versions()['kueue']}.yaml")


def pathways() -> list[dict[str, Any]]:
    """Return the objects of the PathwaysJob release."""
    return _read(f"pathways-job-{versions()['pathwaysJob']}.yaml")


def provisioning_requests() -> list[dict[str, Any]]:
    """Return the definition of ProvisioningRequest, which GKE has built in."""
    return _read("provisioningrequests.yaml")


def for_host(
    items: Iterable[dict[str, Any]], *, port: int | None = None, authority: str = ""
) -> list[dict[str, Any]]:
    """Return what a controller outside of the cluster needs of its manifest.

    Webhooks and conversions call the loopback address at `port` and trust `authority`, a PEM text; objects of
    the controller's own pod are left out. So are the descriptions in definitions: the API server would work
    longer on them than on all the rest.
    """
    kept = [_lean(item) for item in items if item["kind"] not in _RUNS_ELSEWHERE]
    for client, path in _webhook_clients(kept):
        if port is None:
            raise ValueError("the manifest has webhooks: they need a port")
        service = client.pop("service", {})
        client["url"] = f"https://127.0.0.1:{port}{service.get('path', path)}"
        client["caBundle"] = base64.b64encode(authority.encode("ascii")).decode("ascii")
    return kept


def in_order(items: Iterable[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """Yield the objects that have to be there first, then the others; each list may be created at once."""
    listed = list(items)
    yield [item for item in listed if item["kind"] in _FIRST]
    yield [item for item in listed if item["kind"] not in _FIRST]


def _lean(item: dict[str, Any]) -> dict[str, Any]:
    if item["kind"] == "CustomResourceDefinition":
        for version in item["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = _undescribed(version["schema"]["openAPIV3Schema"])
    return item


def _undescribed(schema: Any) -> Any:
    """Return a schema without descriptions; a property that is called `description` is none."""
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


def _webhook_clients(items: Iterable[dict[str, Any]]) -> Iterable[tuple[dict[str, Any], str]]:
    for item in items:
        if item["kind"].endswith("WebhookConfiguration"):
            for webhook in item["webhooks"]:
                yield webhook["clientConfig"], "/"
        conversion = item.get("spec", {}).get("conversion", {}) if "spec" in item else {}
        if "webhook" in conversion:
            yield conversion["webhook"]["clientConfig"], "/convert"


def _read(name: str) -> list[dict[str, Any]]:
    text = (FOLDER / name).read_bytes()
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]
