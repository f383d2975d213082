"""When GKE may upgrade a cluster. Without an exclusion it upgrades TPU nodes, which ends the runs on them.

Sources: maintenance_exclusions of all TPU examples of GoogleCloudPlatform/cluster-toolkit at 10470803
(examples/gke-tpu-v6e/gke-tpu-v6e.yaml), its default of a daily window from 09:00
(modules/scheduler/gke-cluster/variables.tf), and the reference of gcloud container clusters update.
"""

from collections.abc import Iterator

from msgspec import Struct, convert

from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision.hcl import Block, block

UNTIL_END_OF_SUPPORT = "UNTIL_END_OF_SUPPORT"


class Window(Struct, frozen=True, rename="camel"):
    """Recurring hours in which GKE may upgrade; the first ones say how long they are."""

    start_time: str
    end_time: str
    recurrence: str

    @property
    def words(self) -> tuple[str, str, str]:
        """The arguments of the functions of lib.sh."""
        return self.start_time, self.end_time, self.recurrence


class Exclusion(Struct, frozen=True, rename="camel"):
    """Days on which GKE may not upgrade."""

    name: str
    scope: str
    start_time: str = "2025-12-01T00:00:00Z"
    """It may be past: that of cluster-toolkit."""
    end_time: str = ""
    """'' for the end of support of the version."""

    @property
    def ends(self) -> str:
        """The end, or the behavior that decides it."""
        return self.end_time or UNTIL_END_OF_SUPPORT


DAILY = Window("2025-12-01T09:00:00Z", "2025-12-01T13:00:00Z", "FREQ=DAILY")
"""The google provider takes exclusions only beside a window."""
_HELD = Exclusion("no-minor-or-node-upgrades", "NO_MINOR_OR_NODE_UPGRADES")


def window(site: ResolvedCluster) -> Window | None:
    """Return the maintenance window that we give a cluster."""
    gke = site.cluster.spec.get("gke", {})
    if "maintenanceWindow" in gke:
        return convert(gke["maintenanceWindow"], Window)
    return DAILY if "environment" in site.cluster.spec else None


def exclusions(site: ResolvedCluster) -> list[Exclusion]:
    """Return the maintenance exclusions of a cluster."""
    gke = site.cluster.spec.get("gke", {})
    if "maintenanceExclusions" not in gke:
        return [_HELD]
    return convert(gke["maintenanceExclusions"], list[Exclusion])


def maintenance_policy(site: ResolvedCluster) -> Block:
    """Return the policy in Terraform, for a cluster with an environment."""
    hours = window(site) or DAILY
    recurring = block(
        "recurring_window",
        start_time=hours.start_time,
        end_time=hours.end_time,
        recurrence=hours.recurrence,
    )
    return block("maintenance_policy", body=[recurring, *map(_exclusion, exclusions(site))])


def _exclusion(exclusion: Exclusion) -> Block:
    behavior = None if exclusion.end_time else UNTIL_END_OF_SUPPORT
    options = block("exclusion_options", scope=exclusion.scope, end_time_behavior=behavior)
    return block(
        "maintenance_exclusion",
        exclusion_name=exclusion.name,
        start_time=exclusion.start_time,
        end_time=exclusion.end_time or None,
        body=[options],
    )


def problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of a window and of exclusions that GKE would refuse."""
    gke = site.cluster.spec.get("gke", {})
    if "maintenanceWindow" in gke:
        yield from _times(site, ("spec", "gke", "maintenanceWindow"), gke["maintenanceWindow"])
    taken: set[str] = set()
    for index, written in enumerate(gke.get("maintenanceExclusions", ())):
        path: Path = ("spec", "gke", "maintenanceExclusions", index)
        yield from _times(site, path, {"startTime": _HELD.start_time, **written})
        if written["name"] in taken:
            message = f"duplicate maintenance exclusion '{written['name']}'"
            yield site.source.problem("POOL056", (*path, "name"), message, "give each exclusion its own name")
        taken.add(written["name"])


def _times(site: ResolvedCluster, path: Path, written: dict[str, str]) -> Iterator[Problem]:
    """Yield the problem of an end that is not after the start; times of this form sort as text."""
    start, end = written["startTime"], written.get("endTime")
    if end is not None and end <= start:
        message = f"endTime {end} is not after startTime {start}"
        yield site.source.problem("POOL056", (*path, "endTime"), message, "write a later endTime")
