"""The `environment:` block of a TPUCluster with its defaults: the values that Terraform's variables get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster

DEFAULTS: dict[str, Any] = {
    "subnetIpRange": "10.129.0.0/20",
    "podsIpRange": "192.168.64.0/20",
    "servicesIpRange": "192.168.80.0/20",
    "clusterDescription": "GKE cluster for running TPU training workloads",
    "cpuPoolDiskType": "pd-standard",
    "cpuPoolDiskSize": "200GB",
    "tpuSaName": "cloud-tpu-sa",
    "tpuSaRoles": ["roles/storage.objectAdmin", "roles/logging.logWriter"],
    "gkeSaName": "gke-sa",
    "gkeSaRoles": ["roles/storage.objectAdmin", "roles/logging.logWriter"],
    "tpuNamespace": "tpu-training",
    "multisliceGroupName": "multi-slice-group",
    "artifactRegistryName": "gke-tpu-training",
    "tensorboardRegion": "us-central1",
    "tfStatePrefix": "gke-tpu-training-environment",
}
"""The defaults of schemas/slicewright/tpucluster.json that follow from no other field."""

_ZONE = re.compile(r"(?P<region>[a-z]+-[a-z]+[0-9]+)-[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Environment:
    """What an environment is made of; every name is there, none is checked."""

    cluster: str
    autopilot: bool
    project: str
    location: str
    """Where the cluster is: a region, or the zone of a zonal one."""
    zone: str
    """Where its nodes are unless a pool says otherwise; empty where no field says."""
    node_locations: tuple[str, ...]
    gke_version: str
    release_channel: str
    fields: dict[str, Any]
    """The fields of the block by their names in the file, each with its value or default."""

    @property
    def region(self) -> str:
        """Return the region of the network and of what is regional."""
        found = _ZONE.fullmatch(self.location)
        return found["region"] if found else self.location

    @property
    def zonal(self) -> bool:
        """Tell whether the cluster has its control plane in one zone."""
        return self.region != self.location


def environment(site: ResolvedCluster) -> Environment:
    """Return the environment of a cluster that has the block."""
    spec = site.cluster.spec
    written = spec["environment"]
    project, location = spec.get("project", ""), spec.get("location", "")
    prefix = written.get("resourcePrefix", project)
    named = {
        "resourcePrefix": prefix,
        "networkName": f"{prefix}-network",
        "subnetName": f"{prefix}-subnet",
        "artifactRepositoryBucketName": f"{prefix}-aiml-repository",
        "tfStateBucket": f"{project}-tf-state",
    }
    zonal = bool(_ZONE.fullmatch(location))
    zones = tuple(spec.get("nodeLocations", (location,) if zonal else ()))
    gke = spec.get("gke", {})
    return Environment(
        cluster=site.cluster.name,
        autopilot=site.cluster.mode == "Autopilot",
        project=project,
        location=location,
        zone=zones[0] if zones else "",
        node_locations=zones,
        gke_version=gke.get("version", ""),
        release_channel=gke.get("releaseChannel", "regular").upper(),
        fields={**DEFAULTS, **named, **written},
    )
