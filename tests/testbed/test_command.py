"""`slicewright cluster up | down | status`, as a person uses it."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.client import Api
from slicewright.testbed import control_plane, process_group, supervisor
from slicewright.testbed.process_group import ProcessGroup
from slicewright.testbed.waiting import BedError

from .kit import DEADLINE, assert_nothing_left, eventually, processes

ROOT = Path(__file__).parents[2]
COMMAND = "from slicewright.cli.cluster import cluster; cluster(prog_name='slicewright cluster')"


def run(cache: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a `slicewright cluster` command with a cache of its own, the programs linked into it."""
    tools = cache / "tools"
    if not tools.exists():
        cache.mkdir(exist_ok=True)
        own = os.environ.get("SLICEWRIGHT_CACHE") or Path.home() / ".cache" / "slicewright"
        tools.symlink_to(Path(own) / "tools")
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, "SLICEWRIGHT_CACHE": str(cache), **environ},
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )


def status(cache: Path) -> list[dict[str, Any]]:
    """Return what `status` says."""
    done = run(cache, "status", "-o", "json")
    assert done.returncode == 0
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.ci
def test_up_status_down(tmp_path: Path) -> None:
    """`up` returns with a cluster that lives on, with its kubeconfig and nodes; `down` leaves nothing.

    The line that `up` prints can be given to a shell, whatever the cache is called.
    """
    cache = tmp_path / "my cache é; $(touch x)"
    try:
        up = run(cache, "up", "multislice-cluster", "--name", "lab")
        assert (up.returncode, up.stderr.splitlines()[-1]) == (0, "6 simulated nodes of multislice-cluster")
        (entry,) = status(cache)
        shell = ["sh", "-c", f'{up.stdout} cat "$KUBECONFIG"']
        text = subprocess.run(shell, capture_output=True, check=True, text=True).stdout
        assert text == (cache / "clusters/lab/credentials/admin.kubeconfig").read_text(encoding="utf-8")
        assert str(cache / "clusters/lab/credentials/admin.kubeconfig") == entry["kubeconfig"]
        assert (entry["name"], entry["status"], entry["nodes"]) == ("lab", "ready", 6)
        assert entry["pathwaysOperator"] == control_plane.SIMULATED_OPERATOR
        with Api(kubeconfig.read(Path(entry["kubeconfig"]))) as api:
            assert len(api.list("v1", "Node")) == 6
        assert "lab   ready   multislice-cluster (6)" in run(cache, "status").stdout

        again = run(cache, "up", "--name", "lab")
        assert (again.returncode, "BED001 a cluster named 'lab' runs already" in again.stderr) == (1, True)

        os.kill(entry["programs"]["kwok"], signal.SIGKILL)
        eventually("the loss to show", lambda: status(cache)[0]["status"] == "broken")
    finally:
        down = run(cache, "down", "--name", "lab")
    assert (down.returncode, down.stderr) == (0, "lab ended\n")
    assert status(cache) == []
    assert_nothing_left(cache / "clusters", [])


def test_down_of_a_cluster_that_only_begins(tmp_path: Path) -> None:
    """A supervisor that has its folder but has not yet written who it is is waited for."""
    folder = tmp_path / "lab"
    folder.mkdir()
    with (folder / supervisor.LOCK).open("wb") as lock, ThreadPoolExecutor(1) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (entry,) = process_group.running(tmp_path)
        assert (entry.status, entry.state) == ("starting", {})
        ending = pool.submit(process_group.end, entry)
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
            (folder / supervisor.STATE).write_text(json.dumps({"supervisor": process.pid}), encoding="utf-8")
            assert process.wait(DEADLINE) == -signal.SIGTERM
        shutil.rmtree(folder)
        ending.result(DEADLINE)


def test_down_all(tmp_path: Path) -> None:
    """`down --all` ends every cluster, half-started ones and those of other processes too."""
    root = tmp_path / "cache" / "clusters"
    groups = [ProcessGroup(root, name, 1) for name in ("one", "two")]
    assert [(entry["name"], entry["status"]) for entry in status(tmp_path / "cache")] == [
        ("one", "starting"),
        ("two", "starting"),
    ]

    down = run(tmp_path / "cache", "down", "--all")

    assert (down.returncode, down.stderr) == (0, "one ended\ntwo ended\n")
    assert_nothing_left(root, [])
    for entry in groups:
        with pytest.raises(BedError, match="supervisor of the cluster ended"):
            entry.check()
        entry.close()


def test_nothing_runs(tmp_path: Path) -> None:
    """Without a cluster `status` shows none, and `down` says so."""
    cache = tmp_path / "cache"

    assert status(cache) == []
    down = run(cache, "down", "--name", "lab")
    assert (down.returncode, down.stderr.splitlines()[0]) == (1, "BED006 cluster 'lab' is not running")


def test_unknown_cluster(tmp_path: Path) -> None:
    """A cluster that the repository does not have is a usage error that names the nearest."""
    done = run(tmp_path / "cache", "up", "multislice-clustr")

    assert done.returncode == 2
    assert "there is no cluster 'multislice-clustr'; did you mean 'multislice-cluster'?" in done.stderr


@pytest.mark.usefixtures("no_wheels")
def test_missing_tools(tmp_path: Path) -> None:
    """Where programs are missing, `up` exits 3 and says how to get them."""
    (tmp_path / "cache" / "tools").mkdir(parents=True)

    done = run(tmp_path / "cache", "up", PATH="")

    assert (done.returncode, "slicewright tools build" in done.stderr) == (3, True)


def test_dead_folders_are_not_shown(tmp_path: Path) -> None:
    """A folder that no supervisor holds is not a cluster."""
    (tmp_path / "dead").mkdir()
    (tmp_path / "dead" / supervisor.LOCK).touch()

    assert process_group.running(tmp_path) == []
    assert process_group.running(tmp_path / "absent") == []
    assert processes(tmp_path) == {}


def test_operator_of_the_environment(tmp_path: Path) -> None:
    """A variable names the real Pathways controller; results then call it by its name."""
    binary = tmp_path / "controller"
    binary.touch()
    environ = {control_plane.OPERATOR_VARIABLE: str(binary)}

    assert control_plane.operator_command(Path("k"), environ)[:2] == [str(binary), "--kubeconfig=k"]
    assert control_plane.operator_name(environ) == "PathwaysJob controller"
    assert control_plane.operator_name({}) == "simulated operator"
    with pytest.raises(BedError, match="which is not a file"):
        control_plane.operator_command(Path("k"), {control_plane.OPERATOR_VARIABLE: str(tmp_path / "absent")})


def test_commands_about_clusters_need_no_extra() -> None:
    """Without the packages of the extra `testbed`, `cluster status` works, and `rehearse` can say so."""
    modules = "slicewright.cli.cluster, slicewright.rehearse.scenario"
    code = f"import sys; sys.modules |= dict.fromkeys(['cryptography']); import {modules}"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
