"""A cluster of processes: ready in time, on the loopback address only, several side by side."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.resolved import resolve_text

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.rendering.plan.ways import TPU_TAINT
from slicewright.testbed import supervisor, waiting
from slicewright.testbed.bed_cluster import Attached, Cluster
from slicewright.testbed.process_group import ProcessGroup
from slicewright.testbed.waiting import BedError

from .kit import GUEST, assert_nothing_left, eventually, listening, processes

BUSY_MACHINE = 10
"""By how much a start may take longer than it does on a machine where nothing else begins meanwhile."""

THOUSAND = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: thousand}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools: [{name: np, tpu: v5litepod-256, slices: 16}]
"""
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "chips", "namespace": "default"},
    "spec": {
        "containers": [
            {"name": "main", "image": "python:3.12", "resources": {"limits": {"google.com/tpu": "4"}}}
        ]
    },
}


@pytest.mark.workflow
def test_two_clusters_side_by_side(tmp_path: Path) -> None:
    """Two clusters start at once and share nothing; each is on the loopback address only, with own keys."""
    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda name: _started(tmp_path, name), ("first", "second"))
    took = time.monotonic() - started
    try:
        assert took < waiting.stretched(2 * 10 * BUSY_MACHINE)
        assert set(first.processes.ports) & set(second.processes.ports) == set()
        for bed in (first, second):
            _assert_loopback_only(bed)
        _assert_own_authority(first, second)
        _assert_nodes_and_tolerations(first)
        assert second.api.list("v1", "Node") == []
        _assert_attached(first, tmp_path)
    finally:
        ports = [*first.processes.ports, *second.processes.ports]
        first.stop()
        assert "ready" in supervisor.read_state(second.processes.folder)
        second.stop()
    assert_nothing_left(tmp_path, ports)


def _started(root: Path, name: str) -> Cluster:
    bed = Cluster(name, root=root)
    bed.start()
    return bed


def _assert_loopback_only(bed: Cluster) -> None:
    """Every program of the cluster listens where nobody else can reach it, or nowhere."""
    pids = list(supervisor.read_state(bed.processes.folder)["programs"].values())
    addresses = listening(pids)

    assert {address for address in addresses if not address.startswith("127.0.0.1:")} == set()
    assert {int(address.rpartition(":")[2]) for address in addresses} == set(bed.processes.ports)


def _assert_own_authority(first: Cluster, second: Cluster) -> None:
    """The keys of one cluster open no door of another one."""
    own = kubeconfig.read(first.kubeconfig)
    other = kubeconfig.read(second.kubeconfig)
    mixed = kubeconfig.Access(other.server, other.authority, own.certificate, own.key)
    with Api(mixed) as stranger, pytest.raises((ApiError, OSError)):
        stranger.list("v1", "Node")


def _assert_nodes_and_tolerations(bed: Cluster) -> None:
    """A thousand nodes are there within seconds, ready; pods that ask for chips tolerate the TPU taint."""
    started = time.monotonic()
    count = bed.add_nodes(resolve_text(THOUSAND))
    took = time.monotonic() - started

    assert count == 1024
    assert took < waiting.stretched(10 * BUSY_MACHINE)
    ready = [
        condition["status"]
        for node in bed.api.list("v1", "Node")
        for condition in node["status"]["conditions"]
        if condition["type"] == "Ready"
    ]
    assert ready == ["True"] * 1024
    assert [node["spec"]["taints"] for node in bed.api.list("v1", "Node")] == [[TPU_TAINT]] * 1024
    tolerations = bed.api.create(POD, dryRun="All")["spec"]["tolerations"]
    assert {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"} in tolerations


def _assert_attached(bed: Cluster, root: Path) -> None:
    """A second bed around the same API server brings KWOK and the operator, and leaves the cluster be.

    Each of the two plays the nodes that carry its own value, and no others.
    """
    namespaces = {item["metadata"]["name"] for item in bed.api.list("v1", "Namespace")}
    with Attached(bed.kubeconfig, root=root, simulates="guest") as guest:
        programs = supervisor.read_state(guest.processes.folder)["programs"]
        assert set(programs) == {"kwok", "pathways"}
        assert len(guest.api.list("v1", "Node")) == 1024
        assert guest.add_nodes(resolve_text(GUEST)) == 1
        _create_pod(bed, "first", "guest-0")
        eventually("the guest plays its node", lambda: _phase(bed, "first") == "Running")
    _create_pod(bed, "second", "guest-0")
    _create_pod(bed, "third", "np-0-0")
    eventually("the host plays its own nodes", lambda: _phase(bed, "third") == "Running")

    assert _phase(bed, "second") == "Pending"
    assert len(bed.api.list("v1", "Node")) == 1024 + 1
    assert namespaces == {item["metadata"]["name"] for item in bed.api.list("v1", "Namespace")}


def _create_pod(bed: Cluster, name: str, node: str) -> None:
    metadata = {"name": name, "namespace": "default"}
    bed.api.create({**POD, "metadata": metadata, "spec": {**POD["spec"], "nodeName": node}})


def _phase(bed: Cluster, name: str) -> str:
    return str(bed.api.get("v1", "Pod", name, "default")["status"]["phase"])


@pytest.mark.workflow
def test_settings_of_kueue_hold(tmp_path: Path) -> None:
    """What a cluster's file says of Kueue's configuration reaches Kueue, which says what is wrong with it."""
    bed = Cluster(root=tmp_path, kueue_settings={"waitForPodsReady": {"timeout": "nonsense"}})

    with pytest.raises(BedError, match="kueue ended: exit code 1") as raised:
        bed.start()

    assert "nonsense" in raised.value.problem.hint
    assert bed.logs is not None
    assert_nothing_left(tmp_path, [])


def test_name_that_is_taken(tmp_path: Path) -> None:
    """A second cluster of a name is refused, and the first one lives on."""
    group = ProcessGroup(tmp_path, "mine", 1)
    eventually("the supervisor lives", lambda: len(processes(tmp_path)) == 1)

    with pytest.raises(BedError, match="a cluster named 'mine' runs already"):
        Cluster("mine", root=tmp_path).start()

    group.check()
    group.close()
    assert_nothing_left(tmp_path, list(group.ports))


@pytest.mark.parametrize("name", ["", "../up", "Upper", ".logs", "-", "a" * 43])
def test_name_that_is_none(name: str, tmp_path: Path) -> None:
    """A name becomes a folder: only letters, digits and hyphens are taken."""
    with pytest.raises(BedError, match="is not a valid name for a cluster"):
        Cluster(name, root=tmp_path).start()


@pytest.mark.usefixtures("no_wheels")
def test_missing_programs_are_named(tmp_path: Path) -> None:
    """Without its programs a cluster says which are missing and how to get them; nothing is started."""
    bed = Cluster(root=tmp_path, environ={"SLICEWRIGHT_CACHE": str(tmp_path), "PATH": ""})

    with pytest.raises(BedError) as raised:
        bed.start()

    assert "etcd v3.6.12 is missing; kube-apiserver v1.36.2 is missing" in raised.value.problem.message
    assert "slicewright tools build" in raised.value.problem.hint
