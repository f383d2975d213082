"""The simulated operator: a process that creates a JobSet for each PathwaysJob and reports its status.

`python -m slicewright.testbed.simulated_operator KUBECONFIG FOLDER` runs until it is killed. It knows the TPU
generations that the repository of the folder adds, too. The JobSet is the one that the PathwaysJob controller
v0.1.4 makes, written from its source and not from our own Pathways base: each checks the other.
"""

import datetime as dt
import queue
import sys
import threading
from copy import deepcopy
from pathlib import Path

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import conditions, is_true
from slicewright.kubernetes.kinds import JOBSET_VERSION, RUN_VERSIONS
from slicewright.kubernetes.pods import REQUIRED
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import catalogue_at

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


_JOBSET, _PATHWAYSJOB = RUN_VERSIONS["JobSet"], RUN_VERSIONS["PathwaysJob"]
_LAST = ("Completed", "Failed")
_RETRY_SECONDS = 1.0


def run(api: Api, catalogue: Catalogue) -> None:
    """Reconcile each changed object, one name at a time, forever."""
    names: queue.Queue[tuple[str, str]] = queue.Queue()
    for kind in (_PATHWAYSJOB, _JOBSET):
        threading.Thread(target=_follow, args=(api, *kind, names), daemon=True).start()
    while True:
        name = names.get()
        try:
            reconcile(api, catalogue, *name)
        except (ApiError, OSError) as error:
            _say(f"{'/'.join(name)}: {error}")
            threading.Timer(_RETRY_SECONDS, names.put, (name,)).start()


def reconcile(api: Api, catalogue: Catalogue, namespace: str, name: str) -> None:
    """Create the JobSet of a PathwaysJob if it is missing, and write its status."""
    pathwaysjob = api.find(*_PATHWAYSJOB, name, namespace)
    if pathwaysjob is None or pathwaysjob["metadata"].get("deletionTimestamp"):
        return
    if pathwaysjob.get("status", {}).get("terminalState"):
        return
    child = api.find(*_JOBSET, name, namespace)
    if child is None:
        try:
            child = api.create(jobset(pathwaysjob, shape_of(pathwaysjob, catalogue)))
        except UnknownShapeError as error:
            _report(api, pathwaysjob, "Failed", str(error))
            return
        _say(f"{namespace}/{name}: JobSet created")
    _report(api, pathwaysjob, _state(child), "as its JobSet")


def _state(child: Object) -> str:
    status = child.get("status", {})
    for kind in (*_LAST, "Suspended"):
        if is_true(conditions(status), kind):
            return kind
    jobs = status.get("replicatedJobsStatus") or ()
    ready = {entry["name"]: entry["ready"] + entry["succeeded"] for entry in jobs}
    replicas = {job["name"]: job["replicas"] for job in child["spec"]["replicatedJobs"]}
    return "Running" if ready == replicas else "Pending"


def _report(api: Api, pathwaysjob: Object, state: str, message: str) -> None:
    conditions = pathwaysjob.get("status", {}).get("conditions") or []
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    current = next((entry["type"] for entry in conditions if entry["status"] == "True"), "")
    if current == state:
        return
    others = [
        {**entry, "status": "False", "lastTransitionTime": now} if entry["status"] == "True" else entry
        for entry in conditions
        if entry["type"] != state
    ]
    entry = {"type": state, "status": "True", "reason": state, "message": message, "lastTransitionTime": now}
    status: Object = {"conditions": [*others, entry]}
    if state in _LAST:
        status["terminalState"] = state
    api.patch(pathwaysjob, {"status": status}, subresource="status")


def _follow(api: Api, api_version: str, kind: str, names: queue.Queue[tuple[str, str]]) -> None:
    while True:
        try:
            for _, item in api.watch(api_version, kind):
                names.put((item["metadata"].get("namespace", ""), item["metadata"]["name"]))
        except (ApiError, OSError) as error:
            _say(f"watching {kind}: {error}")
            threading.Event().wait(_RETRY_SECONDS)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with Api(kubeconfig.read(Path(sys.argv[1]))) as client:
        run(client, catalogue_at(Path(sys.argv[2]))[0])
