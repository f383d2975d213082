"""`cluster.sh`: makes the cluster, and turns on the APIs that it needs."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from slicewright.core.provision.script import ASK, RUN, head, options, written

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster

ADDONS = ("HorizontalPodAutoscaling", "HttpLoadBalancing", "GcePersistentDiskCsiDriver", "GcsFuseCsiDriver")
"""Those that gcloud adds by itself, and drops when others are named; and Cloud Storage FUSE for `gcsFuse`."""

APIS = ("compute.googleapis.com", "container.googleapis.com")

_APIS = f"""\
apis=$(ask gcloud services list --enabled --project="$PROJECT" --format='value(config.name)')
for api in {" ".join(APIS)}; do
  has "$apis" "$api" || run gcloud services enable "$api" --project="$PROJECT"
done"""

_CREATE = """\
clusters=$(ask gcloud container clusters list --location="$LOCATION" --filter="name ~ ^$CLUSTER\\$" \\
  --project="$PROJECT" --format='value(name)')
if has "$clusters" "$CLUSTER"; then
  echo "# cluster $CLUSTER is there"
else
  run gcloud container clusters {create} "$CLUSTER" --location="$LOCATION" \\
{flags}    --project="$PROJECT"
fi"""


def cluster_script(site: ResolvedCluster) -> str:
    """Return the script: create for Standard, create-auto for Autopilot, which has all add-ons as it is."""
    create = "create-auto" if site.cluster.mode == "Autopilot" else "create"
    flags = "".join(f"    {flag} \\\n" for flag in _flags(site))
    return written(
        [
            head(
                site,
                purpose=f"Makes cluster {site.cluster.name}; one that is there stays as it is.\n"
                "usage: bash cluster.sh [--dry-run]",
            ),
            options("--dry-run"),
            RUN,
            ASK,
            _APIS,
            _CREATE.format(create=create, flags=flags),
        ]
    )


def _flags(site: ResolvedCluster) -> list[str]:
    """Return the flags of the cluster, quoted."""
    spec = site.cluster.spec
    gke = spec.get("gke", {})
    found = []
    if site.cluster.mode == "Standard" and "nodeLocations" in spec:
        found.append(quote(f"--node-locations={','.join(spec['nodeLocations'])}"))
    found.append(quote(f"--release-channel={gke.get('releaseChannel', 'regular')}"))
    if "version" in gke:
        found.append(quote(f"--cluster-version={gke['version']}"))
    if site.cluster.mode == "Standard":
        found += ['--workload-pool="$PROJECT.svc.id.goog"', f"--addons={','.join(ADDONS)}"]
    return found
