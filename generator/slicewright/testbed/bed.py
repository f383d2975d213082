"""A bed: the common part of a test bed with its own control plane, and of an existing cluster."""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.testbed import nodes, process_group, waiting
from slicewright.testbed.nodes import SIMULATED, simulated_nodes
from slicewright.testbed.process_group import ProcessGroup
from slicewright.testbed.waiting import BedError

START_SECONDS = 180
"""Seconds in which a part of a bed must get ready; on a busy machine more, see `wait`."""

_SEEN_SECONDS = 3.0
_NOT_READY = "node.kubernetes.io/not-ready"

Answer = TypeVar("Answer")

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,40}[a-z0-9])?")


class Bed:
    """Programs of the calling user around one API server.

    They end with the `with` block, and with this process however that ends, unless `detach` was called. Logs
    are kept when the block is left by an exception or a program ended by itself; then `logs` says where.

    A subclass names its programs, says how the API server is reached (`_connect`), and makes a bed of it
    (`_install`).
    """

    programs: tuple[str, ...] = ()
    """The pinned programs that it starts."""
    ports = 0
    """The number of ports that they need."""

    def __init__(
        self,
        name: str | None = None,
        *,
        root: Path | None = None,
        progress: Callable[[str], object] = lambda _: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = f"run-{os.getpid()}-{secrets.token_hex(3)}" if name is None else name
        self.logs: Path | None = None
        self.simulates = nodes.KWOK_NODES
        """The value of the annotation on the nodes that this bed's KWOK simulates."""
        self._root = (root or process_group.clusters_root(environ)).absolute()
        self._progress = progress
        self._environ = environ
        self._paths: Mapping[str, Path] = {}
        self._processes: ProcessGroup | None = None
        self._kubeconfig: Path | None = None
        self._api: Api | None = None

    def _connect(self) -> tuple[Access, Path]:
        """Start the control plane, if it is our own, and return the connection and its kubeconfig file."""
        raise NotImplementedError

    def _install(self) -> None:
        """Start the other programs, and make the objects of a bed."""

    def __enter__(self) -> Self:
        """Start, and wait until everything answers. Raises BedError."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End everything; keep the logs if something went wrong."""
        try:
            if kind is not None:
                self.keep_logs()
        finally:
            self.stop()

    @property
    def api(self) -> Api:
        """Return a client with all rights."""
        assert self._api is not None, "the bed is not started"  # noqa: S101 - a mistake of the caller
        return self._api

    @property
    def kubeconfig(self) -> Path:
        """Return the kubeconfig file of that client."""
        assert self._kubeconfig is not None, "the bed is not started"  # noqa: S101 - a mistake of the caller
        return self._kubeconfig

    @property
    def processes(self) -> ProcessGroup:
        """Return the folder, the ports and the programs that this bed has started."""
        assert self._processes is not None, "the bed has not started any"  # noqa: S101 - as above
        return self._processes

    def check(self) -> None:
        """Raise BedError if a program of the bed has ended."""
        self.processes.check()

    def start(self) -> None:
        """Start, and wait until everything answers. Raises BedError."""
        if _NAME.fullmatch(self.name) is None:
            hint = "use lower-case letters, digits and hyphens; the limit is 42 characters"
            raise BedError(Problem("BED007", f"'{self.name}' is not a valid name for a cluster", hint))
        began = time.monotonic()
        try:
            self._start()
            took = round(time.monotonic() - began, 1)
            self.note(ready=True, seconds=took, kubeconfig=str(self.kubeconfig))
            self._progress(f"ready after {took} s")
        except BaseException:  # a Ctrl-C too, up to the last moment
            try:
                self.keep_logs()
            finally:
                self.stop()
            raise

    def add_nodes(self, site: ResolvedCluster) -> int:
        """Create the simulated nodes of a cluster's pools, wait until they can take pods, return how many."""
        nodes = simulated_nodes(site, annotated=self.simulates)
        self.api.each(self.api.create, nodes)
        self.wait_for_nodes(nodes)
        return len(nodes)

    def wait_for_nodes(self, nodes: Iterable[Object]) -> None:
        """Wait until new nodes can take pods. Raises BedError.

        The API server marks a new node as not ready; the controller manager takes the mark away, at about 20
        nodes a second if it has the QPS of its defaults.
        """
        names = {node["metadata"]["name"] for node in nodes}
        self.until("nodes to be ready", lambda: not names & self._not_ready())

    def _not_ready(self) -> set[str]:
        return {
            node["metadata"]["name"]
            for node in self.api.list("v1", "Node", labels=f"{SIMULATED}=true")
            if any(taint["key"] == _NOT_READY for taint in node["spec"].get("taints", ()))
        }

    def until(
        self, awaited: str, probe: Callable[[], Answer | None], *, seconds: float = START_SECONDS
    ) -> Answer:
        """Wait for a condition while all programs run. Raises BedError, which names the condition."""
        return waiting.until(awaited, probe, seconds=seconds, check=self.check)

    def ended(self) -> Problem | None:
        """Return the problem of a program that has ended, if there is one: its end may be seen last."""
        seen = partial(waiting.until, "the end of a program", lambda: None, check=self.check)
        try:
            seen(seconds=_SEEN_SECONDS)
        except BedError as error:
            if error.problem.id != waiting.TOO_LONG:
                return error.problem
        return None

    def note(self, **facts: object) -> None:
        """Write facts that `slicewright cluster status` shows."""
        if self._processes:
            self._processes.note(**facts)

    def keep_logs(self) -> None:
        """Keep the logs when the bed goes."""
        if self._processes:
            self._processes.keep_logs()

    def detach(self) -> None:
        """Let the programs run without this process, until `slicewright cluster down`."""
        if self._processes:
            self._processes.detach()
            self._processes = None
        self._close_api()

    def stop(self) -> None:
        """End everything."""
        self._close_api()
        if self._processes:
            self.logs = self._processes.close()
            self._processes = None

    def _start(self) -> None:
        self._paths = process_group.locate_programs(self.programs, self._environ)
        self._processes = ProcessGroup(self._root, self.name, self.ports)
        access, self._kubeconfig = self._connect()
        self._api = Api(access)
        try:
            self._install()
        except (ApiError, OSError) as error:
            usual = Problem("BED002", f"the API server refused a step of the test bed: {error}")
            raise BedError(self.ended() or usual) from error

    def _wait_for(self, awaited: str, program: str, probe: Callable[[], object]) -> None:
        """Wait for a part of the bed; if it does not start, the program's log is shown. Raises BedError."""
        blame = partial(self.processes.blame, program=program)
        waiting.until(awaited, probe, seconds=START_SECONDS, check=self.check, blame=blame)

    def _close_api(self) -> None:
        if self._api:
            self._api.close()
