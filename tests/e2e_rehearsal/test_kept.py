"""`rehearse --keep`: the test bed stays for the next rehearsal, whatever happens to the one before."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.testbed.kit import eventually, processes

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.client import Api
from slicewright.programs.find import cache_root
from slicewright.testbed import process_group

from .command import rehearsed, rehearsing

pytestmark = pytest.mark.ci  # it starts three test beds

STARTED, KEPT = "c1: API server ready", "c1: kept: "
PASSED = (0, "c1: passed; 1 finished; simulated")


@pytest.fixture(autouse=True)
def beds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the beds of this test alone; they end with it."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "tools").symlink_to(cache_root(os.environ) / "tools")
    monkeypatch.setenv("SLICEWRIGHT_CACHE", str(cache))
    yield cache / "clusters"
    for one in process_group.running(cache / "clusters"):
        process_group.end(one)


def kept(beds: Path) -> process_group.Running:
    """Return the one bed that runs."""
    (one,) = process_group.running(beds)
    return one


def play(repo: Repo) -> tuple[tuple[int, str], str]:
    """Rehearse; return the exit code and the first words of the report, and what was said."""
    code, out, said = rehearsed(repo, "--keep", "--speed", "20")
    return (code, out[: len(PASSED[1])]), said


def test_second_rehearsal_starts_at_once_on_an_empty_cluster(repo: Repo, beds: Path) -> None:
    """Nothing of the first is left, and other controllers get a bed of their own."""
    first, said_first = play(repo)
    with Api(kubeconfig.read(beds / kept(beds).name / "credentials/admin.kubeconfig")) as api:
        kinds = [("v1", "Node"), ("v1", "Pod"), ("jobset.x-k8s.io/v1alpha2", "JobSet")]
        kinds += [("kueue.x-k8s.io/v1beta2", kind) for kind in ("Workload", "ClusterQueue", "ResourceFlavor")]
        left = {kind: api.list(version, kind) for version, kind in kinds}
    second, said_second = play(repo)
    keeping = kept(beds).name
    cluster = repo.root / "clusters" / "c1.yaml"
    cluster.write_text(cluster.read_text() + "  kueue: {waitForPodsReady: {timeout: 55m}}\n")
    repo.run("render")
    third, said_third = play(repo)

    assert [PASSED] * 3 == [first, second, third]
    assert {kind: [] for kind in left} == left
    assert [True, False, True] == [STARTED in said for said in (said_first, said_second, said_third)]
    assert f"{KEPT}'slicewright cluster down --name {keeping}' ends it" in said_second
    assert 2 == len(process_group.running(beds))


def test_one_rehearsal_at_a_time_uses_it(repo: Repo) -> None:
    """A second one is refused and disturbs nothing; what a killed one has left is removed by the next."""
    play(repo)
    with rehearsing(repo, "--keep", "--speed", "1") as running:
        running.until("team/a running")
        refused, said = play(repo)
        running.interrupt(signal.SIGKILL)
        running.process.wait()
    after, said_after = play(repo)

    assert 3 == refused[0]
    assert "another rehearsal is using" in said
    assert PASSED == after
    assert "c1: removing what an earlier rehearsal has left" in said_after
    assert STARTED not in said_after


def test_broken_bed_is_replaced(repo: Repo, beds: Path) -> None:
    """A program that has ended is told while it is used; afterwards there is a new bed."""
    play(repo)
    with rehearsing(repo, "--keep", "--speed", "1") as running:
        running.until("team/a running")
        os.kill(kept(beds).state["programs"]["kueue"], signal.SIGKILL)
        code, _, said = running.end()
    after, said_after = play(repo)

    assert 3 == code
    assert "BED002 kueue ended: killed by SIGKILL\n  hint: kueue.log among the logs ends with: " in said
    assert "1 error, 0 warnings" in said
    assert PASSED == after
    assert STARTED in said_after


def test_killed_before_the_bed_is_kept_nothing_is_left(repo: Repo, beds: Path) -> None:
    """The bed belongs to the command until its end."""
    with rehearsing(repo, "--keep", "--speed", "1") as running:
        running.until("team/a running")
        running.interrupt(signal.SIGKILL)
        running.process.wait()

    eventually("no program is left", lambda: not processes(beds))
    assert [] == process_group.running(beds)
