"""What the JobSets of xpk ask for: the facts of its dry runs, and the slice of each name.

`python -m tests.cluster.importing.xpk_facts PYTHON` writes `xpk.yaml` again: it runs each row of it by
the xpk that is installed for that interpreter.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from slicewright.kubernetes.types import Object

from .facts import changes, facts, flow

FILE = Path(__file__).with_name("xpk.yaml")
ALWAYS = ("--workload=x", "--cluster=c", "--tpu-type=v6e-16", "--docker-image=python:3.12")
BASES = {
    "plain": "create --command 'python train.py'",
    "pathways": "create-pathways --command 'python train.py'",
}
_DRY = ("--project=p", "--zone=us-east5-b", "--dry-run", "--skip-validation")
_NAMES = """
import json
from xpk.core.system_characteristics import AcceleratorType, UserFacingNameToSystemCharacteristics as systems
print(json.dumps({
    name: [one.gke_accelerator, one.topology, one.vms_per_slice, one.chips_per_vm]
    for name, one in systems.items() if one.accelerator_type == AcceleratorType.TPU
}))
"""


def run(python: str, args: str) -> Object | None:
    """Return the JobSet that xpk writes for arguments, None where it refuses them."""
    verb, *words = shlex.split(args)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "out.yaml")
        program = [str(Path(python).with_name("xpk")), "workload", verb]
        command = [*program, *ALWAYS, *words, *_DRY, f"--output-manifest-file={file}"]
        subprocess.run(command, check=False, capture_output=True)
        if not file.exists():
            return None
        jobset: Object = yaml.safe_load(file.read_text())
        return _without_none(jobset)


def _without_none(jobset: Object) -> Object:
    """Return a JobSet without what xpk writes for options that are not there."""
    for job in jobset["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        if pod.get("imagePullSecrets") == [{"name": "None"}]:
            del pod["imagePullSecrets"]
        if pod.get("schedulerName") == "default-scheduler":
            del pod["schedulerName"]
        for container in pod["containers"]:
            container["env"] = container.get("env") or []
    return jobset


def _names(python: str) -> Iterator[str]:
    """Yield rows of names that mean the same accelerator, hosts of as many chips, and a topology each."""
    done = subprocess.run([python, "-c", _NAMES], check=True, capture_output=True, text=True)
    groups: dict[tuple[str, int], list[str]] = {}
    for name, (accelerator, topology, hosts, chips) in json.loads(done.stdout.splitlines()[-1]).items():
        own = "" if name.endswith(f"-{topology}") else f"={topology}"
        groups.setdefault((accelerator, chips), []).append(f"{name}{own}*{hosts}")
    for (accelerator, chips), names in groups.items():
        yield f"- {flow({'accelerator': accelerator, 'chips': chips, 'names': ' '.join(names)})}"


def _lines(data: Object, python: str) -> Iterator[str]:
    """Yield the lines of the file, without its head."""
    bases = {name: facts(run(python, args) or {}) for name, args in BASES.items()}
    yield yaml.safe_dump({"bases": bases}, sort_keys=False, width=120).rstrip("\n")
    yield "slices:"
    yield from _names(python)
    yield "flags:"
    for row in data["flags"]:
        base = "pathways" if row["args"].startswith("create-pathways") else "plain"
        jobset = run(
            python,
            row["args"] if "--headless" in row["args"] else f"{BASES[base]} {row['args'].partition(' ')[2]}",
        )
        means = {"facts": changes(facts(jobset), bases[base])} if jobset else {"refused": True}
        yield f"- {flow({'args': row['args']} | means)}"


def main(python: str) -> None:
    """Write the file again."""
    text = FILE.read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    data = yaml.safe_load(text)
    about = f"xpk: {flow(data['xpk'])}\n"
    FILE.write_text(f"{head}{about}" + "\n".join(_lines(data, python)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
