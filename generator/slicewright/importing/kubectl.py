"""kubectl, to read with: any credential that works there works here, helper programs included."""

import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from slicewright.binaries.find import find, which
from slicewright.core.importing.inventory import Inventory, flaw
from slicewright.core.kubernetes.kinds import KUEUE_GROUP, KUEUE_VERSIONS
from slicewright.core.kubernetes.read import entries, mapping, text
from slicewright.core.kubernetes.types import Object
from slicewright.core.problem import Problem

_SECONDS = 120
"""For how long one answer may take; thousands of nodes come in pieces."""
_REQUEST_TIMEOUT = "--request-timeout=60s"
_VARIABLE = "SLICEWRIGHT_KUBECTL"
_FORBIDDEN = re.compile(r"\(Forbidden\)|is forbidden|Unauthorized|must be logged in")
_NOT_FOUND = re.compile(r"\(NotFound\)|doesn't have a resource type|could not find the requested resource")
_PLUGIN = re.compile(r"executable (?P<program>\S+) not found")
_LARGEST = 256 * 1024 * 1024
"""Bytes of one answer that are read: a node has about 15 KiB, and GKE has clusters of 15,000."""
_MOST_SAID = 64 * 1024
_SHOWN = 400
"""Characters of what kubectl said that a message quotes."""


class KubectlError(Exception):
    """kubectl gave no answer."""

    def __init__(self, problem: Problem, *, refused: bool = False) -> None:
        super().__init__(problem.text())
        self.problem = problem
        self.refused = refused
        """Whether the cluster answered, and said no."""


def program(environ: Mapping[str, str] = os.environ) -> Path | Problem:
    """Return kubectl: what the variable names, else that of PATH in any version, else the pinned one."""
    on_path = None if environ.get(_VARIABLE) else which("kubectl", environ)
    if on_path:
        return Path(on_path)
    pinned = find("kubectl", environ)
    if isinstance(pinned, Path) or environ.get(_VARIABLE):
        return pinned
    hint = f"install kubectl and put it on PATH, or set {_VARIABLE} to its path"
    return Problem("IMP001", "kubectl is missing; slicewright reads the cluster through it", hint)


class Kubectl(Struct, frozen=True):
    """kubectl for one context; it only ever gets and lists."""

    program: Path
    context: str
    kubeconfig: Path | None = None

    def contexts(self) -> list[str]:
        """Return the names of all contexts. Raises KubectlError."""
        return self._run("config", "get-contexts", "-o", "name", of_context=False).split()

    def raw(self, path: str) -> Any:
        """Return what a path of the API server answers, None where it has none. Raises KubectlError."""
        return self._answer("get", "--raw", path)

    def list(self, resource: str, *options: str) -> list[dict[str, Any]]:
        """Return the objects of a resource everywhere, none where it is unknown. Raises KubectlError."""
        answer = self._answer("get", resource, "--all-namespaces", "-o", "json", *options)
        if answer is None:
            return []
        if why := flaw(answer):
            hint = (
                f"look at the output of kubectl get {resource} -o json: it does not come from an API server"
            )
            message = f"the answer about {resource} is not a list of objects: {why[:_SHOWN]}"
            raise KubectlError(Problem("IMP010", message, hint))
        items: list[dict[str, Any]] = answer["items"]
        return items

    def _answer(self, *arguments: str) -> Any:
        try:
            return json.loads(self._run(*arguments))
        except _NotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise KubectlError(_unreachable(f"kubectl did not print JSON: {error}")) from error

    def _run(self, *arguments: str, of_context: bool = True) -> str:
        command = [str(self.program)]
        if self.kubeconfig is not None:
            command.append(f"--kubeconfig={self.kubeconfig}")
        if of_context:
            command += [f"--context={self.context}", _REQUEST_TIMEOUT]
        try:
            code, answer, stderr = _output([*command, *arguments])
        except OSError as error:
            hint = f"put kubectl on PATH, or set {_VARIABLE} to its path"
            problem = Problem("IMP001", f"{self.program} does not start: {error.strerror}", hint)
            raise KubectlError(problem) from error
        if len(answer) > _LARGEST:
            hint = "write the TPUCluster by hand: import reads clusters of up to about 15,000 nodes"
            message = f"the answer about {arguments[1]} has more than {_LARGEST >> 20} MiB"
            raise KubectlError(Problem("IMP011", message, hint))
        if code == 0:
            return answer.decode(errors="replace")
        if _NOT_FOUND.search(stderr):
            raise _NotFoundError
        if _FORBIDDEN.search(stderr):
            hint = "ask for a role with get and list on it; on GKE roles/container.viewer has them"
            problem = Problem("IMP003", f"you may not read {arguments[1]}: {_last(stderr)}", hint)
            raise KubectlError(problem, refused=True)
        raise KubectlError(_unreachable(stderr))


