"""Finds the fields of a TPUWorkload for a run object; patches express the rest."""

from collections.abc import Iterator
from typing import Any

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.cluster.importing.api_defaults import backoff_limit
from slicewright.cluster.importing.flags import filled
from slicewright.cluster.importing.node_pools import provisioning_of, tpu_field
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text, texts, words
from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.labels import NODE_POOL, TPU
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.pathways_plan import SIDECAR_FLAG

_CONTAINER = ("image", "command", "args", "workingDir", "imagePullPolicy", "env", "ports")
"""Fields of a container that `container` has; `podTemplate` takes the others."""


def program_of(container: Object) -> tuple[Object, Object]:
    """Return a container as the field `container`, and its fields that `container` does not have."""
    rest = copied(container)
    if rest.get("env"):
        own = (entry for _, entry in entries(rest["env"]))
        rest["env"] = [entry for entry in own if not text(entry.get("name")).startswith("SLICEWRIGHT_")]
    resources = mapping(rest.pop("resources", None))
    program: Object = {key: rest.pop(key) for key in ("name", *_CONTAINER) if rest.get(key) is not None}
    match program.get("command"):
        case ["bash", "-c", str(script)] if script and "args" not in program:
            del program["command"]
            program["script"] = script
    amounts = {key: mapping(resources.get(key)) for key in ("requests", "limits")}
    for by_resource in amounts.values():
        by_resource.pop(TPU, None)
    program |= filled(resources=filled(**amounts))
    return program, {key: value for key, value in rest.items() if value is not None}


def template_of(pods: Pods, spec: Object) -> Object:
    """Return a pod template with a spec, and with the labels and annotations of some pods."""
    return filled(metadata=filled(labels=dict(pods.labels), annotations=dict(pods.annotations)), spec=spec)


_IMAGES = {
    "pathways_server": "us-docker.pkg.dev/cloud-tpu-v2-images/pathways/server",
    "proxy_server": "us-docker.pkg.dev/cloud-tpu-v2-images/pathways/proxy_server",
    "worker": "us-docker.pkg.dev/cloud-tpu-v2-images/pathways/server",
}
"""The image of each component, without a tag."""
_LATEST = "latest"
"""The tag of the base."""
_OURS = (
    "--server_port",
    "--resource_manager_address",
    "--gcs_scratch_location",
    "--node_type",
    "--instance_count",
    "--instance_type",
    "--num_elastic_slices",
    "--enable_metrics_collection",
)
"""Flags that follow from other fields."""
_ENV = frozenset(["PATHWAYS_HEAD", "JAX_PLATFORMS", "XCLOUD_ENVIRONMENT", "JAX_BACKEND_TARGET"])
"""Variables that the base gives the program; another value becomes a patch."""
_BASES = ("containers", "initContainers", "volumes", "restartPolicy")
"""Fields of the workers' pods that the base has."""
_MAIN = "main"
"""The name of the program's container if none is written."""
_SIDECAR = "colocated-python-sidecar"


