"""The JobSet that the PathwaysJob controller v0.1.4 makes, as its source reads.

This is a test double, written from the controller's behaviour and not from our own Pathways base: each checks
the other.
"""

from copy import deepcopy

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.kubernetes import labels
from slicewright.kubernetes.kinds import JOBSET_VERSION
from slicewright.kubernetes.pods import REQUIRED
from slicewright.kubernetes.types import Object

_SERVER = "us-docker.pkg.dev/cloud-tpu-v2-images/pathways/server"
_PROXY = "us-docker.pkg.dev/cloud-tpu-v2-images/pathways/proxy_server"
_COORDINATOR = "metadata.labels['jobset.sigs.k8s.io/coordinator']"
_RETRIES_A_HOST = 4
_RESOURCE_MANAGER = "--resource_manager_address=$(PATHWAYS_HEAD):29001"
_SHARED_TMP = [{"name": "shared-tmp", "mountPath": "/tmp"}]  # noqa: S108 - the controller's


class UnknownShapeError(ValueError):
    """The controller has no such topology on such a machine."""


def shape_of(pathwaysjob: Object, catalogue: Catalogue) -> Shape:
    """Return the shape of the workers. Raises UnknownShapeError."""
    workers = pathwaysjob["spec"]["workers"][0]
    shape = catalogue.on_machine.get((workers["type"], workers["topology"]))
    if shape is None or shape.pathways_instance_type is None:
        raise UnknownShapeError(f"invalid topology {workers['topology']} for {workers['type']}")
    return shape