def _output(command: list[str]) -> tuple[int, bytes, str]:
    """Return the exit code of a command, what it answers (a byte more than is read at most), what it says.

    Raises KubectlError, OSError.
    """
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=stderr) as process,
    ):
        late = threading.Timer(_SECONDS, process.kill)
        late.start()
        try:
            answer = process.stdout.read(_LARGEST + 1) if process.stdout else b""
            if len(answer) > _LARGEST:
                process.kill()
            code = process.wait()
        finally:
            process.kill()
            is_late = not late.is_alive()
            late.cancel()
        if is_late:
            raise KubectlError(_unreachable(f"no answer within {_SECONDS} s"))
        stderr.seek(0)
        return code, answer, stderr.read(_MOST_SAID).decode(errors="replace").strip()


class _NotFoundError(Exception):
    """The API server has no such thing."""


def _last(stderr: str) -> str:
    lines = stderr.splitlines() or [""]
    return lines[-1].removeprefix("error: ").removeprefix("Error from server ")[:_SHOWN]


def _unreachable(stderr: str) -> Problem:
    plugin = _PLUGIN.search(stderr)
    hint = "try kubectl get nodes with the same context, and check --kubeconfig"
    if plugin:
        hint = f"the context logs in through {plugin['program']}: install it and put it on PATH"
    return Problem("IMP002", f"the cluster does not answer: {_last(stderr)}", hint)


_KUEUE = {
    "flavors": "resourceflavors",
    "cluster_queues": "clusterqueues",
    "cohorts": "cohorts",
    "local_queues": "localqueues",
    "workload_priority_classes": "workloadpriorityclasses",
    "topologies": "topologies",
    "admission_checks": "admissionchecks",
    "provisioning_request_configs": "provisioningrequestconfigs",
}
_OLDER = {"cohorts": "v1alpha1", "topologies": "v1alpha1"}
"""What was an alpha version for longer."""


def read_inventory(kubectl: Kubectl) -> tuple[Inventory, tuple[Problem, ...]]:
    """Return what a cluster holds and what could not be read. Raises KubectlError where nothing can."""
    objects: dict[str, tuple[Object, ...]] = {}
    problems: list[Problem] = []

    def fetch(field: str, resource: str, *options: str, needed: bool = True) -> None:
        try:
            objects[field] = tuple(kubectl.list(resource, *options))
        except KubectlError as error:
            if not error.refused:
                raise
            if needed:
                problems.append(error.problem)

    fetch("nodes", "nodes")
    group = mapping(kubectl.raw(f"/apis/{KUEUE_GROUP}"))
    versions = tuple(text(entry.get("version")) for _, entry in entries(group.get("versions")))
    fetch("priority_classes", "priorityclasses.v1.scheduling.k8s.io", needed=False)
    fetch("deployments", "deployments.v1.apps", needed=False)
    for field, resource in _KUEUE.items() if versions else ():
        # A version may lack a kind that an older one has; kubectl itself prefers what the server prefers.
        served = next((version for version in KUEUE_VERSIONS if version in versions), versions[0])
        fetch(field, f"{resource}.{served}.{KUEUE_GROUP}")
        if not objects.get(field) and _OLDER.get(field) in versions:
            fetch(field, f"{resource}.{_OLDER[field]}.{KUEUE_GROUP}", needed=False)
    if not versions:
        hint = "install Kueue, or add clusterQueues by hand later"
        message = "the cluster has no Kueue, so the file has no queues, quotas and priority classes"
        problems.append(Problem("IMP004", message, hint, severity="warning"))
    return Inventory(**objects, kueue_versions=versions), tuple(problems)
