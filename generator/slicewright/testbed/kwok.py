"""KWOK, which plays the kubelet of every simulated node."""

from __future__ import annotations

from pathlib import Path

STAGES = Path(__file__).with_name("stages.yaml")
NODE_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
"""What marks a node as simulated; pods on other nodes are left alone."""


def command(binary: Path, kubeconfig: Path, *, lease_seconds: int = 0) -> list[str]:
    """Return the command line. KWOK serves nothing here, so it listens nowhere.

    With `lease_seconds` it renews a lease for each node, as kubelets do: without, a controller manager that
    waits for heartbeats takes the nodes for dead.
    """
    ((key, value),) = NODE_ANNOTATION.items()
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        f"--manage-nodes-with-annotation-selector={key}={value}",
        f"--node-lease-duration-seconds={lease_seconds}",
    ]