def jobset(pathwaysjob: Object, shape: Shape) -> Object:
    """Return the JobSet of a PathwaysJob."""
    metadata, spec = pathwaysjob["metadata"], pathwaysjob["spec"]
    headless = "template" not in spec["controller"]
    child: Object = {
        "apiVersion": JOBSET_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [
                {
                    "apiVersion": pathwaysjob["apiVersion"],
                    "kind": pathwaysjob["kind"],
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "startupPolicy": {"startupPolicyOrder": "InOrder"},
            "failurePolicy": {"maxRestarts": spec.get("maxRestarts", 0)},
            "coordinator": {"replicatedJob": "pathways-head", "jobIndex": 0, "podIndex": 0},
            "replicatedJobs": [_head(pathwaysjob, shape), _worker(pathwaysjob, shape)],
        },
    }
    if not headless:
        child["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["pathways-head"]}
    return child


def _head(pathwaysjob: Object, shape: Shape) -> Object:
    spec = pathwaysjob["spec"]
    controller = spec["controller"]
    annotations = dict(pathwaysjob["metadata"].get("annotations") or {})
    pod: Object = deepcopy(controller.get("template", {}).get("spec", {}))
    pod["hostNetwork"] = True
    pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    services = [_resource_manager(spec, shape), _proxy(spec)]
    if "template" in controller:
        sidecars = [{**service, "restartPolicy": "Always"} for service in services]
        pod["initContainers"] = [*pod.get("initContainers", []), *sidecars]
        for container in pod["containers"]:
            if container["name"] == controller.get("mainContainerName", "main"):
                container["env"] = [*container.get("env", []), *_client_environment()]
    else:
        pod["containers"] = services
    if _is_colocated(spec):
        pod["nodeSelector"] = _tpu_selector(shape)
    else:
        annotations[labels.EXCLUSIVE_TOPOLOGY] = labels.HOSTNAME
    return {
        "name": "pathways-head",
        "replicas": 1,
        "template": {
            "metadata": {"annotations": annotations},
            "spec": {
                "backoffLimit": 0,
                "completions": 1,
                "parallelism": 1,
                "template": {"metadata": {"annotations": annotations}, "spec": pod},
            },
        },
    }


def _worker(pathwaysjob: Object, shape: Shape) -> Object:
    spec = pathwaysjob["spec"]
    workers = spec["workers"][0]
    restarts = workers.get("maxSliceRestarts", 1)
    elastic = spec["controller"].get("elasticSlices", 0) > 0 and restarts > 0
    pod: Object = {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "nodeSelector": {**(workers.get("nodeSelector") or {}), **_tpu_selector(shape)},
        "containers": [_worker_container(spec, shape)],
        "volumes": [
            {"name": "shared-tmp", "hostPath": {"path": "/tmp", "type": "DirectoryOrCreate"}}  # noqa: S108
        ],
    }
    for field in ("terminationGracePeriodSeconds", "priorityClassName"):
        if field in workers:
            pod[field] = workers[field]
    sidecar = _component(spec, "colocated_python_sidecar")
    if sidecar:
        pod["initContainers"] = [_colocated_python(sidecar)]
    if _is_colocated(spec):
        pod["affinity"] = _beside_the_head(pathwaysjob["metadata"]["name"])
    return {
        "name": "worker",
        "replicas": workers["numSlices"],
        "template": {
            "spec": {
                "backoffLimit": shape.hosts * (restarts if elastic else _RETRIES_A_HOST),
                "completions": shape.hosts,
                "parallelism": shape.hosts,
                "template": {
                    "metadata": {"annotations": {labels.EXCLUSIVE_TOPOLOGY: labels.NODE_POOL}},
                    "spec": pod,
                },
            }
        },
    }


def _resource_manager(spec: Object, shape: Shape) -> Object:
    args = ["--server_port=29001", _scratch(spec), "--node_type=resource_manager"]
    args += [f"--instance_count={spec['workers'][0]['numSlices']}"]
    args += [f"--instance_type={shape.pathways_instance_type}"]
    env = [
        *_JOBSET_NAMES,
        _from("HOST_ADDRESS", _COORDINATOR),
        {"name": "TPU_SKIP_MDS_QUERY", "value": "true"},
    ]
    container = _container(spec, "pathways-rm", "pathways_server", _SERVER, args, env)
    return container | {"ports": _ports(29001, 29002), "resources": {"limits": {"cpu": "8", "memory": "32G"}}}


def _proxy(spec: Object) -> Object:
    args = ["--server_port=29000", _RESOURCE_MANAGER, _scratch(spec)]
    env = [_from("PATHWAYS_HEAD", _COORDINATOR)]
    container = _container(spec, "pathways-proxy", "proxy_server", _PROXY, args, env)
    elastic = spec["controller"].get("elasticSlices", 0)
    if elastic > 0:
        container["args"].append(f"--num_elastic_slices={elastic}")
    return container | {"ports": _ports(29000), "resources": {"limits": {"cpu": "16", "memory": "100G"}}}


def _worker_container(spec: Object, shape: Shape) -> Object:
    args = ["--server_port=29005", _RESOURCE_MANAGER, _scratch(spec)]
    env = [
        {"name": "TPU_MIN_LOG_LEVEL", "value": "0"},
        {"name": "TF_CPP_MIN_LOG_LEVEL", "value": "0"},
        {"name": "XCLOUD_ENVIRONMENT", "value": "GCP"},
        {"name": "MEGASCALE_GRPC_ENABLE_XOR_TRACER", "value": "false"},
        _from("MEGASCALE_NUM_SLICES", "metadata.labels['jobset.sigs.k8s.io/replicatedjob-replicas']"),
        *reversed(_JOBSET_NAMES),
        _from("MEGASCALE_SLICE_ID", "metadata.labels['jobset.sigs.k8s.io/job-index']"),
        _from("PATHWAYS_HEAD", _COORDINATOR),
        _from("MEGASCALE_COORDINATOR_ADDRESS", _COORDINATOR),
    ]
    return _container(spec, "pathways-worker", "worker", _SERVER, args, env) | {
        "ports": _ports(29005, 29006, 8471, 8080),
        "resources": {"limits": {labels.TPU: str(shape.chips_per_host)}},
        "volumeMounts": _SHARED_TMP,
    }


def _container(
    spec: Object, name: str, component: str, repository: str, args: list[str], env: list[Object]
) -> Object:
    """Return a container of the runtime, with the fields of `customComponents`."""
    custom = _component(spec, component)
    is_metered = spec["controller"].get("enableMetricsCollection", False)
    metrics = ["--enable_metrics_collection=true"] if is_metered else []
    return {
        "name": name,
        "image": custom.get("image") or f"{repository}:{spec.get('pathwaysVersion') or 'latest'}",
        "imagePullPolicy": "Always",
        "args": [*args, *metrics, *(custom.get("customFlags") or [])],
        "env": [*env, *(custom.get("customEnv") or [])],
    }


def _colocated_python(sidecar: Object) -> Object:
    """Return the sidecar for user code; its custom flags and environment are ignored by the controller."""
    return {
        "name": "colocated-python-sidecar",
        "image": sidecar.get("image", ""),
        "imagePullPolicy": "Always",
        "restartPolicy": "Always",
        "env": [{"name": "GRPC_SERVER_ADDRESS", "value": "'0.0.0.0:50051'"}],
        "ports": _ports(50051),
        "volumeMounts": _SHARED_TMP,
    }


def _client_environment() -> list[Object]:
    return [
        _from("PATHWAYS_HEAD", _COORDINATOR),
        {"name": "JAX_PLATFORMS", "value": "proxy"},
        {"name": "XCLOUD_ENVIRONMENT", "value": "GCP"},
        {"name": "JAX_BACKEND_TARGET", "value": "grpc://$(PATHWAYS_HEAD):29000"},
    ]


def _beside_the_head(name: str) -> Object:
    own: Object = {"key": labels.JOBSET_NAME, "operator": "In", "values": [name]}
    foreign: list[Object] = [{**own, "operator": "NotIn"}, {"key": "job-name", "operator": "Exists"}]

    def required(expressions: list[Object]) -> Object:
        term = {"topologyKey": labels.NODE_POOL, "labelSelector": {"matchExpressions": expressions}}
        return {REQUIRED: [term]}

    return {"podAffinity": required([own]), "podAntiAffinity": required(foreign)}


def _component(spec: Object, name: str) -> Object:
    components: list[Object] = spec.get("customComponents") or []
    return next((custom for custom in components if custom["componentType"] == name), {})


def _is_colocated(spec: Object) -> bool:
    return bool(spec["controller"]["deploymentMode"] == "colocate_head_with_workers")


def _tpu_selector(shape: Shape) -> dict[str, str]:
    return {labels.ACCELERATOR: shape.accelerator, labels.TOPOLOGY: shape.topology}


def _scratch(spec: Object) -> str:
    return f"--gcs_scratch_location={spec.get('pathwaysDir', '')}"


def _from(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _ports(*numbers: int) -> list[Object]:
    return [{"containerPort": number, "protocol": "TCP"} for number in numbers]


_JOBSET_NAMES = (
    _from("REPLICATED_JOB_NAME", "metadata.annotations['jobset.sigs.k8s.io/replicatedjob-name']"),
    _from("JOBSET_NAME", f"metadata.annotations['{labels.JOBSET_NAME}']"),
)
