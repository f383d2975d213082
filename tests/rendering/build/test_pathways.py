"""Pathways as a JobSet of its own: each field of `pathways`."""

from typing import Any

import pytest

from .kit import DIRECT, refused, run

IMAGES = "us-docker.pkg.dev/cloud-tpu-v2-images/pathways"
RUNTIME = {"pathways-rm": "pathways-head", "pathways-proxy": "pathways-head", "pathways-worker": "worker"}
SIDECAR = {"image": "side:1"}
both = pytest.mark.parametrize("pattern", DIRECT)


@both
def test_directory_and_slices_are_flags(pattern: str) -> None:
    """Every part has the scratch directory; the resource manager has count and type of the slices."""
    made = run(pattern, tpu="v5p-16", slices=3)

    for name, job in RUNTIME.items():
        assert "--gcs_scratch_location=gs://bucket/dir" in made.container(name, job)["args"]
    flags = made.container("pathways-rm")["args"]
    assert flags[-2:] == ["--instance_count=3", "--instance_type=tpuv5:2x2x2"]
    assert made.job("worker")["replicas"] == 3
    assert made.job("worker")["template"]["spec"]["completions"] == 2


@both
@pytest.mark.parametrize(
    ("written", "tag"), [({}, "latest"), ({"pathwaysVersion": "jax-0.8.1"}, "jax-0.8.1")]
)
def test_version_is_the_tag_of_the_images(pattern: str, written: dict[str, str], tag: str) -> None:
    """`pathwaysVersion` is the tag of all three images; latest by default."""
    made = run(pattern, pathways=written)
    images = {"pathways-proxy": f"{IMAGES}/proxy_server:{tag}"}

    for name, job in RUNTIME.items():
        assert images.get(name, f"{IMAGES}/server:{tag}") == made.container(name, job)["image"]


@both
def test_subdomain_is_short_and_its_own(pattern: str) -> None:
    """The subdomain is short, so that the coordinator's address is a label value; each run has its own."""
    fixed, hashed = (run(pattern, naming=naming).item["spec"] for naming in ("Fixed", "Hashed"))

    assert len(fixed["network"]["subdomain"]) == 11
    assert fixed["network"]["subdomain"] != hashed["network"]["subdomain"]
    assert (
        fixed["network"]["subdomain"] == run(pattern, hostNetwork=True).item["spec"]["network"]["subdomain"]
    )
    assert fixed["coordinator"] == {"replicatedJob": "pathways-head", "jobIndex": 0, "podIndex": 0}


@both
@pytest.mark.parametrize(
    ("written", "limit", "flag"),
    [
        ({}, 16, None),
        ({"elasticSlices": 1}, 4, "--num_elastic_slices=1"),
        ({"elasticSlices": 1, "maxSliceRestarts": 3}, 12, "--num_elastic_slices=1"),
        ({"elasticSlices": 1, "maxSliceRestarts": 0}, 16, "--num_elastic_slices=1"),
    ],
)
def test_elastic_slices(pattern: str, written: dict[str, int], limit: int, flag: str | None) -> None:
    """Elastic slices are a flag of the proxy, and limit how often a worker host may fail."""
    made = run(pattern, pathways=written)
    flags = [item for item in made.container("pathways-proxy")["args"] if "elastic" in item]

    assert flags == ([flag] if flag else [])
    assert limit == made.job("worker")["template"]["spec"]["backoffLimit"]


@both
def test_metrics_are_a_flag_of_every_part(pattern: str) -> None:
    """`enableMetricsCollection` is a flag of manager, proxy and workers."""
    for wanted in (True, False):
        made = run(pattern, pathways={"enableMetricsCollection": wanted})
        for name, job in RUNTIME.items():
            flags = made.container(name, job)["args"]
            assert wanted == ("--enable_metrics_collection=true" in flags)


