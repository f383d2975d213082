"""KWOK, which plays the kubelet of every simulated node."""

from __future__ import annotations

from pathlib import Path

STAGES = Path(__file__).with_name("stages.yaml")
NODE_ANNOTATION = "kwok.x-k8s.io/node"
"""What marks a node as simulated; pods on other nodes are left alone."""
USUAL = "fake"
"""Its usual value, which people give to nodes that they add by hand."""


def command(binary: Path, kubeconfig: Path, *, plays: str = USUAL, lease_seconds: int = 0) -> list[str]:
    """Return the command line. KWOK serves nothing here, so it listens nowhere.

    It plays the nodes whose annotation has the value `plays`. With `lease_seconds` it renews a lease for each
    of them, as kubelets do: without, a controller manager that waits for heartbeats takes them for dead.
    """
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        f"--manage-nodes-with-annotation-selector={NODE_ANNOTATION}={plays}",
        f"--node-lease-duration-seconds={lease_seconds}",
    ]
