"""The user's program: container, script, environment of the run, buckets."""

from typing import Any

import pytest

from .kit import DIRECT, JOBS, OURS, PROGRAMS, run

CPU = {"limits": {"cpu": "1000m"}, "requests": {"memory": "2048Mi"}}


@pytest.mark.parametrize("pattern", PROGRAMS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", "other:2"),
        ("imagePullPolicy", "IfNotPresent"),
        ("command", ["python3", "train.py"]),
        ("args", ["--steps=1"]),
        ("workingDir", "/work"),
    ],
)
def test_field_of_container_is_taken(pattern: str, field: str, value: Any) -> None:
    """Each plain field of `container` stands in the container of the program as it was written."""
    main = run(pattern, container={"image": "img:1", field: value}).container()

    assert value == main[field]


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_script_runs_in_a_shell(pattern: str) -> None:
    """A script is the command `bash -c`, with no arguments besides."""
    main = run(pattern, container={"image": "img:1", "script": "echo 1\n"}).container()

    assert main["command"] == ["bash", "-c", "echo 1\n"]
    assert "args" not in main


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_container_has_its_name(pattern: str) -> None:
    """The container is called as `container.name` says; a PathwaysJob is told so."""
    made = run(pattern, container={"image": "img:1", "name": "jax"})

    assert made.container("jax")["image"] == "img:1"
    if pattern == "pathwaysjob":
        assert made.item["spec"]["controller"]["mainContainerName"] == "jax"


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_program_may_stand_in_the_pod_template(pattern: str) -> None:
    """Without `container`, the only container of the program's pod template is the program."""
    template = {"spec": {"containers": [{"name": "jax", "image": "img:3"}]}}
    head = {"pathways": {"head": {"pool": "cpu", "podTemplate": template}}}
    place: dict[str, Any] = head if "pathways" in pattern else {"podTemplate": template}

    made = run(pattern, container=None, **place)

    assert [item["name"] for item in made.pod()["containers"]] == ["jax"]
    assert made.container("jax")["image"] == "img:3"


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_env_ports_and_mounts_of_container(pattern: str) -> None:
    """Variables, ports and mounts of `container` stand beside those of the base."""
    container = {
        "image": "img:1",
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 9999}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    main = run(pattern, container=container).container()

    assert main["env"][-1] == {"name": "A", "value": "1"}
    assert main["ports"][-1]["containerPort"] == 9999
    assert main["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_resources_are_canonical_and_beside_the_chips(pattern: str) -> None:
    """Quantities are written as the API server keeps them; chips are not lost."""
    made = run(pattern, container={"image": "img:1", "resources": CPU}).container()["resources"]

    assert made["limits"]["cpu"] == "1"
    assert made["requests"]["memory"] == "2Gi"
    if pattern in ("jobset", "job", "indexed-job"):
        assert made["limits"]["google.com/tpu"] == made["requests"]["google.com/tpu"] == "4"


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_protocol_of_ports_is_written_for_custom_resources(pattern: str) -> None:
    """Custom resources have `protocol: TCP` in every port, built-in kinds as it was written."""
    ports = run(pattern, container={"image": "i", "ports": [{"containerPort": 9999}]}).container()["ports"]

    assert ("protocol" in ports[-1]) == (pattern not in JOBS)


def test_container_is_in_reading_order() -> None:
    """A container of a frozen run begins with its name and image, however it was written."""
    container = {"env": [{"name": "A", "value": "1"}], "args": ["x"], "command": ["y"], "image": "img:1"}

    main = run("jobset", container=container, naming="Hashed").container()

    assert list(main)[:5] == ["name", "image", "command", "args", "env"]


@pytest.mark.parametrize("pattern", [*OURS, "pathwaysjob"])
def test_hashed_run_is_told_to_every_container(pattern: str) -> None:
    """Each container of a hashed run is told workload and run, before its other variables."""
    extra = {"initContainers": [{"name": "fetch", "image": "f", "env": [{"name": "A", "value": "1"}]}]}
    written: dict[str, Any] = {} if pattern == "pathwaysjob" else {"podTemplate": {"spec": extra}}
    made = run(pattern, naming="Hashed", **written)

    ident = made.item["metadata"]["labels"]["slicewright.dev/run"]
    names = [job["name"] for job in made.item["spec"].get("replicatedJobs", [{"name": ""}])]
    assert made.item["metadata"]["name"] == f"w-{ident}"
    for name in names:
        spec = made.pod(name)
        for container in (*spec.get("initContainers", []), *spec["containers"]):
            assert container["env"][:2] == [
                {"name": "SLICEWRIGHT_WORKLOAD", "value": "w"},
                {"name": "SLICEWRIGHT_RUN", "value": ident},
            ], container["name"]


@pytest.mark.parametrize("pattern", [*OURS, "pathwaysjob"])
def test_fixed_workload_is_told_nothing(pattern: str) -> None:
    """A Fixed workload has no run: neither the label nor the variables."""
    made = run(pattern)

    assert "slicewright.dev/run" not in made.item["metadata"]["labels"]
    assert made.item["metadata"]["name"] == "w"
    assert "SLICEWRIGHT_" not in str(made.objects)


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_buckets_are_mounted(pattern: str) -> None:
    """A bucket is a CSI volume and a mount of the program's container; GKE is asked for its sidecar."""
    buckets = [
        {"bucket": "b-0", "mountPath": "/zero"},
        {"bucket": "b-1", "mountPath": "/one", "options": "implicit-dirs", "readOnly": True},
    ]
    made = run(pattern, gcsFuse=buckets)
    driver = "gcsfuse.csi.storage.gke.io"

    assert made.pod()["volumes"][-2:] == [
        {"name": "gcs-fuse-0", "csi": {"driver": driver, "volumeAttributes": {"bucketName": "b-0"}}},
        {
            "name": "gcs-fuse-1",
            "csi": {
                "driver": driver,
                "volumeAttributes": {"bucketName": "b-1", "mountOptions": "implicit-dirs"},
                "readOnly": True,
            },
        },
    ]
    assert made.container()["volumeMounts"] == [
        {"name": "gcs-fuse-0", "mountPath": "/zero"},
        {"name": "gcs-fuse-1", "mountPath": "/one", "readOnly": True},
    ]
    place = made.item if pattern == "pathwaysjob" else made.template()
    assert place["metadata"]["annotations"]["gke-gcsfuse/volumes"] == "true"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.33.3-gke.1226000", "true"), ("1.34", "true"), ("1.33.2-gke.1", None), ("1.33", None), ("", None)],
)
@pytest.mark.parametrize("pattern", PROGRAMS)
def test_bucket_is_mounted_on_the_network_of_the_host(
    pattern: str, version: str, expected: str | None
) -> None:
    """Where the version of GKE is known to be able to, pods with hostNetwork mount as their own account."""
    on_host: dict[str, Any] = {} if pattern == "pathwaysjob" else {"hostNetwork": True}
    cluster = {"gke": {"version": version} if version else {}}

    made = run(pattern, cluster=cluster, gcsFuse=[{"bucket": "b", "mountPath": "/b"}], **on_host)

    assert expected == made.pod()["volumes"][-1]["csi"]["volumeAttributes"].get("hostNetworkPodKSA")


@pytest.mark.parametrize("pattern", DIRECT)
def test_workers_mount_no_bucket(pattern: str) -> None:
    """Under Pathways buckets are the head's: the workers read and write through Pathways."""
    buckets = [{"bucket": "b", "mountPath": "/b"}]
    written: dict[str, Any] = {} if pattern == "pathways-headless" else {"gcsFuse": buckets}
    worker = run(pattern, **written).pod("worker")

    assert [volume["name"] for volume in worker["volumes"]] == ["shared-tmp"]
