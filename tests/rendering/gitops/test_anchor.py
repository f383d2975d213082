"""The anchor of a synced namespace is ours: no run may bring an object of its name."""

from tests.conftest import Repo
from tests.words import places

from .kit import COMPONENT, FIXED, JOB, synced, workload

NAMED_LIKE_IT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slicewright-anchor}\n"


def bring(repo: Repo, spec: str) -> None:
    """Write a workload with a component that brings an object of the anchor's name."""
    repo.write("components/mine/kustomization.yaml", COMPONENT)
    repo.write("components/mine/things.yaml", NAMED_LIKE_IT)
    workload(repo, spec=spec.replace("tpu:", "components: [components/mine], tpu:"))


def test_object_of_its_name_is_refused(empty: Repo) -> None:
    """Kustomize builds no list that holds an object twice; the problem says whose it is, for both namings."""
    synced(empty)
    for spec in (JOB, FIXED):
        bring(empty, spec.replace("container:", "queueName: queue, container:"))

        said = places(empty.run("render", code=1).err)

        assert "workloads/a.yaml:5:20: NAME004\n1 error, 0 warnings\n" == said


def test_without_syncing_its_name_is_free(empty: Repo) -> None:
    """No anchor is made, so nothing meets it."""
    synced(empty, gitops="")
    bring(empty, JOB)

    empty.run("render")
