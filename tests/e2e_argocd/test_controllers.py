"""The controllers of a cluster that has nothing yet, synced by Argo CD from another one, as rendered."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e_argocd import kit, ours
from tests.e2e_argocd.argo import NAMESPACE
from tests.e2e_argocd.ours import without_checks  # noqa: F401 - a fixture
from tests.e2e_argocd.repository import Tree
from tests.testbed.bare import Bare

from slicewright.cluster.api import kubeconfig
from slicewright.testbed.bed import Bed

NAME = "sample-controllers"
CONFIG = ("v1", "ConfigMap", "kueue-manager-config", "kueue-system")
DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.fixture
def far(bed: Bed, tmp_path: Path) -> Iterator[Bed]:
    """Hold a cluster without controllers that Argo CD knows as `far`."""
    with Bare(root=tmp_path / "far") as made:
        access = kubeconfig.read(made.kubeconfig)
        names = {"caData": access.authority, "certData": access.certificate, "keyData": access.key}
        papers = {key: base64.b64encode(text.encode()).decode() for key, text in names.items()}
        secret: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "far",
                "namespace": NAMESPACE,
                "labels": {"argocd.argoproj.io/secret-type": "cluster"},
            },
            "stringData": {
                "name": "far",
                "server": access.server,
                "config": json.dumps({"tlsClientConfig": papers}),
            },
        }
        bed.api.create(secret)
        yield made
        kit.remove_applications(bed)
        bed.api.delete(secret)


def configure(tree: Tree, timeout: str) -> None:
    """Let the cluster of the tree be the other one, with its controllers and a configuration of Kueue."""
    tree.cluster("  gitops: {argocd: {repo", "  gitops: {argocd: {destination: {name: far}, repo")
    tree.cluster("controllers: {managed: false}", f"kueue: {{waitForPodsReady: {{timeout: {timeout}}}}}")


def sync(bed: Bed, revision: str) -> None:
    """Let Argo CD sync Applications and controllers; the platform waits for a Kueue that never comes."""
    kit.sync(bed, revision, ours.ROOT)
    kit.sync(bed, revision, NAME)
    bed.until("the controllers to agree with git", lambda: kit.settled(bed, NAME)[1] == "Synced")
    assert (kit.state(bed, NAME)[0], kit.errors(kit.application(bed, NAME))) == ("Succeeded", [])


def test_controllers_are_synced_as_rendered(bed: Bed, tree: Tree, far: Bed) -> None:
    """All of it is allowed, applied by the server, and without a difference afterwards.

    What somebody deletes comes back. A definition never goes, and so no run with it.
    """
    configure(tree, "3h")
    revision = tree.render("the first commit")
    ours.install(bed, tree)
    sync(bed, revision)

    assert len(far.api.list(*DEFINITIONS)) == 12
    assert "timeout: 3h" in far.api.get(*CONFIG)["data"]["controller_manager_config.yaml"]

    far.api.delete(far.api.get(*CONFIG))
    far.until("the ConfigMap to come back", lambda: far.api.find(*CONFIG))

    tree.cluster("timeout: 3h", "timeout: 4h")
    sync(bed, tree.render("another configuration"))
    far.until(
        "the other configuration",
        lambda: "timeout: 4h" in far.api.get(*CONFIG)["data"]["controller_manager_config.yaml"],
    )

    tree.cluster("kueue: {waitForPodsReady: {timeout: 4h}}", "controllers: {managed: false}")
    kit.sync(bed, tree.render("somebody else's controllers"), ours.ROOT)
    bed.until("the Application to go", lambda: NAME not in ours.applications(bed))
    assert len(far.api.list(*DEFINITIONS)) == 12
    assert far.api.find("apps/v1", "Deployment", "kueue-controller-manager", "kueue-system")
