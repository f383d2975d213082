"""What the JobSets of gcluster ask for: the facts of its dry runs.

`python -m tests.cluster.importing.gcluster_facts GCLUSTER` writes `gcluster.yaml` again: it runs each
row of it by that program, with `POOLS` set to the machine types of the node pools that the cluster must have.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from slicewright.kubernetes.types import Object

from .facts import changes, facts, flow

FILE = Path(__file__).with_name("gcluster.yaml")
ALWAYS = ("--name=x", "--cluster=c", "--location=us-east5-b", "--project=p")
BASE = "--command 'python train.py' --image python:3.12"
SLICE = "--compute-type v6e-16"
PATHWAYS = "--pathways --pathways-gcs-location gs://b/t"


def run(program: str, args: str, pools: str) -> Object | None:
    """Return the JobSet that gcluster writes for arguments, None where it refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "out.yaml")
        command = [program, "job", "submit", *ALWAYS, f"--dry-run-out={file}", *shlex.split(args)]
        environ = {**os.environ, "POOLS": pools}
        subprocess.run(command, env=environ, check=False, capture_output=True)
        if not file.exists():
            return None
        objects: list[Object] = list(yaml.safe_load_all(file.read_text()))
        return next(one for one in objects if one["kind"] == "JobSet")


def _lines(data: Object, program: str) -> Iterator[str]:
    """Yield the lines of the file, without its head."""
    bases = {}
    for name, args in {"plain": "", "pathways": PATHWAYS}.items():
        bases[name] = facts(run(program, f"{BASE} {SLICE} {args}", "ct6e-standard-4t") or {})
    yield yaml.safe_dump({"bases": bases}, sort_keys=False, width=120).rstrip("\n")
    yield "slices:"
    for row in data["slices"]:
        jobset = run(program, f"{BASE} {row['args']}", row["pools"])
        found = facts(jobset) if jobset else {}
        keys = ("accelerator", "topology", "hosts", "chips")
        means = {key: found[key] for key in keys} if found else {"refused": True}
        yield f"- {flow({key: row[key] for key in ('args', 'pools')} | means)}"
    yield "flags:"
    for row in data["flags"]:
        slice_args = row.get("slice", SLICE)
        jobset = run(program, f"{BASE} {slice_args} {row['args']}", row.get("pools", "ct6e-standard-4t"))
        means = {"refused": True}
        if jobset is not None:
            found = facts(jobset)
            means = {"facts": changes(found, bases["pathways" if "head" in found else "plain"])}
        yield f"- {flow({key: row[key] for key in ('args', 'slice', 'pools') if key in row} | means)}"


def main(program: str) -> None:
    """Write the file again."""
    text = FILE.read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    data = yaml.safe_load(text)
    about = f"gcluster: {flow(data['gcluster'])}\n"
    FILE.write_text(f"{head}{about}" + "\n".join(_lines(data, program)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
