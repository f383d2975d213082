"""What a cluster is told to install is accepted by an API server that has nothing yet."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.conftest import Repo

from slicewright.programs.find import find
from slicewright.testbed.bed import Bed

from .bare import Bare

pytestmark = pytest.mark.workflow  # tests/e2e installs what a tree says, as the test bed does

CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  project: my-project
  location: us-west4-a
  versions: {pathwaysJob: v0.1.4}
  pools: [{name: tpus, tpu: v5litepod-8, slices: 3}]
  clusterQueues: [{name: q, quota: [{pool: tpus}], localQueues: [{name: q}]}]
  kueue: {waitForPodsReady: {timeout: 3h}}
"""
HERE = "overlays/c1"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Hold an API server for the tests of this module."""
    with Bare(root=tmp_path_factory.mktemp("bare")) as bed:
        yield bed


@pytest.fixture
def rendered(empty: Repo) -> Path:
    """Return a repository with all controllers and a configuration of Kueue."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.run("render")
    return empty.root


def kubectl(bed: Bed, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kubectl and return what it says."""
    command = [str(find("kubectl")), f"--kubeconfig={bed.kubeconfig}", *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True)


def test_the_folder_is_applied_by_the_server(bare: Bed, rendered: Path) -> None:
    """As the pages say, and all of it at once; Kueue gets what the file says."""
    folder = str(rendered / HERE / "_controllers")
    done = kubectl(bare, "apply", "--server-side", "-k", folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 113
    config = bare.api.get("v1", "ConfigMap", "kueue-manager-config", "kueue-system")
    found = yaml.safe_load(config["data"]["controller_manager_config.yaml"])
    assert found["waitForPodsReady"]["timeout"] == "3h"
    deployment = bare.api.get("apps/v1", "Deployment", "kueue-controller-manager", "kueue-system")
    pod = deployment["spec"]["template"]
    assert set(pod["metadata"]["annotations"]) == {
        "kubectl.kubernetes.io/default-container",
        "slicewright.dev/configuration",
    }
    assert pod["spec"]["containers"][0]["image"] == "registry.k8s.io/kueue/kueue:v0.19.2"


def test_a_client_side_apply_is_refused(bare: Bed, rendered: Path) -> None:
    """That is why the pages say --server-side: definitions do not fit into the annotation."""
    done = kubectl(bare, "apply", "--dry-run=server", "-k", str(rendered / HERE / "_controllers"))

    assert done.returncode == 1
    assert "metadata.annotations: Too long" in done.stderr


def test_the_platform_needs_the_controllers(rendered: Path, tmp_path: Path) -> None:
    """Before them the API server knows no queue."""
    with Bare(root=tmp_path / "empty") as bed:
        done = kubectl(bed, "apply", "--server-side", "-k", str(rendered / HERE / "_platform"))

    assert done.returncode == 1
    assert 'no matches for kind "ClusterQueue"' in done.stderr
