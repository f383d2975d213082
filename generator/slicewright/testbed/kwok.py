"""KWOK, which plays the kubelet of every simulated node."""

from __future__ import annotations

from pathlib import Path

STAGES = Path(__file__).with_name("stages.yaml")
NODE_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
"""What marks a node as simulated; pods on other nodes are left alone."""


def command(binary: Path, kubeconfig: Path) -> list[str]:
    """Return the command line. KWOK serves nothing here, so it listens nowhere."""
    ((key, value),) = NODE_ANNOTATION.items()
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        f"--config={STAGES}",
        f"--manage-nodes-with-annotation-selector={key}={value}",
        "--node-lease-duration-seconds=0",
    ]
