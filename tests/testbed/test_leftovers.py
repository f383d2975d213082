"""Nothing is left behind, however a cluster ends: processes, ports, folders."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from slicewright.testbed import supervisor, waiting
from slicewright.testbed.bed_cluster import Cluster
from slicewright.testbed.process_group import ProcessGroup
from slicewright.testbed.waiting import BedError

from .bare import Bare
from .kit import DEADLINE, assert_nothing_left, clusters, eventually, processes

HOLDER = """
import signal, sys, time
from pathlib import Path
from slicewright.testbed.bed_cluster import Cluster
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background,
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this one
with Cluster(root=Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(600)
"""
FULL_DISK = """
import sys
from pathlib import Path
from slicewright.testbed.process_group import ProcessGroup
from slicewright.testbed.waiting import BedError
try:
    group = ProcessGroup(Path(sys.argv[1]), "full", 1)
    try:
        group.note(long="x" * 5000)
        group.check()
    finally:
        group.close()
except BedError as error:
    print(error)
"""
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

RANDOM = random.Random(os.environ.get("SLICEWRIGHT_TEST_SEED"))  # noqa: S311 - for moments
MOMENTS = sorted(RANDOM.uniform(0.05, 7.0) for _ in range(5))
"""Seconds after its start at which a holder is killed: other ones in every run."""


@contextmanager
def holder(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds a cluster, in a process group of its own as a shell would."""
    command = [sys.executable, "-c", HOLDER, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ports_of(root: Path) -> list[int]:
    """Return the ports of all clusters below a root."""
    return [port for folder in clusters(root) for port in supervisor.read_state(folder).get("ports", [])]


def after(seconds: float, root: Path) -> list[int]:
    """Let a holder run for a while; return the ports that its cluster has by then."""
    deadline = time.monotonic() + seconds
    ports: list[int] = []
    while time.monotonic() < deadline:
        ports = ports_of(root) if root.is_dir() else []
        time.sleep(0.01)
    return ports


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(at, marks=pytest.mark.workflow) for at in range(1, len(MOMENTS)))]
)
def test_killed_holder(number: int, tmp_path: Path) -> None:
    """A holder that is killed at any moment leaves nothing, whether its cluster was ready or half there."""
    root = tmp_path / "clusters"
    root.mkdir()
    with holder(root) as process:
        ports = after(MOMENTS[number], root)
        process.kill()
        process.wait()
        assert_nothing_left(root, ports)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(one, marks=pytest.mark.workflow) for one in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_signalled_holder(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, a polite kill and a closed terminal reach the whole process group and leave nothing."""
    root = tmp_path / "clusters"
    root.mkdir()
    with holder(root) as process:
        eventually("programs have started", lambda: len(processes(root)) > 3)
        ports = ports_of(root)
        os.killpg(process.pid, number)
        process.wait(waiting.stretched(180))
        assert_nothing_left(root, ports)


def test_killed_supervisor(tmp_path: Path) -> None:
    """A killed supervisor takes its programs with it, the holder hears of it, and the folder goes."""
    group = ProcessGroup(tmp_path, "kept", 2)
    group.start("sleeper", [*SLEEP, str(tmp_path)])
    eventually("the program runs", lambda: len(processes(tmp_path)) == 2)

    os.kill(group.pid, signal.SIGKILL)

    eventually("the program has ended", lambda: not processes(tmp_path))
    with pytest.raises(BedError, match="supervisor of the cluster ended"):
        group.check()
    group.close()
    assert_nothing_left(tmp_path, list(group.ports))


@pytest.mark.ci
def test_block_that_is_left_after_the_supervisor(tmp_path: Path) -> None:
    """A block that is left by an exception because its supervisor was killed puts away all the same."""
    bed = Bare(root=tmp_path)
    ports: list[int] = []

    def fail() -> None:
        with bed:
            ports.extend(bed.processes.ports)
            os.kill(bed.processes.pid, signal.SIGKILL)
            eventually("the loss is noticed", lambda: complaint(bed.processes))
            bed.processes.check()

    with pytest.raises(BedError, match="supervisor of the cluster ended"):
        fail()
    assert_nothing_left(tmp_path, ports)


@pytest.mark.ci
def test_keeper_and_holder_killed_together(tmp_path: Path) -> None:
    """When nobody is left to tidy up, the programs end all the same; the next cluster removes the folder."""
    with holder(tmp_path) as process:
        eventually("the API server has started", lambda: "kube-apiserver" in str(processes(tmp_path)))
        (folder,) = clusters(tmp_path)
        os.kill(supervisor.read_state(folder)["supervisor"], signal.SIGKILL)
        process.kill()
        process.wait()
        eventually("no processes are left", lambda: not processes(tmp_path))

    ProcessGroup(tmp_path, "next", 1).close()

    assert_nothing_left(tmp_path, [])


def test_leftover_of_a_supervisor_is_ended(tmp_path: Path) -> None:
    """The next supervisor ends a program that outlived its own, as it may without Linux, and no other."""
    left, foreign = tmp_path / "left", tmp_path / "foreign"
    left.mkdir()
    with (
        subprocess.Popen([*SLEEP, f"{left}/credentials"], process_group=0) as outlived,
        subprocess.Popen([*SLEEP, str(foreign)], process_group=0) as other,
    ):
        state = f'{{"programs": {{"a": {outlived.pid}, "b": {other.pid}, "c": 999999999}}}}'
        (left / supervisor.STATE).write_text(state, encoding="utf-8")
        (left / supervisor.LOCK).touch()

        ProcessGroup(tmp_path, "next", 1).close()

        assert outlived.wait(DEADLINE) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()
    assert clusters(tmp_path) == []


def test_exception_keeps_the_logs(tmp_path: Path) -> None:
    """When the block is left by an exception, the logs are kept and everything else goes."""
    bed = Bare(root=tmp_path)
    ports: list[int] = []

    def fail() -> None:
        with bed:
            ports.extend(bed.processes.ports)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    assert bed.logs is not None
    assert {path.name for path in bed.logs.iterdir()} >= {"etcd.log", "kube-apiserver.log"}
    assert_nothing_left(tmp_path, ports)


@pytest.mark.ci
@pytest.mark.parametrize("step", [0, *(pytest.param(at, marks=pytest.mark.workflow) for at in (1, 2))])
def test_interruption_at_each_step_of_a_start(step: int, tmp_path: Path) -> None:
    """A Ctrl-C while a cluster starts, up to its last word, leaves nothing, though the holder lives on."""
    said: list[str] = []

    def interrupt(text: str) -> None:
        said.append(text)
        if len(said) > step:
            raise KeyboardInterrupt

    bed = Cluster(root=tmp_path, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        bed.start()

    words = ("API server ready", "JobSet and Kueue defined", "ready after")
    assert (step + 1, True) == (len(said), said[-1].startswith(words[step]))
    assert ({}, []) == (processes(tmp_path), clusters(tmp_path))


def test_holder_that_is_dropped_hangs_up(tmp_path: Path) -> None:
    """Where a Ctrl-C comes before anybody has taken hold of it, its cluster goes all the same."""
    group = ProcessGroup(tmp_path, "dropped", 1)
    group.start("sleeper", [*SLEEP, str(tmp_path)])
    eventually("the program runs", lambda: len(processes(tmp_path)) == 2)

    with pytest.warns(ResourceWarning):
        del group

    assert_nothing_left(tmp_path, [])


def test_signal_that_ended_a_program_is_named(tmp_path: Path) -> None:
    """By its name, for a number says nothing to most people."""
    group = ProcessGroup(tmp_path, "killed", 1)
    group.start("victim", [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])

    eventually("its end is reported", lambda: complaint(group) == "BED002 victim ended: killed by SIGKILL")
    group.close()


def complaint(group: ProcessGroup) -> str:
    """Return what a check says, or nothing."""
    try:
        group.check()
    except BedError as error:
        return error.problem.text()
    return ""


def test_program_that_ends_is_named(tmp_path: Path) -> None:
    """A program that ends by itself is reported with its last words, and the logs are kept."""
    group = ProcessGroup(tmp_path, "broken", 1)
    group.start("speaker", [sys.executable, "-c", "print('last words'); raise SystemExit(7)"])

    eventually(
        "the end is reported",
        lambda: (
            "BED002 speaker ended: exit code 7\n  hint: speaker.log among the logs ends with: last words"
            in complaint(group)
        ),
    )
    kept = group.close()
    assert kept is not None
    assert (kept / "speaker.log").read_text(encoding="utf-8") == "last words\n"
    assert_nothing_left(tmp_path, list(group.ports))


def limited(bytes_a_file: int) -> Callable[[], None]:
    """Return what makes files of this process and its children end at a size, as those of a full disk do."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))


def test_full_disk(tmp_path: Path) -> None:
    """A cluster that cannot write is refused or reported with the reason, and leaves nothing."""
    start = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    for size, message in (
        (0, "BED002 the cluster 'full' could not be started: [Errno 27] File too large"),
        (1000, "BED002 the supervisor ended: [Errno 27] File too large"),
    ):
        done = subprocess.run(
            start, preexec_fn=limited(size), capture_output=True, text=True, check=False, timeout=120
        )
        assert (message in done.stdout, done.returncode) == (True, 0), done.stdout + done.stderr
        assert_nothing_left(tmp_path, [])


def test_root_that_is_no_folder(tmp_path: Path) -> None:
    """Where no folder can be made the reason is told; it is another problem than a name that is taken."""
    (tmp_path / "file").touch()

    with pytest.raises(BedError, match=r"could not be started: .*Not a directory") as raised:
        ProcessGroup(tmp_path / "file" / "clusters", "any", 1)

    assert raised.value.problem.id == "BED002"


def test_ports_of_clusters_that_start_together(tmp_path: Path) -> None:
    """Clusters that choose their ports at the same time have different ones, below different roots too."""
    with ThreadPoolExecutor(8) as pool, ExitStack() as stack:
        groups = list(pool.map(lambda number: ProcessGroup(tmp_path / f"root-{number}", "any", 5), range(8)))
        for entry in groups:
            stack.callback(entry.close)
        ports = [port for entry in groups for port in entry.ports]

    assert 8 * 5 == len(set(ports))


def test_port_of_a_supervisor_is_held_before_its_program_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that begins at the same number takes the next ports."""
    monkeypatch.setattr(os, "getpid", lambda: 4321)
    with ExitStack() as stack:
        first, second = supervisor.claim_ports(2), supervisor.claim_ports(2)
        for claim in (*first.values(), *second.values()):
            stack.enter_context(claim)

    assert 4 == len({*first, *second})


def test_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """A program that cannot be started is reported with the reason."""
    group = ProcessGroup(tmp_path, "missing", 1)
    group.start("absent", [str(tmp_path / "absent")])

    eventually("the refusal is reported", lambda: "absent ended: " in complaint(group))
    assert "No such file" in complaint(group)
    group.close()
    assert_nothing_left(tmp_path, [])


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    """Logs of failed clusters do not pile up."""
    shelf = tmp_path / supervisor.SHELF
    for number in range(supervisor.KEPT_LOGS + 3):
        (shelf / f"20250101-0000{number:02}-old").mkdir(parents=True)
    group = ProcessGroup(tmp_path, "new", 1)
    group.keep_logs()

    kept = group.close()

    names = sorted(path.name for path in shelf.iterdir())
    assert len(names) == supervisor.KEPT_LOGS
    assert kept is not None
    assert kept.name == names[-1]