def jobset_spec(item: Object, meant: Object) -> Object | None:
    """Return the spec for a JobSet that runs Pathways, None for another one.

    `meant` is what it means without Pathways: the shape, and the pods with chips, which are the workers.
    """
    pods = pods_of(item, "JobSet")
    containers = (entry for group in pods for _, entry in (*group.init_containers, *group.containers))
    components = {_component(container): container for container in containers}
    heads = [group for group in pods if not group.chips]
    workers = [group for group in pods if group.chips]
    if not _IMAGES.keys() <= components.keys() or (len(heads), len(workers)) != (1, 1):
        return None
    (head,), (worker,) = heads, workers
    flags = {kind: _flags(components[kind]) for kind in _IMAGES}
    elastic = flags["proxy_server"].get("--num_elastic_slices", "")
    tags = {text(components[kind].get("image")).removeprefix(f"{image}:") for kind, image in _IMAGES.items()}
    version = next(iter(tags)) if len(tags) == 1 and "/" not in "".join(tags) else _LATEST
    programs = [entry for _, entry in head.containers if not _component(entry)]
    sidecar = next((entry for _, entry in worker.init_containers if entry.get("name") == _SIDECAR), {})
    program, rest = program_of(programs[0]) if programs else ({}, {})
    name = text(program.get("name")) or _MAIN
    program["env"] = [entry for entry in program.get("env", ()) if text(entry.get("name")) not in _ENV]
    custom = [_custom(kind, components[kind], version) for kind in _IMAGES]
    pathways = filled(
        pathwaysDir=flags["pathways_server"].get("--gcs_scratch_location"),
        pathwaysVersion=version if version != _LATEST else None,
        elasticSlices=digits(elastic),
        maxSliceRestarts=_slice_restarts(worker) if elastic.isdecimal() else None,
        enableMetricsCollection=True if "--enable_metrics_collection" in flags["worker"] else None,
        headless=None if programs else True,
        mainContainerName=name if name != _MAIN else None,
        colocatedPython={"image": sidecar["image"]} if sidecar else None,
        customComponents=[component for component in custom if len(component) > 1],
        head=_head(head, name, rest, programs[1:]),
    )
    spec = mapping(meant["podTemplate"].get("spec"))
    spec = {key: value for key, value in spec.items() if key not in _BASES}
    left_out = ("backoffLimit", "containersPerHost")
    return {
        **{key: value for key, value in meant.items() if key not in left_out},
        "container": filled(**program) or None,
        "podTemplate": template_of(worker, spec),
        "pathways": pathways,
    }


def sort_sidecars(jobset: Object) -> Iterator[str]:
    """Put the manager of each head before its proxy, as bases have it, and yield pointers to the lists."""
    for index, job in entries(at(jobset, "spec", "replicatedJobs")):
        listed = at(job, "template", "spec", "template", "spec", "initContainers")
        if [_component(entry) for _, entry in entries(listed)][:2] == ["proxy_server", "pathways_server"]:
            listed[:2] = reversed(listed[:2])
            yield f"/spec/replicatedJobs/{index}/template/spec/template/spec/initContainers"


def _component(container: Object) -> str:
    """Return which component of Pathways a container is, if any, by its flags."""
    flags = _flags(container)
    if flags.get("--node_type") == "resource_manager":
        return "pathways_server"
    if "--resource_manager_address" not in flags:
        return ""
    return "worker" if at(container, "resources", "limits", TPU) is not None else "proxy_server"


def _flags(container: Object) -> dict[str, str]:
    return {
        flag: value for _, word in words(container.get("args")) for flag, _, value in [word.partition("=")]
    }


def _slice_restarts(worker: Pods) -> int | None:
    """Return how often a host of an elastic slice may restart, as the limit of its Job says."""
    limit = number(worker.job.get("backoffLimit"))
    return None if limit is None else limit // max(1, worker.parallelism)


def _custom(kind: str, container: Object, version: str) -> Object:
    """Return the fields of a Pathways component that other fields of the TPUWorkload do not express."""
    ours = {*_OURS, f"{SIDECAR_FLAG}=external"}
    more = [word for _, word in words(container.get("args")) if not {word, word.partition("=")[0]} & ours]
    image = text(container.get("image"))
    other = {} if image == f"{_IMAGES[kind]}:{version}" else {"image": image}
    return filled(componentType=kind, **other, customFlags=more)


def _head(head: Pods, name: str, rest: Object, beside: list[Object]) -> Object:
    """Return the pod of the head, without the components of Pathways."""
    selector = dict(mapping(head.spec.get("nodeSelector")))
    pool = selector.pop(NODE_POOL, None)
    ours = ("containers", "initContainers", "nodeSelector", "hostNetwork", "dnsPolicy")
    spec: Object = {key: copied(value) for key, value in head.spec.items() if key not in ours}
    further: list[Any] = [{"name": name, **rest}] if rest else []
    if spec.get("restartPolicy") == "Never":  # as the bases have it
        del spec["restartPolicy"]
    spec |= filled(
        nodeSelector=selector,
        containers=[*further, *copied(beside)],
        initContainers=[copied(entry) for _, entry in head.init_containers if not _component(entry)],
    )
    return filled(pool=pool, podTemplate=template_of(head, spec))


