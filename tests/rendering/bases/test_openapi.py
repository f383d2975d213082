"""The component that teaches kustomize our kinds, for hand-written overlays."""

from pathlib import Path
from typing import Any

import pytest

from .kit import OPENAPI, kustomize, parsed, write

pytestmark = pytest.mark.tools

KUBERNETES = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def built(place: Path, *, files: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """Return what an overlay over the bases builds to."""
    folder = write(place, {**files, "kustomization.yaml": {**KUBERNETES, **fields}})
    return parsed(kustomize(folder))


def jobset_patch(**job: Any) -> dict[str, Any]:
    """Return a strategic-merge patch of the slices of the JobSet base."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "replaced-by-slicewright"},
        "spec": {"replicatedJobs": [{"name": "slice", **job}]},
    }


UP = "../../../../"


@pytest.fixture
def place(tree: Path, request: pytest.FixtureRequest) -> Path:
    """A folder for one overlay, as deep below the root as hand-written ones are."""
    return tree / "custom" / "c" / "ns" / str(request.node.name)


HERE = [f"{UP}{OPENAPI}"]


def test_merge_keeps_what_the_patch_does_not_name(place: Path) -> None:
    """A strategic-merge patch on replicatedJobs changes what it names and leaves the rest."""
    container = {"name": "replaced-by-slicewright", "env": [{"name": "A", "value": "1"}]}
    pod = {"template": {"spec": {"containers": [container]}}}
    files = {"two.yaml": jobset_patch(replicas=2, template={"spec": pod})}

    objects = built(
        place, files=files, resources=[f"{UP}bases/jobset"], components=HERE, patches=[{"path": "two.yaml"}]
    )

    (job,) = objects[0]["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]["template"]["spec"]
    (main,) = spec["containers"]
    assert job["replicas"] == 2
    assert main["env"] == [{"name": "A", "value": "1"}]
    assert main["image"] == "replaced-by-slicewright"
    assert main["resources"]["limits"] == {"google.com/tpu": "1"}
    assert [port["containerPort"] for port in main["ports"]] == [8471, 8080]
    assert "cloud.google.com/gke-tpu-topology" in spec["nodeSelector"]


def test_without_it_the_list_is_lost(place: Path) -> None:
    """The same patch without the component replaces the list, and the build succeeds: what it is good for."""
    objects = built(
        place,
        files={"two.yaml": jobset_patch(replicas=2)},
        resources=[f"{UP}bases/jobset"],
        patches=[{"path": "two.yaml"}],
    )

    assert objects[0]["spec"]["replicatedJobs"] == [{"name": "slice", "replicas": 2}]


def test_merge_of_jobs_and_pathwaysjobs(place: Path) -> None:
    """Lists of Jobs still merge, although the schema replaces kustomize's; those of PathwaysJobs too."""
    env = [{"name": "A", "value": "1"}]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "replaced-by-slicewright"},
        "spec": {"template": {"spec": {"containers": [{"name": "replaced-by-slicewright", "env": env}]}}},
    }
    pathwaysjob = {
        "apiVersion": "pathways-job.pathways.domain/v1",
        "kind": "PathwaysJob",
        "metadata": {"name": "replaced-by-slicewright"},
        "spec": {
            "workers": [{"type": "replaced-by-slicewright", "numSlices": 2}],
            "controller": {"template": {"spec": {"containers": [{"name": "main", "env": env}]}}},
        },
    }

    objects = built(
        place,
        files={"job.yaml": job, "pathwaysjob.yaml": pathwaysjob},
        resources=[f"{UP}bases/job", f"{UP}bases/pathwaysjob"],
        components=HERE,
        patches=[{"path": "job.yaml"}, {"path": "pathwaysjob.yaml"}],
    )

    made = {item["kind"]: item["spec"] for item in objects}
    (main,) = made["Job"]["template"]["spec"]["containers"]
    assert (env, {"google.com/tpu": "1"}) == (main["env"], main["resources"]["limits"])
    (workers,) = made["PathwaysJob"]["workers"]
    assert (workers["numSlices"], workers["topology"]) == (2, "replaced-by-slicewright")
    (user,) = made["PathwaysJob"]["controller"]["template"]["spec"]["containers"]
    assert (env, "replaced-by-slicewright") == (user["env"], user["image"])


def test_namespace_spares_cluster_scoped_queues(place: Path) -> None:
    """`namespace:` reaches the JobSet and the LocalQueue, and no ClusterQueue."""
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {},
    }
    local = {**queue, "kind": "LocalQueue", "metadata": {"name": "l"}, "spec": {"clusterQueue": "q"}}

    objects = built(
        place,
        files={"queue.yaml": queue, "local.yaml": local},
        namespace="team-a",
        resources=["queue.yaml", "local.yaml", f"{UP}bases/jobset"],
        components=HERE,
    )

    places = {item["kind"]: item["metadata"].get("namespace") for item in objects}
    assert places == {"ClusterQueue": None, "LocalQueue": "team-a", "JobSet": "team-a"}


def test_names_are_followed(place: Path) -> None:
    """The hash of a generated ConfigMap and a prefix reach the pods, the queue label and the LocalQueue."""
    source = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}
    container = {"name": "replaced-by-slicewright", "env": [source]}
    patch = jobset_patch(template={"spec": {"template": {"spec": {"containers": [container]}}}})
    patch["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "l"}
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "l"},
        "spec": {"clusterQueue": "elsewhere"},
    }

    objects = built(
        place,
        files={"local.yaml": local, "patch.yaml": patch},
        namePrefix="p-",
        configMapGenerator=[{"name": "settings", "literals": ["a=1"]}],
        resources=["local.yaml", f"{UP}bases/jobset"],
        components=HERE,
        patches=[{"path": "patch.yaml"}],
    )

    made = {item["kind"]: item for item in objects}
    name = made["ConfigMap"]["metadata"]["name"]
    job = made["JobSet"]["spec"]["replicatedJobs"][0]
    (main,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert name.startswith("p-settings-")
    assert name == main["env"][0]["valueFrom"]["configMapKeyRef"]["name"]
    assert made["JobSet"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "p-l"
    assert made["LocalQueue"]["spec"]["clusterQueue"] == "elsewhere"
