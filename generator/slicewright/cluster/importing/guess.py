"""Finds the fields of a TPUWorkload for a run object; patches express the rest."""

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.cluster.importing.flags import filled
from slicewright.cluster.importing.node_pools import provisioning_of, tpu_field
from slicewright.cluster.importing.pathways_fields import jobset_spec, pathwaysjob_spec
from slicewright.cluster.importing.program import program_of, template_of
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, digits, entries, mapping, number, text, texts
from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.types import Object

_JOB_BACKOFF = 6
"""The Job API's default of backoffLimit."""
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

    A later one leaves to patches what the fields of an earlier one may refuse.
    """
    means = pathwaysjob_spec if item["kind"] == "PathwaysJob" else _run
    meant = means(item, catalogue)
    if isinstance(meant, str):
        return meant
    under_pathways = jobset_spec(item, meant) if item["kind"] == "JobSet" else None
    return tuple(
        document
        for each in ((under_pathways, meant) if under_pathways else (meant,))
        for document in _documents(item, cluster, each)
    )


def _documents(item: Object, cluster: str, meant: Object) -> tuple[Object, ...]:
    """Return TPUWorkloads for what a run means, the one that says most first."""
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
        "backoffLimit": _JOB_BACKOFF if backoff is None else backoff or None,
        "failurePolicy": copied(filled(**policy)),
        **_pod(pods, shape, item["kind"]),
    }


def _pod(pods: Pods, shape: Shape, kind: str) -> Object:
    """Return the fields of a TPUWorkload for the pods on TPU hosts."""
    containers = [entry for _, entry in pods.containers]
    with_chips = [entry for entry in containers if at(entry, "resources", "limits", labels.TPU) is not None]
    main = with_chips[0] if with_chips else containers[0]
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
