"""Measure rehearsals: seconds a stage, and the share of our own process in all CPU time; prints JSON.

Each scenario is played on a test bed of its own, all in this process, from reading the files to the page of
the report. The CPU time of the bed's programs is read from /proc, so it takes Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewright.cli.report.rehearsal_output import render_page as page
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.rehearsal import Rehearsal
from slicewright.rehearse.scenario import Scenario, scenarios
from slicewright.testbed import supervisor
from slicewright.testbed.bed_cluster import Cluster

if TYPE_CHECKING:
    from slicewright.testbed.bed import Bed

ROOT = Path(__file__).resolve().parents[1]

_CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {{name: bench}}
spec:
  managed: false
  pools: [{{name: tpus, tpu: v5litepod-64, slices: {slices}}}]
  clusterQueues:
  - name: tpus
    quota: [{{pool: tpus}}]
    localQueues: [{{name: team, namespace: default}}]
"""

_WORKLOAD = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {{name: train-{number}}}
spec:
  clusters: [bench]
  tpu: v5litepod-64
  slices: {slices}
  naming: Fixed
  queueName: team
  container: {{image: python:3.12}}
  rehearsal: {{duration: 60s}}
"""
_SPEED = 60
_HOSTS = 16
"""Of a v5litepod-64."""
_SLICES = {
    "jobSets16": [4] * 16,
    "workloads100": [1 + number % 4 for number in range(100)],
    "chips100000": [1 + number % 4 for number in range(625)],
}
"""The slices of each workload of a scenario; there is room for all of them."""
_WAYS = {"jobSets16": (True, False), "workloads100": (True, False), "chips100000": (False,)}
"""Whether each is played with pods, without them, or both ways."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Stages:
    """Seconds from one mark to the next."""

    last: float
    seconds: dict[str, float]

    def mark(self, stage: str) -> None:
        """End a stage now."""
        now = time.monotonic()
        self.seconds[stage] = now - self.last
        self.last = now


def make(root: Path, slices: list[int]) -> None:
    """Write a cluster with room for all workloads, and its overlays."""
    shutil.copytree(ROOT / "bases", root / "bases")
    (root / "slicewright.yaml").write_text("limits: {endRuns: 0}\n", encoding="utf-8")
    for folder in ("clusters", "workloads"):
        (root / folder).mkdir()
    (root / "clusters" / "bench.yaml").write_text(_CLUSTER.format(slices=sum(slices)), encoding="utf-8")
    for number, count in enumerate(slices):
        text = _WORKLOAD.format(number=number, slices=count)
        (root / "workloads" / f"train-{number}.yaml").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "slicewright", "render"], cwd=root, check=True, capture_output=True)


def load(root: Path) -> Scenario:
    """Return the scenario of a repository."""
    (scenario,), against = scenarios(read_checkout(root), ["bench"])
    if against:
        raise SystemExit(against[0].text())
    return scenario


def measure(root: Path, slices: list[int], *, has_pods: bool) -> dict[str, Any]:
    """Play the scenario of a repository on a new test bed."""
    began, own = time.monotonic(), time.process_time()
    stages = Stages(began, {})
    scenario = load(root)
    stages.mark("read")
    with Cluster(progress=_say, has_pods=has_pods) as bed:
        stages.mark("bed")
        rehearsal = Rehearsal(
            bed,
            scenario,
            clock_settings(scenario.parts, speed=_SPEED),
            has_pods=has_pods,
            progress=lambda text: stages.mark("nodes" if "nodes" in text else "platform"),
        )
        rehearsal.run()
        report = rehearsal.report()
        stages.mark("play")
        page([report.record()])
        stages.mark("report")
        own = time.process_time() - own
        programs = cpu_seconds(bed)
    used = own + sum(programs.values())
    return {
        "pods": "objects" if has_pods else "in memory",
        "workloads": len(slices),
        "slices": sum(slices),
        "nodes": sum(slices) * _HOSTS,
        "seconds": {name: round(value, 2) for name, value in stages.seconds.items()},
        "allSeconds": round(stages.last - began, 1),
        "ownShare": round(own / used, 3),
        "cpuSeconds": {name: round(value, 1) for name, value in {"own": own, **programs}.items()},
        "events": len(report.events),
        "problems": [problem.text() for problem in report.problems],
    }


def cpu_seconds(bed: Bed) -> dict[str, float]:
    """Return the CPU time of each program of a bed, in user mode and in the kernel."""
    pids: dict[str, int] = supervisor.read_state(bed.processes.folder)["programs"]
    return {name: sum(map(int, _stat(pid)[11:13])) / _TICKS for name, pid in pids.items()}


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on: the second may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", choices=_SLICES, action="append", help="Only this one.")
    parser.add_argument("--pods", choices=(True, False), type=json.loads, help="Only with them, or without.")
    asked = parser.parse_args()
    plays = [
        (name, has_pods)
        for name in asked.scenario or _SLICES
        for has_pods in (_WAYS[name] if asked.pods is None else (asked.pods,))
    ]
    measured: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load": [round(value, 1) for value in os.getloadavg()],
    }
    for name, has_pods in plays:
        with tempfile.TemporaryDirectory(prefix="slicewright-bench-") as folder:
            root = Path(folder)
            make(root, _SLICES[name])
            measured[name if has_pods else f"{name}WithoutPods"] = measure(
                root, _SLICES[name], has_pods=has_pods
            )
    print(json.dumps(measured, indent=2))  # noqa: T201 - the result


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