def pathwaysjob_spec(item: Object, catalogue: Catalogue) -> Object | str:
    """Return the spec for a PathwaysJob, or why there is none."""
    spec, controller = mapping(item.get("spec")), mapping(at(item, "spec", "controller"))
    worker = next((entry for _, entry in entries(spec.get("workers"))), {})
    key = (text(worker.get("type")), text(worker.get("topology")))
    shape = catalogue.on_machine.get(key) or catalogue.rule_on_machine.get(key)
    if shape is None:
        return f"the catalogue has no TPU slice of machine type '{key[0]}' and topology '{key[1]}'"
    heads = pods_of(item, "PathwaysJob")
    programs = [entry for head in heads for _, entry in head.containers]
    program, rest = program_of(programs[0]) if programs else ({}, {})
    selector = texts(worker.get("nodeSelector"))
    way, restarts = provisioning_of(selector, ()), number(spec.get("maxRestarts"))
    pathways = filled(
        pathwaysDir=spec.get("pathwaysDir"),
        pathwaysVersion=spec.get("pathwaysVersion"),
        elasticSlices=controller.get("elasticSlices") or None,
        maxSliceRestarts=worker.get("maxSliceRestarts"),
        deploymentMode=controller.get("deploymentMode"),
        enableMetricsCollection=controller.get("enableMetricsCollection") or None,
        headless=None if programs else True,
        customComponents=copied(spec.get("customComponents")),
        worker=filled(
            terminationGracePeriodSeconds=worker.get("terminationGracePeriodSeconds"),
            priorityClassName=worker.get("priorityClassName"),
            nodeSelector={key: value for key, value in selector.items() if not key.startswith(RESERVED)},
        ),
        head=_head(heads[0], text(program.get("name")), rest, programs[1:]) if programs else None,
    )
    slices = number(worker.get("numSlices"), 1)
    return {
        "tpu": tpu_field(shape),
        "slices": slices if slices != 1 else None,
        "provisioning": way if way != "OnDemand" else None,
        "failurePolicy": {"maxRestarts": restarts} if restarts else None,
        "pathways": pathways,
        "container": program or None,
    }


RESERVED = (
    labels.GKE_TPU,
    labels.ACCELERATOR_COUNT,
    labels.RESERVATION,
    labels.SPOT,
    labels.FLEX_START,
    labels.COMPUTE_CLASS,
    labels.MAX_RUN_DURATION,
)
"""Beginnings of the node labels that `tpu` and `provisioning` select."""


def guess(item: Object, cluster: str, catalogue: Catalogue) -> tuple[Object, ...] | str:
    """Return TPUWorkloads for a run object, the most specific first, or the reason why there is none.

    Later ones have fewer fields and leave the rest to patches, for the case that an earlier one is refused.
    """
    means = pathwaysjob_spec if item["kind"] == "PathwaysJob" else _run
    meant = means(item, catalogue)
    if isinstance(meant, str):
        return meant
    under_pathways = jobset_spec(item, meant) if item["kind"] == "JobSet" else None
    choices = [under_pathways, meant] if under_pathways else [meant]
    if item["kind"] == "PathwaysJob":
        fewer = {key: value for key, value in meant["pathways"].items() if key not in ("head", "worker")}
        choices.append({**meant, "pathways": fewer, "provisioning": None})
    return tuple(document for each in choices for document in _documents(item, cluster, each))


