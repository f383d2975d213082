"""kube-controller-manager and kube-scheduler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.testbed.credentials import Credentials

QPS, BURST = 2000, 4000
"""Requests a second that each controller may send: the machine is the limit, not the client."""

_NOT_HERE = (
    "bootstrap-signer-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "cloud-node-lifecycle-controller",
    "endpoints-controller",
    "endpointslice-mirroring-controller",
    "horizontal-pod-autoscaler-controller",
    "node-ipam-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "service-lb-controller",
    "token-cleaner-controller",
    "ttl-controller",
)
"""Controllers of what simulated nodes do not have (certificates, routes, disks, metrics, balancers), and
those that write much and change nothing here: copies of endpoints, a hint for kubelets on every node."""

_NO_DEFAULT_SPREAD = {"defaultConstraints": [], "defaultingType": "List"}


def controller_manager_command(binary: Path, credentials: Credentials) -> list[str]:
    """Return the command line of the controller manager.

    Simulated nodes send no heartbeats; a year of grace keeps them ready until somebody says otherwise.
    """
    return [
        str(binary),
        f"--kubeconfig={credentials.kubeconfig('kube-controller-manager')}",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--leader-elect=false",
        f"--controllers=*,{','.join(f'-{name}' for name in _NOT_HERE)}",
        f"--service-account-private-key-file={credentials.file('service-accounts.key')}",
        f"--root-ca-file={credentials.file('ca.crt')}",
        "--node-monitor-grace-period=8760h",
        "--concurrent-job-syncs=50",
        f"--kube-api-qps={QPS}",
        f"--kube-api-burst={BURST}",
        "--profiling=false",
    ]


def scheduler_command(binary: Path, credentials: Credentials, *, config: Path) -> list[str]:
    """Write the configuration of the scheduler and return its command line."""
    kubeconfig = credentials.kubeconfig("kube-scheduler")
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": BURST},
        "leaderElection": {"leaderElect": False},
        "podMaxBackoffSeconds": 2,
        # Thousands of nodes are alike here. Of those that fit, a hundred (the least) are compared, and not by
        # how the pods of a Service are spread: that would count all pods for each pod. What a pod asks for
        # itself still holds.
        "percentageOfNodesToScore": 1,
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": _NO_DEFAULT_SPREAD}]}],
        "enableProfiling": False,
    }
    config.write_text(json.dumps(document), encoding="utf-8")
    return [str(binary), f"--config={config}", "--bind-address=127.0.0.1", "--secure-port=0"]
