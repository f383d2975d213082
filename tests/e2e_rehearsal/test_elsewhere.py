"""The command: on a cluster that runs already, interrupted, and with a component that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
import yaml

from slicewright.rehearsal.rehearse import rehearse, tempo
from slicewright.testbed.keeper import read_state

from . import kit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Repo

    from slicewright.testbed.bed import Bed

KUEUE = "kueue.x-k8s.io/v1beta2"
KINDS = (
    *(("v1", kind) for kind in ("Namespace", "Node", "Pod", "Service", "ServiceAccount", "ConfigMap")),
    *(("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet")),
    *((KUEUE, kind) for kind in ("Workload", "LocalQueue", "ClusterQueue", "ResourceFlavor", "Cohort")),
    *((KUEUE, "WorkloadPriorityClass"), ("scheduling.k8s.io/v1", "PriorityClass")),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
)
CLUSTER = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]
    priorityClasses: [{name: high, value: 1000}]
    clusterQueues:
    - name: cq
      quota: [{pool: tpus, nominalSlices: 1}]
      localQueues: [{name: q, namespace: team}]
"""
TEAM = "queueName: q\nrehearsal: {duration: 20s}"


@pytest.fixture
def repo(empty: Repo) -> Repo:
    """Return a repository with a queued workload in a namespace of its own, rendered."""
    empty.cluster(spec=CLUSTER)
    empty.workload("a", kit.spec(TEAM), metadata=", namespace: team")
    empty.run("render")
    return empty


def rehearsed(repo: Repo, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    command = [sys.executable, "-m", "slicewright", "rehearse", "-C", str(repo.root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def context(bed: Bed) -> list[str]:
    """Return the options that name a cluster."""
    name = yaml.safe_load(bed.kubeconfig.read_text(encoding="utf-8"))["current-context"]
    return ["--kubeconfig", str(bed.kubeconfig), "--context", name]


def everything(bed: Bed) -> set[str]:
    """Return all objects of a cluster."""
    return {
        f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        for api_version, kind in KINDS
        for item in bed.api.list(api_version, kind)
    }


def test_cluster_without_the_mark_is_refused_and_left_alone(other_bed: Bed, repo: Repo) -> None:
    """Nobody rehearses on a cluster that works for a living by mistake."""
    before = everything(other_bed)
    done = rehearsed(repo, *context(other_bed))

    assert (1, "") == (done.returncode, done.stdout)
    assert "REH008" in done.stderr
    assert "--mark" in done.stderr
    assert before == everything(other_bed)


def test_marked_cluster_is_played_on_and_left_as_it_was(other_bed: Bed, repo: Repo) -> None:
    """With --mark it is marked; what was there before stays, what the rehearsal made goes."""
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}}
    other_bed.api.create(mine)
    before = everything(other_bed)
    done = rehearsed(repo, *context(other_bed), "--mark", "--speed", "10", "-o", "json")
    output = json.loads(done.stdout)
    again = rehearsed(repo, *context(other_bed), "--speed", "10", "-o", "junit")

    assert [[]] == [record["problems"] for record in output["rehearsals"]]
    assert (0, []) == (done.returncode, kit.wrong(output))
    assert ["passed"] == [record["verdict"] for record in output["rehearsals"]]
    assert (0, True) == (again.returncode, 'name="TPUWorkload team/a"' in again.stdout)
    assert before == everything(other_bed)


def test_context_that_is_not_there_is_said(other_bed: Bed, repo: Repo) -> None:
    """The file is right, the name is not."""
    done = rehearsed(repo, "--kubeconfig", str(other_bed.kubeconfig), "--context", "nobody")

    assert (3, True) == (done.returncode, "BED004" in done.stderr)


def test_interruption_ends_with_a_partial_report(repo: Repo) -> None:
    """Ctrl-C: exit 130, and what has happened until then."""
    command = [sys.executable, "-m", "slicewright", "rehearse", "-C", str(repo.root), "--speed", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "team/a running" in line:
                os.kill(process.pid, signal.SIGINT)
        out = process.stdout.read() if process.stdout else ""
        code = process.wait(60)

    assert 130 == code
    assert "c1: 1 still ran; played" in out
    assert "interrupted" in out


def test_component_that_dies_is_named_with_its_log(other_bed: Bed, repo: Repo) -> None:
    """The rehearsal ends at once, and its report says which program it was."""
    scene = kit.scene(repo.root)
    process = read_state(other_bed.held.folder)["programs"]["kueue"]
    struck = threading.Event()

    def strike(*_: object) -> None:
        if not struck.is_set():
            struck.set()
            os.kill(process, signal.SIGKILL)

    report = rehearse(other_bed, scene, tempo(scene.parts, speed=1), show=strike)
    first = report.problems[0]

    assert ("BED002", True, False) == (first.id, first.message.startswith("kueue ended"), report.passed)
    assert "\n  " in first.message


def test_options_that_do_not_go_together_are_wrong_usage(repo: Repo) -> None:
    """A context without a file, a file without a context, a span without a unit."""
    file = str(repo.root / "slicewright.yaml")
    check: Callable[..., subprocess.CompletedProcess[str]] = rehearsed
    found = [
        check(repo, "--mark"),
        check(repo, "--kubeconfig", file),
        check(repo, "--deadline", "5"),
        check(repo, "c2"),
    ]

    assert [2, 2, 2, 2] == [done.returncode for done in found]
    words = ("--kubeconfig FILE", "--context NAME", "write for example 90s", "there is no cluster 'c2'")
    assert [True, True, True, True] == [word in done.stderr for word, done in zip(words, found, strict=True)]
