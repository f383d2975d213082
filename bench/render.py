"""Render 1,000 and 10,000 workloads, check the unchanged tree, build the 1,000 with one kustomize process.

Prints JSON. Every command is a process of its own, so that start-up counts; peak memory is the process's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.workloads import make_repository
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find

_MEBI = 1024 * 1024


def keep_bytecode(folder: Path) -> None:
    """Let Python keep its bytecode in a folder, as installations do, whatever the environment says."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return wall-clock seconds and the peak memory of its process in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit / _MEBI


def render_and_check(root: Path, count: int, runs: int) -> dict[str, float]:
    """Measure renders into an empty tree, and checks of the unchanged one; medians."""
    command = [sys.executable, "-m", "slicewright", "render"]
    first = []
    for _ in range(runs):
        shutil.rmtree(root / "overlays", ignore_errors=True)
        first.append(timed(command, root))
    seconds, memory = statistics.median(value for value, _ in first), max(value for _, value in first)
    checks = [timed([*command, "--check"], root) for _ in range(runs)]
    again = [timed(command, root) for _ in range(runs)]
    check = statistics.median(value for value, _ in checks)
    return {
        "workloads": count,
        "renderSeconds": round(seconds, 3),
        "renderPeakMiB": round(memory, 1),
        "checkSeconds": round(check, 3),
        "checkPeakMiB": round(max(value for _, value in checks), 1),
        "renderUnchangedSeconds": round(statistics.median(value for value, _ in again), 3),
        "checkOverRender": round(check / seconds, 2),
    }


def sweeps_over_plain(plain: Path, sweeps: Path, runs: int) -> float:
    """Return how much longer the same number of runs takes as sweeps, rendered in turn; the median."""
    command = [sys.executable, "-m", "slicewright", "render"]
    ratios = []
    for _ in range(runs):
        for root in (plain, sweeps):
            shutil.rmtree(root / "overlays", ignore_errors=True)
        ratios.append(timed(command, sweeps)[0] / timed(command, plain)[0])
    return statistics.median(ratios)


def kustomize_seconds(root: Path, runs: int) -> float:
    """Build all overlays with one kustomize process, through the kustomization of their namespace."""
    kustomize = find("kustomize")
    if isinstance(kustomize, Problem):
        raise SystemExit(kustomize.text())
    command = [str(kustomize), "build", "overlays/bench/default"]
    return statistics.median(timed(command, root)[0] for _ in range(runs))


def start_up(runs: int) -> dict[str, float]:
    """Compare `slicewright --version` with a bare interpreter, alternating."""
    version = [sys.executable, "-m", "slicewright", "--version"]
    bare = [sys.executable, "-c", "pass"]
    ours, theirs = [], []
    for _ in range(runs):
        theirs.append(timed(bare, Path())[0])
        ours.append(timed(version, Path())[0])
    return {
        "versionMilliseconds": round(statistics.median(ours) * 1000, 1),
        "barePythonMilliseconds": round(statistics.median(theirs) * 1000, 1),
        "differenceMilliseconds": round((statistics.median(ours) - statistics.median(theirs)) * 1000, 1),
    }


def stages(root: Path) -> dict[str, float]:
    """Say where the time of a render goes, in one process: seconds by stage."""
    code = (
        "import time, json; t0 = time.perf_counter()\n"
        "from pathlib import Path; from slicewright import load, render\n"
        "from slicewright.rendering.io import write\n"
        "from slicewright.rendering.io.package_data import package\n"
        "t1 = time.perf_counter(); package(); t2 = time.perf_counter(); c = load('.')\n"
        "t3 = time.perf_counter(); r = render(c); t4 = time.perf_counter()\n"
        "write.apply(Path('.'), r.writes, r.deletes); t5 = time.perf_counter()\n"
        "print(json.dumps({'import': t1-t0, 'packageData': t2-t1, 'readInput': t3-t2, 'planAndBuild': t4-t3,"
        " 'write': t5-t4}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    return {name: round(value, 3) for name, value in json.loads(done.stdout).items()}


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slicewright-bench-") as folder:
        small, large, staged, sweeps = (
            Path(folder) / name for name in ("small", "large", "staged", "sweeps")
        )
        keep_bytecode(Path(folder) / "bytecode")
        make_repository(small, options.small)
        make_repository(large, options.large)
        make_repository(staged, options.small)
        make_repository(sweeps, options.small, sweeps=True)
        first = render_and_check(small, options.small, options.runs)
        second = render_and_check(large, options.large, options.runs)
        build = kustomize_seconds(small, options.runs)
        report = {
            "small": first,
            "large": second,
            "linearity": round(
                second["renderSeconds"] / first["renderSeconds"] / (options.large / options.small), 2
            ),
            "sweepsOverPlain": round(sweeps_over_plain(small, sweeps, options.runs), 2),
            "kustomizeBuildSeconds": round(build, 3),
            "kustomizeOverRender": round(build / first["renderSeconds"], 2),
            "startUp": start_up(max(options.runs, 9)),
            "stages": stages(staged),
        }
    print(json.dumps(report, indent=2))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
