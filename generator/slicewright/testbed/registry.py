"""Which clusters of a user run: look them up, and end them by name."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.binaries.find import cache_root
from slicewright.testbed import supervisor, wait

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_NAME = "slicewright"
"""The cluster that people mean when they name none."""

_END_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster whose supervisor lives. `state` is what `supervisor.Supervisor` wrote."""

    name: str
    folder: Path
    state: dict[str, Any]

    @property
    def status(self) -> str:
        """Return `ready`, `starting` or `broken`."""
        if self.state.get("ended"):
            return "broken"
        return "ready" if self.state.get("ready") else "starting"

    def record(self) -> dict[str, object]:
        """Return the JSON form, an object of `cluster status -o json`."""
        return {
            "name": self.name,
            "status": self.status,
            "kubeconfig": self.state.get("kubeconfig", ""),
            "cluster": self.state.get("cluster", ""),
            "nodes": self.state.get("nodes", 0),
            "readySeconds": self.state.get("seconds"),
            "pathwaysOperator": self.state.get("operator", ""),
            "folder": str(self.folder),
            "logs": str(self.folder / supervisor.LOGS),
            "keeper": self.state.get("supervisor", 0),
            "programs": self.state.get("programs", {}),
            "ended": self.state.get("ended", {}),
        }


def running(root: Path) -> list[Running]:
    """Return the clusters that run, by name."""
    if not root.is_dir():
        return []
    folders = [entry for entry in sorted(root.iterdir()) if entry.is_dir() and supervisor.is_held(entry)]
    return [Running(folder.name, folder, supervisor.read_state(folder)) for folder in folders]


def end(cluster: Running) -> None:
    """End a cluster and wait until its folder is gone. Raises BedError when that takes too long."""
    wait.until(f"the end of cluster '{cluster.name}'", lambda: _is_gone(cluster.folder), seconds=_END_SECONDS)


def _is_gone(folder: Path) -> bool:
    """Tell whether a folder is gone, and until then ask its supervisor to end, which may only just begin."""
    if supervisor.is_held(folder) and (pid := supervisor.read_state(folder).get("supervisor")):
        with contextlib.suppress(ProcessLookupError):
            # The lock is held, so the process of this number is the supervisor.
            os.kill(pid, signal.SIGTERM)
    return not folder.exists()


def clusters_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds one folder a running cluster, and the logs of those that failed."""
    return cache_root(environ) / "clusters"