def test_head_with_a_program() -> None:
    """Manager and proxy are sidecars of the program, whose end is the run's success."""
    made = run("pathways")

    assert [item["name"] for item in made.pod()["initContainers"]] == ["pathways-rm", "pathways-proxy"]
    assert [item["restartPolicy"] for item in made.pod()["initContainers"]] == ["Always", "Always"]
    assert [item["name"] for item in made.pod()["containers"]] == ["main"]
    assert made.item["spec"]["successPolicy"]["targetReplicatedJobs"] == ["pathways-head"]


def test_program_is_told_where_pathways_is() -> None:
    """The program's variables lead JAX to the proxy; PATHWAYS_HEAD comes before what refers to it."""
    env = {"name": "A", "value": "1"}
    names = [
        item["name"] for item in run("pathways", container={"image": "i", "env": [env]}).container()["env"]
    ]

    assert names == ["PATHWAYS_HEAD", "JAX_PLATFORMS", "XCLOUD_ENVIRONMENT", "JAX_BACKEND_TARGET", "A"]


def test_headless_has_no_program() -> None:
    """Headless, manager and proxy are plain containers, and nothing ends the run."""
    made = run("pathways-headless")

    assert "initContainers" not in made.pod()
    assert [item["name"] for item in made.pod()["containers"]] == ["pathways-rm", "pathways-proxy"]
    assert made.item["spec"]["successPolicy"] == {"operator": "All"}


@pytest.mark.parametrize("name", ["main", "jax"])
def test_main_container_name(name: str) -> None:
    """`mainContainerName` is the name of the program's container."""
    made = run("pathways", pathways={"mainContainerName": name})

    assert [item["name"] for item in made.pod()["containers"]] == [name]


@both
def test_head_selects_its_pool(pattern: str) -> None:
    """`head.pool` is the head's node pool; with one CPU pool it is that, with several nothing is selected."""
    only = {"pools": [{"name": "only", "machineType": "n2-standard-64"}]}
    key = "cloud.google.com/gke-nodepool"

    assert run(pattern, pathways={"head": {"pool": "more"}}).pod()["nodeSelector"] == {key: "more"}
    assert run(pattern, pathways={"head": {}}, cluster=only).pod()["nodeSelector"] == {key: "only"}
    assert "nodeSelector" not in run(pattern, pathways={"head": {}}).pod()


@both
def test_head_beside_the_workers(pattern: str) -> None:
    """A colocated head selects the workers' hosts and tolerates their taints; affinities place it."""
    colocated = {"deploymentMode": "colocate_head_with_workers", "head": {}}
    made = run(pattern, pathways=colocated, provisioning="Spot")
    head, worker = made.pod("pathways-head"), made.pod("worker")

    assert head["nodeSelector"] == worker["nodeSelector"]
    assert "google.com/tpu" in [item["key"] for item in head["tolerations"]]
    assert {"podAffinity", "podAntiAffinity"} == set(head["affinity"]) == set(worker["affinity"])
    assert "metadata" not in made.job("pathways-head")["template"]
    assert "metadata" not in made.job("worker")["template"]


