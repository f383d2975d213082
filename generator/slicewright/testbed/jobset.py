"""The JobSet controller, outside of the cluster that it serves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slicewright.testbed.controllers import BURST, QPS

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.testbed.credentials import Credentials


def jobset_command(binary: Path, credentials: Credentials, *, config: Path, webhook_port: int) -> list[str]:
    """Write the configuration of the controller and return its command line."""
    document = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": QPS, "burst": BURST},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(credentials.file("webhooks"))},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    config.write_text(json.dumps(document), encoding="utf-8")
    return [str(binary), f"--config={config}", f"--kubeconfig={credentials.kubeconfig('jobset')}"]
