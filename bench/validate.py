"""Compare `slicewright validate` with kubeconform, and with kustomize piped into kubeconform; prints JSON.

Every command is a process of its own, so that start-up counts. The two commands of a pair alternate in one
run, and their ratio is that of their medians: above 1 the other one is slower.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.render import keep_bytecode, timed
from bench.workloads import make_repository
from slicewright.check.io.schema_folders import packaged
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find
from slicewright.schema.kind import LOCATION

_DIGEST = f"bench@sha256:{'0123456789abcdef' * 4}"
_VALIDATE = [sys.executable, "-m", "slicewright", "validate"]


def tool(name: str) -> str:
    """Return the path of a pinned program."""
    found = find(name)
    if isinstance(found, Problem):
        raise SystemExit(found.text())
    return str(found)


def kubeconform() -> list[str]:
    """Return kubeconform's command with our schemas, told to use every core."""
    return [
        *(tool("kubeconform"), "-strict", "-summary", "-output", "json", "-n", "8"),
        *("-schema-location", f"{packaged()}/{LOCATION}"),
    ]


def make_jobsets(root: Path, folder: Path, count: int) -> None:
    """Write `count` JobSets in which no rule finds anything, one a file; images are pinned by digest."""
    printed = subprocess.run(
        [sys.executable, "-m", "slicewright", "render", "--stdout"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    jobsets = [
        text
        for text in printed.stdout.split("---\n")
        if "\nkind: JobSet\n" in text and "pathways" not in text
    ]
    folder.mkdir()
    for number in range(count):
        text = jobsets[number % len(jobsets)].replace("train-", f"b{number}-")
        lines = [
            f"{line.partition('image: ')[0]}image: {_DIGEST}" if "image: " in line else line
            for line in text.splitlines()
        ]
        (folder / f"jobset-{number:05d}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def alternate(commands: dict[str, list[str]], folder: Path, runs: int) -> dict[str, float]:
    """Return the median seconds of some commands, run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            seconds[name].append(seconds_of(command, folder))
    return {name: round(statistics.median(values), 3) for name, values in seconds.items()}


def seconds_of(command: list[str], folder: Path) -> float:
    """Run a command that may find problems; only a broken one ends the benchmark."""
    shell = ["bash", "-c", f"{shlex.join(command)}; test $? -le 1"] if command[0] != "bash" else command
    return timed(shell, folder)[0]


def files(root: Path, scratch: Path, count: int, runs: int) -> dict[str, float]:
    """Measure (a): JobSet files on disk, by schemas only and with all rules, against kubeconform."""
    folder = scratch / f"jobsets-{count}"
    make_jobsets(root, folder, count)
    found = alternate(
        {
            "kubeconformSeconds": [*kubeconform(), str(folder)],
            "schemasOnlySeconds": [*_VALIDATE, "--schemas-only", str(folder)],
            "allRulesSeconds": [*_VALIDATE, str(folder)],
        },
        scratch,
        runs,
    )
    theirs = found["kubeconformSeconds"]
    return {
        "files": count,
        **found,
        "kubeconformOverSchemasOnly": round(theirs / found["schemasOnlySeconds"], 2),
        "allRulesOverKubeconform": round(found["allRulesSeconds"] / theirs, 2),
    }


def tree(root: Path, count: int, runs: int) -> dict[str, float]:
    """Measure (b): a tree of overlays, composed and checked, against one kustomize piped into kubeconform."""
    subprocess.run([sys.executable, "-m", "slicewright", "render"], cwd=root, check=True, capture_output=True)
    build = shlex.join([tool("kustomize"), "build", "overlays/bench/default"])
    pipe = f"set -o pipefail; {build} | {shlex.join(kubeconform())}"
    found = alternate(
        {"kustomizeAndKubeconformSeconds": ["bash", "-c", pipe], "validateSeconds": _VALIDATE}, root, runs
    )
    ratio = found["kustomizeAndKubeconformSeconds"] / found["validateSeconds"]
    return {"overlays": count, **found, "kustomizeAndKubeconformOverValidate": round(ratio, 2)}


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slicewright-bench-") as folder:
        scratch = Path(folder)
        keep_bytecode(scratch / "bytecode")
        small, large, sample = scratch / "small", scratch / "large", scratch / "sample"
        make_repository(sample, 40)
        make_repository(small, options.small)
        make_repository(large, options.large)
        few = files(sample, scratch, options.small, options.runs)
        one = tree(small, options.small, options.runs)
        subprocess.run(
            [sys.executable, "-m", "slicewright", "render"], cwd=large, check=True, capture_output=True
        )
        many = alternate({"validateSeconds": _VALIDATE}, large, max(1, options.runs // 2))
        growth = options.large / options.small
        report = {
            "files": few,
            "tree": one,
            "largeTree": {"overlays": options.large, **many},
            "linearity": round(many["validateSeconds"] / one["validateSeconds"] / growth, 2),
        }
    print(json.dumps(report, indent=2))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
