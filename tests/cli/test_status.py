"""`slicewright status` and `wait` on the command line: which cluster is read, and what is printed."""

import importlib
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.cluster.status.kit import jobset, queue, read, workload
from tests.conftest import JOB, Repo
from tests.rehearse.screen import Screen

from slicewright.cli import reach
from slicewright.cluster.status.causes import Cause
from slicewright.cluster.status.run_status import State, Status

status = importlib.import_module("slicewright.cli.status")
wait = importlib.import_module("slicewright.cli.wait")

CONTEXT = "gke_p_us-west4_c1"
BEGAN = "2026-01-01T00:00:00Z"
CLUSTER = """
    project: p
    location: us-west4
    pools: [{name: tpus, tpu: v5litepod-8, slices: 3}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a kubeconfig of two contexts, of which the other one is current, and name it in KUBECONFIG."""
    names = (CONTEXT, "other")
    document: Any = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "other",
        "clusters": [{"name": name, "cluster": {"server": "https://127.0.0.1:1"}} for name in names],
        "users": [{"name": name, "user": {"token": "t"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
    }
    target = tmp_path / "kube" / "config"
    target.parent.mkdir()
    target.write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'kube' / 'config'}")
    return target


@pytest.fixture
def living(repo: Repo, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Return a rendered repository with the cluster c1, which is read as `found` says."""
    assert kubeconfig.is_file()
    repo.cluster(spec=CLUSTER)
    repo.run("render")
    found = read(jobset(), workload(), *queue(4), unread={"Node": "no"})
    runs = tuple(replace(run, since=BEGAN) for run in found.runs)
    monkeypatch.setattr(reach.Reader, "read", lambda _: [replace(found, context=CONTEXT, runs=runs)])
    return repo


def test_context_is_that_of_gcloud(living: Repo) -> None:
    """Project, location and name of the TPUCluster make the context, and the first line says it."""
    done = living.run("status")

    assert f"c1, context {CONTEXT}: 1 run, 0 chips admitted" == done.out.splitlines()[0]
    assert "warning: STA002 not every Node on c1 can be read: no" in done.err


def test_one_workload_in_three_lines(living: Repo) -> None:
    """How it is, why, and what to do."""
    first, second, third = living.run("status", "a").out.splitlines()

    assert first.startswith(f"JobSet default/a on c1 (context {CONTEXT}): Pending for ")
    assert first.endswith("place 1 in ClusterQueue cq, 8 chips, 0/2 pods ready, 0 restarts, not in the tree")
    assert second.startswith("  QuotaTooSmall: needs 8 chips of flavor v5e; ClusterQueue cq has quota of 4")
    assert third.startswith("  hint: fewer slices")


def test_sweep(living: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a sweep means its entries, and what is left of earlier ones: their runs are listed."""
    living.workload("lr", f"{JOB}    matrix: {{env: {{SEED: [0, 1]}}}}\n")
    living.run("render")
    labels = ({"slicewright.dev/workload": name} for name in ("lr-0", "lr-1", "a"))
    found = read(*(jobset(f"x{at}", labels=own) for at, own in enumerate(labels)))
    runs = tuple(replace(run, since="") for run in found.runs)
    monkeypatch.setattr(reach.Reader, "read", lambda _: [replace(found, runs=runs)])

    assert "c1, context ctx: 2 runs" in living.run("status", "lr").out
    assert "JobSet default/x1 on c1" in living.run("status", "lr/1").out


def test_runs_of_a_sweep_with_one_cause_are_one_line(living: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` joins them, with sums and places; the name of the sweep and JSON show each run."""
    living.workload("lr", f"{JOB}    matrix: {{env: {{SEED: [0, 1, 2, 3, 4]}}}}\n")
    living.run("render")
    labels = [{"slicewright.dev/workload": f"lr-{at}", "slicewright.dev/sweep": "lr"} for at in range(5)]
    found = read(*(jobset(f"lr-{at}-1234", labels=own) for at, own in enumerate(labels)))
    waiting = tuple(
        replace(
            run,
            state="Pending",
            since=BEGAN,
            position=at + 3,
            causes=(Cause("ImageNotPulled", f"pod {run.run}-slice-0-{at}-x{at} waits", ""),),
        )
        for at, run in enumerate(found.runs)
    )
    monkeypatch.setattr(reach.Reader, "read", lambda _: [replace(found, runs=waiting)])

    row = living.run("status").out.splitlines()[2]

    assert "default/lr  5 runs  Pending" in row
    assert "  40     0/10   " in row
    assert "  3-7  " in row
    assert row.endswith("ImageNotPulled: pod lr-0-1234-slice-0-0-x0 waits")
    assert len(living.run("status", "lr").out.splitlines()) == 2 + 5
    assert len(living.run("status", "-o", "json").json["clusters"][0]["runs"]) == 5


def test_run_whose_workload_is_deleted(living: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found in the cluster: by the name of its workload, of its sweep, or its own."""
    labels = {"slicewright.dev/workload": "old-0", "slicewright.dev/sweep": "old"}
    found = read(jobset("old-0-1234", labels=labels), jobset("theirs", labels={}))
    runs = tuple(replace(run, since="") for run in found.runs)
    monkeypatch.setattr(reach.Reader, "read", lambda _: [replace(found, runs=runs)])

    for name in ("old", "default/old", "old-0", "default/old-0", "old-0-1234"):
        assert living.run("status", name).out.startswith("JobSet default/old-0-1234 on c1"), name
    for name in ("theirs", "older"):
        assert f"there is no workload '{name}'" in living.run("status", name, code=2).err
    assert "there is no workload 'old'" in living.run("status", "old", "--context", "none", code=2).err


def test_cluster_and_workload_of_one_name(living: Repo) -> None:
    """Neither is taken in silence."""
    living.workload("c1")

    assert "'c1' is a cluster and a workload" in living.run("status", "c1", code=2).err
    assert "neither the tree nor the cluster has a run" in living.run("status", "default/c1").out


def test_json(living: Repo) -> None:
    """The form is that of the reference."""
    (cluster,) = living.run("status", "-o", "json").json["clusters"]
    (run,) = cluster["runs"]

    assert ("c1", CONTEXT, {"Node": "no"}) == (cluster["cluster"], cluster["context"], cluster["unread"])
    keys = ("workload", "state", "chips", "position")
    assert ("default/a", "Pending", 8, 1) == tuple(run[key] for key in keys)
    assert {"reason", "message", "said", "hint"} == set(run["causes"][0])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("status", "--context", "othr"), "there is no context 'othr'"),
        (("status", "nothere"), "there is no workload 'nothere'"),
        (("status", "a", "--cluster", "c2"), "there is no cluster 'c2'"),
        (("status", "--watch", "-o", "json"), "--watch has no JSON form"),
        (("wait", "c1", "--for", "running"), "'c1' is a cluster"),
        (("wait", "a"), "Missing option '--for'"),
        (("wait", "a", "--for", "running", "--timeout", "soon"), "'soon' is not a time span"),
    ],
)
def test_wrong_usage(living: Repo, arguments: tuple[str, ...], expected: str) -> None:
    """A name that does not exist, and options that do not go together, are exit 2."""
    done = living.run(*arguments, code=2)
    assert expected in done.out + done.err


def test_nothing_says_which_context(repo: Repo, kubeconfig: Path) -> None:
    """The current context is never taken in silence."""
    assert "current-context: other" in kubeconfig.read_text(encoding="utf-8")
    assert "the context of cluster 'c1' is not known" in repo.run("status", code=2).err


def test_context_that_gcloud_has_not_written(repo: Repo, kubeconfig: Path) -> None:
    """The hint has the command that writes it."""
    kubeconfig.write_text(kubeconfig.read_text(encoding="utf-8").replace(CONTEXT, "x"), encoding="utf-8")
    repo.cluster(spec=CLUSTER)

    hint = "gcloud container clusters get-credentials c1 --project=p --location=us-west4"
    said = repo.run("status", code=2).err
    assert hint in said
    assert "name another (other, x) with --context" in said


def test_repository_without_clusters(empty: Repo) -> None:
    """There is nothing to read."""
    assert "the repository has no TPUCluster to read" in empty.run("status", code=2).err


def test_cluster_that_does_not_answer(repo: Repo, kubeconfig: Path) -> None:
    """It is exit 3, with the context that was tried."""
    assert kubeconfig.is_file()
    repo.cluster(spec=CLUSTER)

    assert f"STA001 the cluster of context {CONTEXT} cannot be read" in repo.run("status", code=3).err


def test_kubeconfig_that_cannot_be_read(repo: Repo, kubeconfig: Path) -> None:
    """A broken file is exit 3, and so is none; the hint has the command that writes one."""
    kubeconfig.write_text("no: contexts", encoding="utf-8")
    repo.cluster(spec=CLUSTER)

    broken = repo.run("status", code=3).err
    kubeconfig.unlink()
    missing = repo.run("status", code=3).err
    assert "BED004" in broken
    assert "BED004" in missing
    for text in (broken, missing):
        assert "run gcloud container clusters get-credentials " in text
        assert "--kubeconfig FILE or the variable KUBECONFIG" in text


def test_one_context_for_several_clusters(living: Repo) -> None:
    """--context names one cluster."""
    living.cluster("c2", CLUSTER)

    assert "--context names one cluster" in living.run("status", "--context", "other", code=2).err


def states(*names: State) -> Any:
    """Return a reading that gives a run of `a` these states, one after the other, the last one for good."""
    given = list(names)

    def reading(_: object) -> list[Status]:
        state = given.pop(0) if len(given) > 1 else given[0]
        found = read(jobset(), wanted=[jobset()])
        return [replace(found, runs=tuple(replace(run, state=state, since=BEGAN) for run in found.runs))]

    return reading


@pytest.mark.parametrize(
    ("seen", "wanted", "code"),
    [
        (["Pending", "Starting", "Running"], "running", 0),
        (["Finished"], "running", 0),
        (["Running", "Finished"], "finished", 0),
        (["Running", "Failed"], "finished", 1),
        (["Pending"], "running", 124),
    ],
)
def test_wait_ends(
    living: Repo, monkeypatch: pytest.MonkeyPatch, seen: list[State], wanted: str, code: int
) -> None:
    """The exit code says how, and each state is told once."""
    monkeypatch.setattr(wait, "_SECONDS", 0.0)
    timeout = "200ms" if code == 124 else "1h"
    monkeypatch.setattr(reach.Reader, "read", states(*seen))
    done = living.run("wait", "a", "--for", wanted, "--timeout", timeout, "-o", "json", code=code)

    assert (code == 0) is done.json["reached"]
    told = [line.split(",")[0] for line in done.err.splitlines()]
    assert [f"c1 default/a {state}" for state in seen] == told


def test_wait_for_what_the_tree_does_not_have(living: Repo) -> None:
    """A run that is only in the cluster is not meant."""
    assert "the tree has no run of the workload" in living.run("wait", "a", "--for", "running", code=1).err


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_watch(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal is redrawn in place, elsewhere there is a line for each change; what fails is told."""
    monkeypatch.delenv("CI", raising=False)
    begun = states("Pending", "Running")
    readings: list[Exception | None] = [OSError("gone"), None]

    class Reader:
        def read(self) -> list[Status]:
            failure = readings.pop(0)
            if failure:
                raise failure
            return list(begun(self))

    def sleep(_: float) -> None:
        if not readings:
            raise KeyboardInterrupt

    monkeypatch.setattr(status.time, "sleep", sleep)
    monkeypatch.setattr("sys.stdout", stream)
    with pytest.raises(KeyboardInterrupt):
        status._watch(Reader(), begun(None), frozenset())

    shown = stream.getvalue()
    if stream.isatty():
        screen = Screen()
        screen.write(shown)
        assert 3 <= shown.count("c1, context ctx: 1 run")
        assert ["c1,", "WORKLOAD", "default/a"] == [line.split()[0] for line in screen.shown()]
    else:
        assert ["Pending", "Running"] == [line.split()[3].rstrip(",") for line in shown.splitlines()]
    assert "not read: gone" in capsys.readouterr().err


def test_ctrl_c_ends_a_watch(living: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as other commands do."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status.time, "sleep", interrupted)
    assert "interrupted" in living.run("status", "--watch", code=130).err
