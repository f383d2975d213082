"""A GitOps repository of ours and its cluster: set up once, as the docs say, and then only by commits."""

import subprocess
from collections.abc import Iterator
from functools import partial

import pytest
from tests.e2e import kit as clusters
from tests.e2e_argocd import kit
from tests.e2e_argocd.argo import NAMESPACE
from tests.e2e_argocd.repository import Tree

from slicewright.kubernetes.types import Object
from slicewright.programs.find import find
from slicewright.testbed.bed import Bed

GITOPS = "overlays/sample/_gitops"
ROOT, PLATFORM, RUNS = "sample-gitops", "sample-platform", "sample.default"
"""The Applications of the sample: that of the Applications, that of the platform, that of the runs."""

RUN = "slicewright.dev/run"
WORKLOAD = "slicewright.dev/workload"

CHECKS = "resource.customizations.health."
"""How the keys of health checks begin in argocd-cm."""


def kubectl(bed: Bed, *arguments: str) -> None:
    """Run kubectl, which has to succeed."""
    command = [str(find("kubectl")), f"--kubeconfig={bed.kubeconfig}", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


def install(bed: Bed, tree: Tree) -> None:
    """Do what a person does once: the health checks, then the Applications."""
    patch = str(tree.root / GITOPS / "argocd-cm" / "argocd-cm.yaml")
    kubectl(bed, "patch", "configmap", "argocd-cm", f"--namespace={NAMESPACE}", f"--patch-file={patch}")
    kubectl(bed, "apply", "-k", str(tree.root / GITOPS / "argocd"))


def uninstall(bed: Bed) -> None:
    """Take the health checks away again."""
    item = bed.api.get(*kit.CONFIGMAP, "argocd-cm", NAMESPACE)
    bed.api.patch(item, {"data": {key: None for key in item["data"] if key.startswith(CHECKS)}})


def begin(bed: Bed, tree: Tree) -> None:
    """Render and commit the tree, set Argo CD up, and wait until everything is synced."""
    revision = tree.render("the first commit")
    install(bed, tree)
    arrive(bed, revision)


def push(bed: Bed, tree: Tree, message: str, *arguments: str) -> None:
    """Render and commit the tree, and wait until all Applications are through with it, without an error."""
    arrive(bed, tree.render(message, *arguments))


def arrive(bed: Bed, revision: str) -> None:
    """Let all Applications see a revision, those that it brings too, and expect that each is synced."""
    kit.sync(bed, revision, ROOT)
    names = applications(bed)
    kit.sync(bed, revision, *names)
    for name in names:
        bed.until(f"{name} to agree with git", partial(_agrees, bed, name))
    shown = {name: (*kit.state(bed, name)[:2], kit.errors(kit.application(bed, name))) for name in names}
    assert dict.fromkeys(names, ("Succeeded", "Synced", [])) == shown


def _agrees(bed: Bed, name: str) -> bool:
    return kit.state(bed, name)[1] != "OutOfSync"


def applications(bed: Bed) -> list[str]:
    """Return the names of the Applications that are there, and are not about to go."""
    found = (item["metadata"] for item in bed.api.list(*kit.APPLICATION))
    return sorted(metadata["name"] for metadata in found if "deletionTimestamp" not in metadata)


def runs(bed: Bed, workload: str, namespace: str = "default") -> dict[str, str]:
    """Return the runs of a workload that are there, and are not about to go: uid by name."""
    items = bed.api.list(*clusters.JOBSET, namespace, labels=f"{WORKLOAD}={workload}")
    return {
        item["metadata"]["name"]: item["metadata"]["uid"]
        for item in items
        if "deletionTimestamp" not in item["metadata"]
    }


def run(bed: Bed, workload: str, namespace: str = "default") -> tuple[str, str]:
    """Return name and uid of the only run of a workload."""
    ((name, uid),) = runs(bed, workload, namespace).items()
    return name, uid


def until_running(bed: Bed, workload: str, namespace: str = "default") -> tuple[str, str]:
    """Wait until all pods of a workload's only run are running; return its name and uid."""

    def pods() -> bool:
        names = list(runs(bed, workload, namespace))
        phases = (
            [pod["status"]["phase"] for pod in clusters.pods_of(bed, names[0])] if len(names) == 1 else []
        )
        return phases == ["Running", "Running"]

    bed.until(f"workload {workload} to run", pods)
    return run(bed, workload, namespace)


def until_pods(bed: Bed, name: str) -> None:
    """Wait until both pods of a run are running."""
    bed.until(f"the pods of {name}", lambda: len(clusters.pods_of(bed, name, phase="Running")) == 2)


def job_pods(bed: Bed, name: str, phase: str = "") -> list[Object]:
    """Return the pods of a run that is a Job."""
    found = bed.api.list(*clusters.POD, labels=f"batch.kubernetes.io/job-name={name}")
    return [pod for pod in found if phase in ("", pod["status"]["phase"])]


def end(bed: Bed, name: str, code: int = 0) -> None:
    """End the pods of a run with an exit code."""
    for pod in clusters.pods_of(bed, name):
        clusters.end_pod(bed, pod, code)


def until_health(bed: Bed, application: str, expected: str) -> None:
    """Wait for the health of an Application."""
    bed.until(f"{application} to be {expected}", lambda: kit.state(bed, application)[2] == expected)


def over(bed: Bed, name: str) -> str:
    """Return how a run ended, '' while it has not."""
    found: str = bed.api.get(*clusters.JOBSET, name, "default").get("status", {}).get("terminalState", "")
    return found


def until_gone(bed: Bed, name: str) -> None:
    """Wait until a run and its pods are gone."""
    bed.until(f"{name} to be gone", lambda: bed.api.find(*clusters.JOBSET, name, "default") is None)
    bed.until(f"the pods of {name} to be gone", lambda: clusters.pods_of(bed, name) == [])


@pytest.fixture(scope="module", autouse=True)
def without_checks(shared_bed: Bed) -> Iterator[None]:
    """Take the health checks away at the end of a module: other tests are about Argo CD as it comes."""
    yield
    uninstall(shared_bed)
