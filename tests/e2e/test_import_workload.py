"""`slicewright import workload` on what the real API server and webhooks stored."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from slicewright.cli.main import cli
from slicewright.cluster.importing import api_defaults as defaults
from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit
from .test_queueing import V5E, prepare

CHIPS = {"google.com/tpu": "4"}
PROBE = {"httpGet": {"path": "/", "port": 80}}
MAIN = {
    "name": "main",
    "image": "no.example/train:1",
    "ports": [{"containerPort": 8471}],
    "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "resources": {"limits": CHIPS},
}
POD: Object = {
    "serviceAccountName": "trainer",
    "initContainers": [{"name": "first", "image": "no.example/first@sha256:" + "0" * 64}],
    "containers": [
        MAIN,
        {"name": "log", "image": "no.example/log"},
        {"name": "l", "image": "a.b:1/l:latest"},
    ],
    "volumes": [
        {"name": "a", "configMap": {"name": "a"}},
        {"name": "b", "secret": {"secretName": "b"}},
        {"name": "c", "downwardAPI": {}},
        {"name": "d", "projected": {"sources": [{"configMap": {"name": "d"}}]}},
        {"name": "e", "hostPath": {"path": "/e"}},
    ],
}


def run(kind: str) -> Object:
    """Return a run with as little written as its API accepts."""
    pods = {"spec": copy.deepcopy(POD)}
    metadata = {"name": "train", "namespace": "default"}
    if kind == "PathwaysJob":
        controller = {"deploymentMode": "default", "template": pods}
        worker = {"type": "ct6e-standard-4t", "topology": "4x4", "numSlices": 1}
        spec: Object = {"pathwaysDir": "gs://b/d", "controller": controller, "workers": [worker]}
        return {"apiVersion": kit.PATHWAYSJOB[0], "kind": kind, "metadata": metadata, "spec": spec}
    if kind == "Job":
        pods["spec"]["restartPolicy"] = "Never"
        return {"apiVersion": kit.JOB[0], "kind": kind, "metadata": metadata, "spec": {"template": pods}}
    job = {"name": "slice", "template": {"spec": {"template": pods}}}
    spec = {"replicatedJobs": [job], "failurePolicy": {"rules": [{"action": "FailJobSet"}]}}
    return {"apiVersion": kit.JOBSET[0], "kind": kind, "metadata": metadata, "spec": spec}


def filled_in(value: Any, kind: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the last two fields of the path of each value that counts as filled in."""
    for entry in value if isinstance(value, list) else ():
        yield from filled_in(entry, kind, path)
    for key, entry in value.items() if isinstance(value, dict) else ():
        if defaults.is_default(entry, (*path, key), value, kind):
            yield (path[-1], key)
        yield from filled_in(entry, kind, (*path, key))


def taken_out(stored: Object) -> Object:
    """Return a stored object without defaults, and without what the controller of Jobs writes."""
    left: Object = defaults.without_defaults(stored, stored["kind"])
    left["spec"].pop("selector", None)
    if stored["kind"] == "Job":
        del left["spec"]["template"]["metadata"]
    return left


def test_what_the_server_fills_in_is_taken_out(bed: Bed) -> None:
    """A stored run without the defaults of import is what was sent; each default is one of some run."""
    found = set()
    for kind in ("JobSet", "Job", "PathwaysJob"):
        sent = run(kind)

        stored = bed.api.create(sent, dryRun="All")

        assert sent["spec"] == taken_out(stored)["spec"]
        found |= set(filled_in(stored, kind)) - set(filled_in(sent, kind))
    assert set() == defaults.DEFAULTS.keys() - found


def imported(*options: str) -> dict[str, Any]:
    """Run the import in this repository and return its result."""
    done = CliRunner().invoke(
        cli, ["import", "-C", str(kit.ROOT), "workload", *options, "-o", "json"], prog_name="slicewright"
    )
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_living_run_is_imported_as_its_file(bed: Bed, tmp_path: Path) -> None:
    """A JobSet that the API server stored and Kueue started gives the TPUWorkload that its file gives."""
    prepare(bed)
    sent = run("JobSet")
    sent["metadata"]["labels"] = {kit.QUEUE: "multislice-queue", "team": "a"}
    (job,) = sent["spec"]["replicatedJobs"]
    job["template"]["spec"] |= {"parallelism": 2, "completions": 2, "backoffLimit": 0}
    pod = job["template"]["spec"]["template"]["spec"]
    # No account, no volumes and no probes: simulated pods have to start.
    for key in ("serviceAccountName", "initContainers", "volumes"):
        del pod[key]
    pod["containers"] = [{"name": "main", "image": "no.example/train:1", "resources": {"limits": CHIPS}}]
    pod["nodeSelector"] = dict(V5E)
    file = tmp_path / "train.yaml"
    file.write_text(json.dumps(sent), encoding="utf-8")
    (rendered,) = kit.composed("overlays/multislice-cluster/default/multislice-1slice")

    bed.api.create(sent)
    bed.api.create(rendered)
    bed.until("the run to be admitted", lambda: "train" in kit.admitted(bed))
    bed.until("its pods to be made", lambda: len(kit.pods_of(bed, "train")) == 2)
    context = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))["current-context"]
    reach = ("--kubeconfig", str(bed.kubeconfig), "--context", context)
    living = imported("--from-cluster", "multislice-cluster", *reach)

    of_file = imported(str(file), "--cluster", "multislice-cluster")
    assert [of_file["workloads"][0]["workload"]] == [one["workload"] for one in living["workloads"]]
    expected = {"JobSet of a TPUWorkload": 1, "Job of a JobSet": 2}
    assert expected == living["report"]["notRuns"]