@both
def test_head_alone_keeps_to_a_machine(pattern: str) -> None:
    """By default two heads never share a machine."""
    annotations = run(pattern).job("pathways-head")["template"]["metadata"]["annotations"]

    assert annotations == {"alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}


@both
def test_colocated_python(pattern: str) -> None:
    """A sidecar starts beside each worker and shares /tmp and memory with it; the proxy is told to use it."""
    made = run(pattern, pathways={"colocatedPython": SIDECAR})
    sidecar = made.container("colocated-python-sidecar", "worker")
    worker = made.container("pathways-worker", "worker")
    shared = next(item for item in worker["env"] if item["name"] == "CLOUD_PATHWAYS_SIDECAR_SHM_DIRECTORY")
    memory = {"name": "shared-memory", "mountPath": shared["value"]}

    assert (sidecar["image"], sidecar["restartPolicy"]) == ("side:1", "Always")
    assert sidecar["volumeMounts"] == worker["volumeMounts"]
    assert (shared, memory) == (sidecar["env"][-1], sidecar["volumeMounts"][-1])
    assert {"name": "shared-memory", "emptyDir": {"medium": "Memory"}} in made.pod("worker")["volumes"]
    assert "--sidecar_name=external" in made.container("pathways-proxy", "pathways-head")["args"]


@both
def test_no_colocated_python(pattern: str) -> None:
    """By default there is no sidecar, no shared memory, and the proxy is told of none."""
    made = run(pattern)

    assert "initContainers" not in made.pod("worker")
    assert ["shared-tmp"] == [volume["name"] for volume in made.pod("worker")["volumes"]]
    flags = made.container("pathways-proxy", "pathways-head")["args"]
    assert not [flag for flag in flags if "sidecar" in flag]


@both
def test_flag_of_the_sidecar_that_the_user_writes_stays(pattern: str) -> None:
    """A sidecar flag among the proxy's custom flags is the only one."""
    custom = [{"componentType": "proxy_server", "customFlags": ["--sidecar_name=mine"]}]
    made = run(pattern, pathways={"colocatedPython": SIDECAR, "customComponents": custom})
    flags = [flag for flag in made.container("pathways-proxy", "pathways-head")["args"] if "sidecar" in flag]

    assert ["--sidecar_name=mine"] == flags


@both
def test_worker_fields(pattern: str) -> None:
    """Grace period, pod priority and selectors of `worker` are those of the workers' pods."""
    worker = {"terminationGracePeriodSeconds": 0, "priorityClassName": "high", "nodeSelector": {"a": "1"}}
    made, plain = run(pattern, pathways={"worker": worker}).pod("worker"), run(pattern).pod("worker")

    assert made["terminationGracePeriodSeconds"] == 0
    assert made["priorityClassName"] == "high"
    assert made["nodeSelector"] == {**plain["nodeSelector"], "a": "1"}
    assert {"terminationGracePeriodSeconds", "priorityClassName"} & set(plain) == set()


@both
@pytest.mark.parametrize(
    ("component", "name", "job"),
    [
        ("pathways_server", "pathways-rm", "pathways-head"),
        ("proxy_server", "pathways-proxy", "pathways-head"),
        ("worker", "pathways-worker", "worker"),
        ("colocated_python_sidecar", "colocated-python-sidecar", "worker"),
    ],
)
def test_custom_components(pattern: str, component: str, name: str, job: str) -> None:
    """Image, flags and variables of a custom component are its container's, the latter two appended."""
    colocated: dict[str, Any] = {"colocatedPython": SIDECAR}
    plain = run(pattern, pathways=colocated).container(name, job)
    env = {"name": "A", "value": "1"}
    image = {} if component == "colocated_python_sidecar" else {"image": "mine:1"}
    custom = {"componentType": component, "customFlags": ["--f=1"], "customEnv": [env], **image}

    made = run(pattern, pathways={**colocated, "customComponents": [custom]}).container(name, job)

    assert made == {**plain, **image, "args": [*plain.get("args", []), "--f=1"], "env": [*plain["env"], env]}


@both
def test_custom_flags_come_before_the_elastic_one(pattern: str) -> None:
    """The order of the proxy's flags is that of the operator: metrics, custom, elastic."""
    custom = [{"componentType": "proxy_server", "customFlags": ["--f=1"]}]
    made = run(
        pattern, pathways={"customComponents": custom, "elasticSlices": 1, "enableMetricsCollection": True}
    )

    assert made.container("pathways-proxy")["args"][-3:] == [
        "--enable_metrics_collection=true",
        "--f=1",
        "--num_elastic_slices=1",
    ]


@both
def test_custom_component_without_anything_changes_nothing(pattern: str) -> None:
    """A custom component that only names its type leaves the container as it is."""
    made = run(pattern, pathways={"customComponents": [{"componentType": "worker"}]})

    assert made.objects == run(pattern).objects


@both
def test_sidecar_that_is_not_there_cannot_be_customized(pattern: str) -> None:
    """Flags for a colocated-python sidecar without its image are refused, not lost."""
    problems = refused(
        pattern, pathways={"customComponents": [{"componentType": "colocated_python_sidecar"}]}
    )

    assert [problem.id for problem in problems] == ["FIELD001"]
