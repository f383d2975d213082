"""Render 1,000 workloads with defaults and limits against the same without; prints JSON.

The pairs alternate, and the result is the median of their ratios: user time of the whole command.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.render import keep_bytecode
from bench.workloads import make_repository

COUNT, PAIRS = 1_000, 9
_DEFAULTS = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUDefaults
metadata: {name: repository}
spec:
  labels: {cost-center: "1234"}
  container: {env: [{name: MODE, value: "on"}]}
  limits:
    imageRegistries: [us-docker.pkg.dev/project, us-docker.pkg.dev/cloud-tpu-v2-images]
    maxSlices: 4
    requiredLabels: [cost-center]
    forbidden: [privileged, hostPath]
---
apiVersion: slicewright.dev/v1alpha1
kind: TPUDefaults
metadata: {name: namespace}
spec:
  appliesTo: {cluster: bench, namespace: default}
  annotations: {contact: research@example.com}
  queueName: team
"""
_GIVEN = ("  queueName: team\n", '    - {name: MODE, value: "on"}\n')
"""Lines of workloads that the defaults say for all."""


def seconds(root: Path) -> float:
    """Return the user time of a render into an empty tree."""
    shutil.rmtree(root / "overlays", ignore_errors=True)
    before = os.times().children_user
    command = [sys.executable, "-m", "slicewright", "render"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return os.times().children_user - before


def main() -> None:
    """Measure, and print JSON."""
    with tempfile.TemporaryDirectory(prefix="slicewright-bench-") as folder:
        plain, given = Path(folder) / "plain", Path(folder) / "given"
        keep_bytecode(Path(folder) / "bytecode")
        for root in (plain, given):
            make_repository(root, COUNT)
        for path in (given / "workloads").iterdir():
            text = path.read_text(encoding="utf-8")
            for line in _GIVEN:
                text = text.replace(line, "")
            path.write_text(text, encoding="utf-8")
        (given / "defaults").mkdir()
        (given / "defaults" / "all.yaml").write_text(_DEFAULTS, encoding="utf-8")
        seconds(plain)  # writes the bytecode
        pairs = [(seconds(plain), seconds(given)) for _ in range(PAIRS)]
    report = {
        "workloads": COUNT,
        "plainUserSeconds": round(statistics.median(first for first, _ in pairs), 3),
        "defaultsUserSeconds": round(statistics.median(second for _, second in pairs), 3),
        "ratio": round(statistics.median(second / first for first, second in pairs), 3),
    }
    print(json.dumps(report, indent=2))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