def _documents(item: Object, cluster: str, meant: Object) -> tuple[Object, ...]:
    """Return TPUWorkloads for a run, the one with the most fields first."""
    metadata = mapping(item.get("metadata"))
    run_labels = texts(metadata.get("labels"))
    seconds = run_labels.get(labels.MAX_EXECUTION_TIME, "")
    spec = filled(
        clusters=[cluster],
        api=item["kind"],
        naming="Fixed",
        queueName=run_labels.get(labels.QUEUE),
        workloadPriorityClassName=run_labels.get(labels.PRIORITY_CLASS),
        maxExecutionTimeSeconds=digits(seconds),
        **meant,
    )
    own: Object = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    kept = {key: value for key, value in run_labels.items() if not key.startswith(labels.KUEUE)}
    full = filled(**own, labels=kept, annotations=texts(metadata.get("annotations")))
    plain: Object = {key: value for key, value in spec.items() if key not in ("podTemplate", "failurePolicy")}
    bare = copied(plain)
    for key in set(bare.get("container", {})) - {"name", "image"}:
        del bare["container"][key]
    head = {"apiVersion": SLICEWRIGHT_VERSION, "kind": "TPUWorkload"}
    return tuple(
        {**head, "metadata": names, "spec": copied(body)}
        for names, body in ((full, spec), (own, spec), (own, plain), (own, bare))
    )


def _run(item: Object, catalogue: Catalogue) -> Object | str:
    """Return the spec for a JobSet or a Job, or why there is none."""
    pods = next((pods for pods in pods_of(item, item["kind"]) if pods.chips), None)
    if pods is None:
        return "none of its pods requests google.com/tpu"
    selector = pods.selector
    for label in (labels.ACCELERATOR, labels.TOPOLOGY):
        if not selector.get(label):
            return f"its pods do not select {label}"
    accelerator, topology = selector[labels.ACCELERATOR], selector[labels.TOPOLOGY]
    shape = next(
        (
            row
            for row in catalogue.rows("all")
            if (row.accelerator, row.topology, row.chips_per_host) == (accelerator, topology, pods.chips)
        ),
        None,
    )
    if shape is None:
        tpu = f"accelerator '{accelerator}', topology '{topology}' and {pods.chips} chips per pod"
        return f"the catalogue has no TPU slice with {tpu}"
    policy = mapping(at(item, "spec", "failurePolicy"))
    backoff = number(pods.job.get("backoffLimit"))
    taints = {text(entry.get("key")) for _, entry in entries(pods.spec.get("tolerations"))}
    way = provisioning_of(selector, taints)
    return {
        "tpu": tpu_field(shape),
        "slices": pods.slices if pods.slices != 1 else None,
        "provisioning": way if way != "OnDemand" else None,
        "backoffLimit": backoff_limit(pods.job) if backoff is None else backoff or None,
        "failurePolicy": copied(filled(**policy)),
        **_pod(pods, shape, item["kind"]),
    }


def _pod(pods: Pods, shape: Shape, kind: str) -> Object:
    """Return the fields of a TPUWorkload for the pods on TPU hosts."""
    containers = [entry for _, entry in pods.containers]
    with_chips = [entry for entry in containers if at(entry, "resources", "limits", labels.TPU) is not None]
    main = next(iter(with_chips or containers), {})
    copies = len(with_chips) if shape.chips_per_host % max(1, len(with_chips)) == 0 else 1
    name = text(main.get("name"))
    program, rest = program_of(main)
    privileged = rest.get("securityContext") == {"privileged": True}
    if privileged:
        del rest["securityContext"]
    beside = [copied(entry) for entry in containers if entry not in with_chips]
    if copies > 1 and name.endswith("-1"):
        program["name"] = name = name.removesuffix("-1")
    host = pods.spec.get("hostNetwork") is True
    ours = {"containers", "nodeSelector", "hostNetwork", "subdomain"}
    if host:
        ours.add("dnsPolicy")
    spec = {key: copied(value) for key, value in pods.spec.items() if key not in ours and value is not None}
    if kind == "JobSet":
        spec.setdefault("restartPolicy", "OnFailure")  # as the webhook has it
    selector = texts(pods.spec.get("nodeSelector"))
    theirs = {key: value for key, value in selector.items() if not key.startswith(RESERVED)}
    if theirs:
        spec["nodeSelector"] = theirs
    further = ([{"name": name, **rest}] if rest else []) + beside
    if further:
        spec["containers"] = further
    return {
        "containersPerHost": copies if copies > 1 else None,
        "hostNetwork": host or None,
        "privileged": privileged or None,
        "container": program or None,
        "podTemplate": template_of(pods, spec),
    }
