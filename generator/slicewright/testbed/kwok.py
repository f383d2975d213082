"""KWOK, which plays the kubelet of every simulated node."""

from __future__ import annotations

from pathlib import Path

STAGES = Path(__file__).with_name("stages.yaml")
HEARTBEATS = Path(__file__).with_name("heartbeats.yaml")
NODE_ANNOTATION = "kwok.x-k8s.io/node"
"""What marks a node as simulated; pods on other nodes are left alone."""
KWOK_NODES = "fake"
"""Its usual value, which people give to nodes that they add by hand."""


def kwok_command(binary: Path, kubeconfig: Path, *, plays: str = KWOK_NODES, heartbeats: bool = False) -> list[str]:
    """Return the command line. KWOK serves nothing here, so it listens nowhere.

    It plays the nodes whose annotation has the value `plays`. With `heartbeats` they show that they live, as
    kubelets do: without, a controller manager that waits for it takes them for dead.

    There are no node leases. When a node goes and comes back while KWOK renews its lease, its queue of leases
    holds the node twice and stands still from then on (KWOK 0.8.0): no later node would be played.
    """
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        *([f"--config={HEARTBEATS}"] if heartbeats else []),
        f"--manage-nodes-with-annotation-selector={NODE_ANNOTATION}={plays}",
        "--node-lease-duration-seconds=0",
    ]
