"""Looking at a cluster from outside: its processes, its ports, its folder."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from slicewright.testbed import supervisor, waiting
from slicewright.testbed.bed import Bed

SomeBed = TypeVar("SomeBed", bound=Bed)
DEADLINE = 180.0
GUEST = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: guest}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools: [{name: guest, machineType: n2-standard-4}]
"""
"""A TPUCluster with one node, guest-0, for a bed beside a cluster."""


@contextmanager
def keeping_logs(bed: SomeBed, request: pytest.FixtureRequest) -> Iterator[SomeBed]:
    """Hold a bed for a session of tests; its logs are kept, and named, when a test failed."""
    with bed:
        yield bed
        if request.session.testsfailed:
            bed.keep_logs()
    if bed.logs:
        say(request, f"logs of the cluster: {bed.logs}")


def say(request: pytest.FixtureRequest, text: str) -> None:
    """Write a line where the results of the tests are written."""
    if reporter := request.config.pluginmanager.get_plugin("terminalreporter"):
        reporter.write_line(text)


def processes(root: Path) -> dict[int, str]:
    """Return the processes that name a folder on their command line, without this one's children `ps`."""
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,command="], capture_output=True, check=True, encoding="utf-8"
    )
    rows = [line.strip().partition(" ") for line in listed.stdout.splitlines()]
    return {int(pid): command for pid, _, command in rows if str(root) in command and int(pid) != os.getpid()}


def is_free(port: int) -> bool:
    """Tell whether a server could listen on a loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def clusters(root: Path) -> list[Path]:
    """Return the folders of clusters below a root."""
    return [entry for entry in root.iterdir() if entry.is_dir() and entry.name != supervisor.SHELF]


def eventually(what: str, probe: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Wait until something holds, or fail with its name; longer on a busy machine."""
    began = time.monotonic()
    while not probe():
        took = time.monotonic() - began
        assert took < waiting.stretched(seconds), f"not within {took:.0f} s: {what}"
        time.sleep(0.02)


def assert_nothing_left(root: Path, ports: list[int]) -> None:
    """Wait until processes have ended, folders are gone and ports are free."""
    eventually("no processes are left", lambda: not processes(root))
    eventually("no folders are left", lambda: not clusters(root))
    eventually("ports are free", lambda: all(map(is_free, ports)))


def listening(pids: list[int]) -> set[str]:
    """Return the addresses, as `host:port`, on which processes listen for TCP."""
    return _listening_linux(pids) if sys.platform == "linux" else _listening_lsof(pids)


def _listening_linux(pids: list[int]) -> set[str]:
    inodes = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            found = re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink()))
            if found:
                inodes.add(found[1])
    addresses = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in inodes:
                host, port = local.split(":")
                addresses.add(f"{_host(host, family)}:{int(port, 16)}")
    return addresses


def _host(text: str, family: int) -> str:
    """Return an address of /proc/net/tcp, which has its 32-bit words in the byte order of the machine."""
    words = [bytes.fromhex(text[at : at + 8]) for at in range(0, len(text), 8)]
    ordered = [word[::-1] if sys.byteorder == "little" else word for word in words]
    return socket.inet_ntop(family, b"".join(ordered))


def _listening_lsof(pids: list[int]) -> set[str]:
    listed = subprocess.run(
        ["lsof", "-nP", "-a", "-iTCP", "-sTCP:LISTEN", "-Fn", "-p", ",".join(map(str, pids))],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    return {line[1:] for line in listed.stdout.splitlines() if line.startswith("n")}
