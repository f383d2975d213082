"""`slicewright rehearse` on a cluster that it did not make: the tutorials, played on kind."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e_rehearsal.kit import ROOT, wrong
from tests.e2e_rehearsal.seeds import SEEDS, Seed

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.client import Api
from slicewright.rehearse.existing_cluster import MARK
from slicewright.rehearse.model.surroundings import OWNER_LABEL as REHEARSAL
from slicewright.testbed import waiting
from slicewright.testbed.bed_cluster import Attached

KUBE_SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
EVENTS = "events"
SLOWER = 3
"""Controllers in pods beside a kubelet answer later, and the tutorials expect answers within a minute."""
COMMAND_SECONDS = 600
COLLECTED_SECONDS = 120
"""How long the cluster's garbage collector may take: 40 to 60 for pods whose node is gone."""


@pytest.fixture
def api(kind_cluster: Any) -> Iterator[Api]:
    """A client of the cluster."""
    with Api(kubeconfig.read(kind_cluster.kubeconfig_path)) as client:
        yield client


@pytest.fixture
def unmarked(api: Api) -> None:
    """Take from the cluster the mark that lets it be played on."""
    api.patch(KUBE_SYSTEM, {"metadata": {"labels": {MARK: None}}})


@pytest.fixture(scope="module")
def definitions(kind_cluster: Any) -> None:
    """Add what a rehearsal may leave in a cluster for good: definitions that it lacks."""
    with Attached(kind_cluster.kubeconfig_path):
        pass


def rehearsed(kind_cluster: Any, seed: Seed, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the cluster to its end."""
    command = [sys.executable, "-m", "slicewright", "rehearse", seed.cluster, "-C", str(ROOT)]
    command += ["--kubeconfig", str(kind_cluster.kubeconfig_path), "--context", f"kind-{kind_cluster.name}"]
    command += ["--speed", str(seed.speed / SLOWER), "-o", "json", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)


def everything(api: Api, labels: str = "") -> set[str]:
    """Return the objects of all kinds that the API server itself keeps and lists, except events."""
    return {
        f"{resource['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        for root in ("/api/v1", *own_groups(api))
        for resource in api.request("GET", root)["resources"]
        if "list" in resource["verbs"] and resource["name"] != EVENTS
        for item in api.request("GET", f"{root}/{resource['name']}", params={"labelSelector": labels})[
            "items"
        ]
    }


def own_groups(api: Api) -> list[str]:
    """Return the paths of the groups that no other server, such as Kueue's own, answers for."""
    services = [item["spec"] for item in api.list("apiregistration.k8s.io/v1", "APIService")]
    elsewhere = {spec["group"] for spec in services if spec.get("service")}
    groups = api.request("GET", "/apis")["groups"]
    return [
        f"/apis/{group['preferredVersion']['groupVersion']}"
        for group in groups
        if group["name"] not in elsewhere
    ]


@pytest.mark.usefixtures("unmarked")
def test_cluster_without_the_mark_is_refused_and_left_alone(kind_cluster: Any, api: Api) -> None:
    """Without --mark nothing is played, made or marked."""
    before = everything(api)
    done = rehearsed(kind_cluster, SEEDS[0])

    problems = json.loads(done.stdout)["problems"]
    assert (1, ["REH008"]) == (done.returncode, [problem["id"] for problem in problems])
    assert "--mark" in problems[0]["hint"]
    assert before == everything(api)
    assert MARK not in api.get("v1", "Namespace", "kube-system")["metadata"]["labels"]


@pytest.mark.usefixtures("unmarked", "definitions")
@pytest.mark.parametrize(
    "seed",
    [*SEEDS[:2], *(pytest.param(seed, marks=pytest.mark.workflow) for seed in SEEDS[2:])],
    ids=lambda seed: seed.cluster,
)
def test_tutorial_shows_what_it_promises_and_leaves_nothing(kind_cluster: Any, api: Api, seed: Seed) -> None:
    """With --mark it passes and shows what it shows on a cluster of processes; what it made is gone."""
    before = everything(api)
    done = rehearsed(kind_cluster, seed, "--mark")
    left = everything(api, REHEARSAL)

    assert 0 == done.returncode, done.stdout + done.stderr
    output = json.loads(done.stdout)
    (record,) = output["rehearsals"]
    assert ([], "passed") == (wrong(output), record["verdict"])
    assert seed.expected == seed.shown(record)
    assert set() == left
    waiting.until(
        "what the cluster made of it to go", lambda: before == everything(api), seconds=COLLECTED_SECONDS
    )
