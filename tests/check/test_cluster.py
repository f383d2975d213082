"""Hand-written manifests are checked against a cluster of the repository: `--cluster`, `--one-cluster`."""

import pytest
from tests.check.kit import BAD_CONFIG_MAP
from tests.check.test_judged import CLUSTER, FITS
from tests.conftest import Repo

pytestmark = pytest.mark.slow  # whole repositories are rendered

JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}
spec:
  replicatedJobs:
  - name: slice
    replicas: {slices}
    template:
      metadata:
        annotations: {{alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool}}
      spec:
        completions: 2
        parallelism: 2
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice
              cloud.google.com/gke-tpu-topology: 2x4
              cloud.google.com/gke-accelerator-count: "4"
            containers:
            - {{name: main, image: "x:1.0.0", resources: {{limits: {{google.com/tpu: 4}}}}}}
"""
FOUND = ["manual/large.yaml FIT102", "manual/lost.yaml REF101"]


@pytest.fixture
def manual(empty: Repo) -> Repo:
    """Return a rendered cluster, a file beside it with a mistake, and two manifests that do not fit it."""
    pool = "pools: [{name: v5e, tpu: v5litepod-16, slices: 3}]"
    empty.write(
        "clusters/c1.yaml", CLUSTER.replace("pools: [{name: v5e, tpu: v5litepod-8, slices: 3}]", pool)
    )
    empty.write("clusters/c2.yaml", CLUSTER.replace("name: c1", "name: c2"))
    empty.workload("a", FITS.replace("v5litepod-8", "v5litepod-16"))
    empty.run("render")
    empty.write("manual/lost.yaml", JOBSET.format(name="lost", queue="nosuch", slices=1))
    empty.write("manual/large.yaml", JOBSET.format(name="large", queue="team", slices=1))
    empty.write("custom/other.yaml", BAD_CONFIG_MAP)
    return empty


def found(repo: Repo, *arguments: str) -> list[str]:
    """Return the file and id of each error."""
    done = repo.run("validate", *arguments, "-o", "json", code=1)
    return sorted(f"{one['file']} {one['id']}" for one in done.json["problems"] if one["severity"] == "error")


@pytest.mark.parametrize("options", [("--cluster", "c1"), ("--one-cluster", "overlays/c1/_platform")])
def test_manifests_are_checked_against_the_platform(manual: Repo, options: tuple[str, ...]) -> None:
    """A queue that the cluster lacks, and pods that none of its flavors fits, are errors of the manifests."""
    assert FOUND == found(manual, *options, "manual")


def test_nothing_of_the_cluster_itself_is_reported(manual: Repo) -> None:
    """Its tree and custom/ are only referred to; what is named is reported, but is not held to be synced."""
    done = manual.run("validate", "--cluster", "c1", "manual", "-o", "json", code=1)

    assert ["custom/other.yaml SCHEMA003"] == found(manual)
    assert {"manual/large.yaml", "manual/lost.yaml"} == {one["file"] for one in done.json["problems"]}
    assert 2 == done.json["summary"]["objects"]
    assert [] == [ident for ident in done.ids if ident.startswith("GIT")]
    assert ["custom/other.yaml SCHEMA003", *FOUND] == found(manual, "--cluster", "c1", "manual", "custom")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "c3", "manual"), "there is no cluster 'c3'; write one of: c1, c2"),
        (("--cluster", "c1", "manual", "overlays/c2"), "the paths hold objects of cluster c2"),
        (("--cluster", "c1"), "--cluster needs a PATH"),
        (("--cluster", "c1", "--one-cluster", "manual"), "--cluster needs a PATH"),
    ],
)
def test_cluster_that_cannot_be_meant_is_refused(
    manual: Repo, arguments: tuple[str, ...], message: str
) -> None:
    """An unknown cluster, another one's objects, and options that say something else are usage errors."""
    assert message in manual.run("validate", *arguments, code=2).err


def test_cluster_without_a_rendered_platform_is_refused(empty: Repo) -> None:
    """Nothing could be said of its queues."""
    empty.write("clusters/c1.yaml", CLUSTER)
    empty.write("manual/lost.yaml", JOBSET.format(name="lost", queue="nosuch", slices=1))

    assert (
        "cluster 'c1' is not rendered; run slicewright render"
        in empty.run("validate", "--cluster", "c1", "manual", code=2).err
    )
