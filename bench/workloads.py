"""Make a repository with any number of workloads, of every pattern, Hashed by default.

The rules find nothing in it but the moving tag of Pathways' own images, so that a check of it measures the
check and not its report.
"""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_CLUSTER = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: bench}
spec:
  managed: false
  kueue: {waitForPodsReady: {timeout: 2h}}
  pools:
  - {name: v5e, tpu: v5litepod-16, slices: 4}
  - {name: v6e, tpu: v6e-16, slices: 4, provisioning: FlexStart}
  - {name: v5p, tpu: v5p-32, slices: 8}
  - {name: cpu, machineType: n2-standard-64, nodes: 4}
  clusterQueues:
  - name: tpu
    quota: [{pool: v5e}, {pool: v6e}, {pool: v5p}, {pool: cpu}]
    localQueues: [{name: team, namespace: default}]
  teams: [{name: bench, namespace: default, serviceAccountName: trainer}]
"""

_JOBSET = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {{name: train-{number}}}
spec:
  clusters: [bench]
  tpu: v5litepod-16
  slices: {slices}
  queueName: team
  workloadPriorityClassName: high
  failurePolicy: {{maxRestarts: 4, onHostMaintenance: Restart}}
  gcsFuse: [{{bucket: data-{number}, mountPath: /data}}]
  container:
    image: us-docker.pkg.dev/project/images/train:1.0.{number}
    script: |
      python3 train.py --run={number} --steps=1000
      echo done
    env:
    - {{name: SEED, value: "{number}"}}
    - {{name: MODE, value: "on"}}
"""

_JOB = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {{name: train-{number}}}
spec:
  clusters: [bench]
  tpu: v6e-16
  api: Job
  provisioning: FlexStart
  queueName: team
  container:
    image: us-docker.pkg.dev/project/images/train:1.0.{number}
    command: [python3, train.py, --run={number}]
"""

_PATHWAYS = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {{name: train-{number}}}
spec:
  clusters: [bench]
  tpu: v5p-32
  slices: {slices}
  queueName: team
  container:
    image: us-docker.pkg.dev/project/images/pathways:1.0.{number}
    command: [python3, train.py, --run={number}]
  pathways: {{pathwaysDir: "gs://bench/{number}", head: {{pool: cpu}}}}
"""

_TEMPLATES = (_JOBSET, _JOBSET, _JOB, _PATHWAYS)


_MATRIX = "  matrix: {env: {STEP: [0.1, 0.2, 0.3, 0.4, 0.5], KIND: [one, two]}}\n"
ENTRIES = 10
"""Runs of a sweep."""


def make_repository(root: Path, count: int, *, sweeps: bool = False) -> None:
    """Write `count` workloads, one a file, or ten a file as a sweep.

    Half are JobSets, a quarter Jobs, and a quarter Pathways.
    """
    shutil.copytree(ROOT / "bases", root / "bases")
    (root / "slicewright.yaml").write_text("limits: {endRuns: 0}\n", encoding="utf-8")
    (root / "clusters").mkdir()
    (root / "clusters" / "bench.yaml").write_text(_CLUSTER, encoding="utf-8")
    (root / "workloads").mkdir()
    for number in range(count // ENTRIES if sweeps else count):
        text = _TEMPLATES[number % len(_TEMPLATES)].format(number=number, slices=1 + number % 4)
        text += _MATRIX if sweeps else ""
        (root / "workloads" / f"train-{number:05d}.yaml").write_text(text, encoding="utf-8")
