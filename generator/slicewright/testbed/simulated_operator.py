"""The simulated operator: a process that creates a JobSet for each PathwaysJob and reports its status.

`python -m slicewright.testbed.simulated_operator KUBECONFIG FOLDER` runs until it is killed. It knows the TPU
generations that the repository of the folder adds, too.
"""

import datetime as dt
import queue
import sys
import threading
from pathlib import Path

from slicewright.catalogue.catalogue import Catalogue
from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.fields import conditions, is_true
from slicewright.kubernetes.kinds import RUN_VERSIONS
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import catalogue_at
from slicewright.testbed.pathways_jobset import UnknownShapeError, jobset, shape_of

_JOBSET, _PATHWAYSJOB = RUN_VERSIONS["JobSet"], RUN_VERSIONS["PathwaysJob"]
_LAST = ("Completed", "Failed")
_RETRY_SECONDS = 1.0


def run(api: Api, catalogue: Catalogue) -> None:
    """Reconcile whatever changes, one name at a time, forever."""
    names: queue.Queue[tuple[str, str]] = queue.Queue()
    for kind in (_PATHWAYSJOB, _JOBSET):
        threading.Thread(target=_follow, args=(api, *kind, names), daemon=True).start()
    while True:
        name = names.get()
        try:
            reconcile(api, catalogue, *name)
        except (ApiError, OSError) as error:
            _say(f"{'/'.join(name)}: {error}")
            threading.Timer(_RETRY_SECONDS, names.put, (name,)).start()


def reconcile(api: Api, catalogue: Catalogue, namespace: str, name: str) -> None:
    """Create the JobSet of a PathwaysJob if it is missing, and write its status."""
    pathwaysjob = api.find(*_PATHWAYSJOB, name, namespace)
    if pathwaysjob is None or pathwaysjob["metadata"].get("deletionTimestamp"):
        return
    if pathwaysjob.get("status", {}).get("terminalState"):
        return
    child = api.find(*_JOBSET, name, namespace)
    if child is None:
        try:
            child = api.create(jobset(pathwaysjob, shape_of(pathwaysjob, catalogue)))
        except UnknownShapeError as error:
            _report(api, pathwaysjob, "Failed", str(error))
            return
        _say(f"{namespace}/{name}: JobSet created")
    _report(api, pathwaysjob, _state(child), "as its JobSet")


def _state(child: Object) -> str:
    status = child.get("status", {})
    for kind in (*_LAST, "Suspended"):
        if is_true(conditions(status), kind):
            return kind
    jobs = status.get("replicatedJobsStatus") or ()
    ready = {entry["name"]: entry["ready"] + entry["succeeded"] for entry in jobs}
    replicas = {job["name"]: job["replicas"] for job in child["spec"]["replicatedJobs"]}
    return "Running" if ready == replicas else "Pending"


def _report(api: Api, pathwaysjob: Object, state: str, message: str) -> None:
    conditions = pathwaysjob.get("status", {}).get("conditions") or []
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    current = next((entry["type"] for entry in conditions if entry["status"] == "True"), "")
    if current == state:
        return
    others = [
        {**entry, "status": "False", "lastTransitionTime": now} if entry["status"] == "True" else entry
        for entry in conditions
        if entry["type"] != state
    ]
    entry = {"type": state, "status": "True", "reason": state, "message": message, "lastTransitionTime": now}
    status: Object = {"conditions": [*others, entry]}
    if state in _LAST:
        status["terminalState"] = state
    api.patch(pathwaysjob, {"status": status}, subresource="status")


def _follow(api: Api, api_version: str, kind: str, names: queue.Queue[tuple[str, str]]) -> None:
    while True:
        try:
            for _, item in api.watch(api_version, kind):
                names.put((item["metadata"].get("namespace", ""), item["metadata"]["name"]))
        except (ApiError, OSError) as error:
            _say(f"watching {kind}: {error}")
            threading.Event().wait(_RETRY_SECONDS)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with Api(kubeconfig.read(Path(sys.argv[1]))) as client:
        run(client, catalogue_at(Path(sys.argv[2]))[0])
