"""A repository on disk for a test: written from a few lines of YAML, driven through the command line."""

import gc
import getpass
import json
import os
import re
import shutil
import signal
import sys
import textwrap
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import files, words
from tests.properties import load_profile

from slicewright.cli.main import cli
from slicewright.programs import find
from slicewright.rendering.io.package_data import package
from slicewright.testbed.bed_cluster import Cluster

PROJECT = files.PROJECT

_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder there that nobody else may enter
_ROOM = 4 << 30
"""Bytes that are free where the files of tests are kept in memory; a run of all tests has about 300 MB."""

CLUSTER = """
    pools:
    - {name: tpus, tpu: v5litepod-8, slices: 3}
    - {name: cpu-np, machineType: n2-standard-64}
    clusterQueues:
    - {name: cluster-queue, localQueues: [{name: queue}]}
"""
"""The spec of a cluster that has what the workloads of the tests ask for."""

JOB = """
    clusters: [c1]
    tpu: v5litepod-8
    container: {image: python:3.12, script: python train.py}
"""
"""The spec of a workload in the fewest lines."""


@pytest.fixture
def no_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the wheels of the test bed, where they are installed, from the test and from what it starts."""
    package = tmp_path / "no-wheels" / find.WHEELS / "__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()  # a package hides all folders of its name that are none
    monkeypatch.syspath_prepend(package.parents[1])
    monkeypatch.setenv("PYTHONPATH", str(package.parents[1]))


def _keep_files_in_memory() -> None:
    """Let pytest make its folders in memory, where a file takes a tenth of the time that it takes on a disk.

    Tests run programs that they write, so a file system that forbids that will not do. pytest keeps the
    folder of a killed run for three days, in memory too: it is removed here.
    """
    try:
        for lock in _MEMORY.glob(f"pytest-of-{getpass.getuser()}/pytest-*/.lock"):
            if not Path("/proc", lock.read_text(encoding="utf-8")).exists():
                shutil.rmtree(lock.parent, ignore_errors=True)
        state = os.statvfs(_MEMORY)
        memory = Path("/proc/meminfo").read_text(encoding="utf-8")
        [available] = re.findall(r"MemAvailable: +(\d+) kB", memory)
    except (OSError, ValueError):
        return
    room = min(state.f_bavail * state.f_frsize, int(available) << 10)
    if room >= _ROOM and not state.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


_keep_files_in_memory()
gc.set_threshold(50_000)  # as the command line does; with Python's 700 the tests take a tenth longer


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The result of a command with `-o json`."""
        return json.loads(self.out)

    @property
    def ids(self) -> list[str]:
        """The ids of the problems in such a result, in its order."""
        return [problem["id"] for problem in self.json["problems"]]


