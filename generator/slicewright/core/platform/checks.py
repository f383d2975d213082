"""AdmissionChecks and ProvisioningRequestConfigs; queued flex-start gets its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.labels import PROVISIONING_CONTROLLER, QUEUED_CLASS, TPU
from slicewright.core.platform.flavor import queued, used
from slicewright.core.platform.kueue import kueue_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster

QUEUED_CHECK = "flex-start-queued"
"""The check, and the configuration of its requests, that queues with queued flex-start flavors get."""
_RETRIES = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}


def checks(site: ResolvedCluster) -> Iterator[Object]:
    """Yield ProvisioningRequestConfigs, then the AdmissionChecks that use them."""
    spec = site.cluster.spec
    configs = {item["name"]: item for item in spec.get("provisioningRequestConfigs", [])}
    asks = bool(queued(used(site).values()))
    if asks:
        configs = {QUEUED_CHECK: {"name": QUEUED_CHECK}, **configs}
    for name, written in configs.items():
        yield kueue_object(site, "ProvisioningRequestConfig", name, spec=_config(written))
    if asks:
        parameters = {"apiGroup": KUEUE_GROUP, "kind": "ProvisioningRequestConfig", "name": QUEUED_CHECK}
        yield _check(
            site, QUEUED_CHECK, {"controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}
        )
    for item in spec.get("admissionChecks", []):
        yield _check(site, item["name"], {key: value for key, value in item.items() if key != "name"})


def _check(site: ResolvedCluster, name: str, spec: dict[str, Any]) -> Object:
    return kueue_object(site, "AdmissionCheck", name, spec=spec)


def _config(written: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration's spec; requests for google.com/tpu alone, because GKE takes one pod set."""
    optional: dict[str, Any] = {
        key: written[key] for key in ("parameters", "podSetMergePolicy") if key in written
    }
    return {
        "provisioningClassName": written.get("provisioningClassName", QUEUED_CLASS),
        "managedResources": written.get("managedResources", [TPU]),
        **optional,
        "retryStrategy": {**_RETRIES, **written.get("retryStrategy", {})},
    }