class Repo:
    """A repository in a folder of its own; bases are copied, for links that leave the tree are refused.

    Releases of controllers have 3 MB, and are brought where a cluster installs them.
    """

    def __init__(self, root: Path) -> None:
        """Begin with settings and bases, without a cluster or a workload."""
        self.root = root
        shutil.copytree(PROJECT / "bases", root / "bases", ignore=shutil.ignore_patterns("controllers"))
        self.write("slicewright.yaml", "limits: {endRuns: 3}\n")

    def write(self, path: str, text: str) -> str:
        """Write a file, its text without the common indent, and return its path."""
        files.write(self.root, {path: textwrap.dedent(text).lstrip("\n")})
        return path

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def cluster(self, name: str = "c1", spec: str = CLUSTER) -> str:
        """Write a TPUCluster; `managed: false` is added."""
        text = files.cluster_text(spec, name=name, first="managed: false")
        return self.write(f"clusters/{name}.yaml", text)

    def workload(self, name: str = "a", spec: str = JOB, *, file: str = "", metadata: str = "") -> str:
        """Write a TPUWorkload; `metadata` follows the name in its braces."""
        body = textwrap.indent(textwrap.dedent(spec).strip("\n"), "  ")
        head = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\n"
        text = f"{head}metadata: {{name: {name}{metadata}}}\nspec:\n{body}\n"
        return self.write(file or f"workloads/{name}.yaml", text)

    def run(self, *arguments: str, code: int = 0) -> Done:
        """Run a command in this repository and expect its exit code."""
        command, *rest = arguments
        self._bring_controllers()
        done = CliRunner().invoke(cli, [command, "-C", str(self.root), *rest], prog_name="slicewright")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert code == done.exit_code, done.output
        return Done(done.exit_code, done.stdout, done.stderr)

    def _bring_controllers(self) -> None:
        texts = [path.read_bytes() for path in (self.root / "clusters").glob("*.yaml")]
        target = self.root / "bases/controllers"
        if any(b"managed: false" not in text for text in texts) and not target.exists():
            shutil.copytree(PROJECT / "bases/controllers", target)

    def effects(self, *arguments: str) -> list[str]:
        """Render and return what happened to runs, such as `starts c1/default/a: the workload is new`."""
        runs = self.run("render", "-o", "json", *arguments).json["runs"]
        return sorted(
            f"{run['effect']} {run['cluster']}/{run['namespace']}/{run['name']}: {run['reason']}"
            for run in runs
        )

    def tree(self, folder: str = "overlays") -> dict[str, str]:
        """Return the text of every file under a folder, by path from the root."""
        return {
            path.relative_to(self.root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted((self.root / folder).rglob("*"))
            if path.is_file()
        }

    def runs(self, workload: str = "a", cluster: str = "c1", namespace: str = "default") -> list[str]:
        """Return the files of a workload's frozen runs."""
        folder = self.root / "overlays" / cluster / namespace / workload
        return sorted(path.name for path in folder.glob(f"{workload}-*.yaml"))

    def stamps(self, folder: str = "overlays") -> dict[str, tuple[bytes, int, int]]:
        """Return bytes, time of change and inode of every file: equal, none was opened for writing."""
        paths = [path for path in sorted((self.root / folder).rglob("*")) if path.is_file()]
        states = {path: path.stat() for path in paths}
        return {
            path.relative_to(self.root).as_posix(): (path.read_bytes(), state.st_mtime_ns, state.st_ino)
            for path, state in states.items()
        }


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes snapshots of messages."""
    parser.addoption("--snapshots", action="store_true", help="write tests/messages instead of comparing")
    parser.addoption("--all-words", action="store_true", help="fail for words that no test compared")


def pytest_configure(config: pytest.Config) -> None:
    """Give drawn examples the time of a busy machine; record words from the first test on, in one process."""
    load_profile(workflow="not workflow" not in config.getoption("markexpr"))
    if config.getoption("--snapshots"):
        if config.getoption("numprocesses", None):
            raise pytest.UsageError("--snapshots needs one process: leave -n out")
        words.record()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Gather the words that a process of xdist compared; one that crashed has none."""
    words.compared().update(map(tuple, getattr(node, "workeroutput", {"words": ()})["words"]))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the words of the tests that ran, or look for words that none of them compared."""
    if session.config.getoption("--snapshots"):
        words.write()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["words"] = sorted(words.compared())
    elif session.config.getoption("--all-words") and (lines := words.unused()):
        print("no test compared these words: make snapshots", *lines, sep="\n")  # noqa: T201
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Count no coverage for what a generator draws: examples in our files have to reach every line.

    Tracing makes such a test more than twice as slow. (The marker `no_cover` of pytest-cov does nothing in a
    process of xdist, where a second measurement takes over from the one that it stops.)
    """
    if not (item.get_closest_marker("hypothesis") or item.get_closest_marker("untraced")):
        return (yield)
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture
def in_front() -> Iterator[None]:
    """Take signals as a program at a terminal does: nohup and a shell in the background ignore some."""
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def _package() -> None:
    """Read the catalogue and the schemas before any test measures or patches something."""
    package()


@pytest.fixture(scope="session")
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Hold the cluster of processes that all tests of one process share: each removes what it made.

    A test that leaves something, or asks for other controllers, holds a cluster of its own.
    """
    from tests.testbed.kit import keeping_logs  # noqa: PLC0415 - for tests of clusters only

    from slicewright.testbed.bed_cluster import Cluster  # noqa: PLC0415

    with keeping_logs(Cluster(), request) as cluster:
        yield cluster


@pytest.fixture
def empty(tmp_path: Path) -> Repo:
    """A repository with settings and bases."""
    return Repo(tmp_path)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with the cluster c1 and the hashed workload a, not rendered yet."""
    repo = Repo(tmp_path)
    repo.cluster()
    repo.workload()
    return repo
