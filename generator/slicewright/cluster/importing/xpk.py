"""The options of `xpk workload create` and `create-pathways`, and the field of a TPUWorkload for each.

Source: the parsers of xpk 1.16.0 (src/xpk/parser).
"""

import re

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.rules.pathways_servers import GOOGLE_BUCKET
from slicewright.cluster.importing.command_line import ABOUT_MACHINE, Option, Tool
from slicewright.cluster.importing.flags import LOGS, Flags, components, elastic_slices, env, filled, template
from slicewright.intent.tpucluster import LocalQueue
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.validate_workload import DEV_SHM

_QUEUE = "multislice-queue"
_GRACE = 30
"""The seconds before SIGKILL of Kubernetes."""
_HEAD_POOL = "cpu-np"
_HABITS = (
    "hostNetwork, privileged containers and the pod priority are what xpk gives every run: remove what yours "
    "does not need"
)
_PRIORITIES = ("very-low", "low", "medium", "high", "very-high")
_CODES = re.compile(r"\s*([0-9]+)(?:-([0-9]+))?\s*")
_RESTARTS_ON: tuple[int | str, ...] = (42, "127-255")
"""The exit codes after which xpk restarts a run, whatever the command says."""
_EXCLUSIVE = (("tpu-type", "device-type"), ("on-demand", "spot", "flex", "reservation"))


def meant(flags: Flags, _catalogue: Catalogue, queues: tuple[LocalQueue, ...]) -> tuple[Object, Object]:
    """Return what the options of a command of xpk 1.16.0 mean."""
    under_pathways = flags.verb == "create-pathways"
    _judge(flags)
    namespace = flags.chosen.get("namespace") or flags.text("namespace")
    name = flags.text("docker-name") or "jax-tpu"
    pull = flags.text("docker-image-pull-secret")
    own = filled(imagePullSecrets=[{"name": pull}] if pull else [])
    priority, grace = _priority(flags), flags.whole("termination-grace-period-seconds", _GRACE)
    workers = filled(
        priorityClassName=priority, terminationGracePeriodSeconds=grace if grace != _GRACE else None
    )
    container: Object = {
        "name": name,
        "image": flags.text("docker-image"),
        "script": flags.text("command"),
        "env": env(flags, "env", LOGS if flags.on("enable-debug-logs") else {}, by_name=False),
    }
    if under_pathways:
        container["imagePullPolicy"] = "Always"
        container["resources"] = {"limits": {"cpu": "24", "memory": "100G"}}
    else:
        workers |= own
        workers["schedulerName"] = flags.text("scheduler").removeprefix("default-scheduler")
        workers["volumes"], container["volumeMounts"] = _memory(flags)
    pathways = _pathways(flags, own, name) if under_pathways else {}
    spec: Object = {
        "queueName": flags.chosen.get("queue") or _queue(flags, queues, namespace),
        "tpu": flags.text("tpu-type") or flags.text("device-type"),
        "slices": slices if (slices := flags.whole("num-slices", 1)) != 1 else None,
        "provisioning": _provisioning(flags),
        "containersPerHost": _containers(flags, under_pathways=under_pathways),
        "hostNetwork": True,
        "privileged": None if under_pathways else True,
        "container": None if "headless" in pathways else filled(**container),
        "podTemplate": template(workers),
        "failurePolicy": _failures(flags, under_pathways=under_pathways),
        "pathways": pathways,
    }
    metadata = filled(name=flags.text("workload"), namespace=namespace)
    flags.problems.append(Problem("IMP031", _HABITS, severity="note"))
    return metadata, filled(**spec)


def _judge(flags: Flags) -> None:
    for option in ("workload", "docker-image", *(() if flags.on("headless") else ("command",))):
        if not flags.text(option):
            why = ", so xpk would build an image" if option == "docker-image" else ""
            flags.stop(f"--{option} is missing{why}", f"add --{option}")
    if not flags.text("tpu-type") and not flags.text("device-type"):
        flags.stop("--tpu-type is missing", "add --tpu-type")
    for group in _EXCLUSIVE:
        both = [option for option in group if option in flags.values]
        for option in both[1:]:
            flags.refuse(option, f"it excludes --{both[0]}", "keep one of the two")
    if flags.text("command") and not flags.on("headless"):
        difference = "runs without xpk's wrapper, which prints the exit code and passes SIGTERM on"
        flags.remark("command", f"{difference}: write exec before the program")


def _queue(flags: Flags, queues: tuple[LocalQueue, ...], namespace: str) -> str:
    """Return the queue of a run: xpk's own, unless the cluster has another one only."""
    namespace = namespace or "default"
    names = sorted({queue.name for queue in queues if queue.namespace == namespace})
    if _QUEUE in names or not queues:
        return _QUEUE
    if not names:
        elsewhere = ", ".join(sorted({queue.namespace for queue in queues}))
        why = f"namespace '{namespace}' has no LocalQueue, only {elsewhere}"
        flags.refuse("cluster", why, "add --namespace NAMESPACE before the command")
        return ""
    if len(names) == 1:
        flags.remark("cluster", f"has no '{_QUEUE}' of xpk: queueName is '{names[0]}'")
        return names[0]
    why = f"namespace '{namespace}' has no LocalQueue '{_QUEUE}', only {', '.join(names)}"
    flags.refuse("cluster", why, "add --queue QUEUE before the command")
    return ""


def _priority(flags: Flags) -> str:
    """Return the class of pods, `medium` if nothing is written."""
    priority = flags.text("priority") or "medium"
    if priority not in _PRIORITIES:
        flags.refuse("priority", f"'{priority}' is not known", f"write one of {', '.join(_PRIORITIES)}")
    return priority


def _memory(flags: Flags) -> tuple[list[Object], list[Object]]:
    """Return the volumes of a pod in memory, and their mounts."""
    volumes: list[Object] = [{"name": "dshm-2", "emptyDir": {"medium": "Memory"}}]
    mounts = [{"name": "dshm-2", "mountPath": DEV_SHM}]
    folder = flags.text("ramdisk-directory")
    if folder:
        driver = "multitier-checkpoint" if flags.on("mtc-enabled") else "phase1-checkpoint"
        volumes.append({"name": "cache", "csi": {"driver": f"{driver}.csi.storage.gke.io"}})
        mounts.append({"name": "cache", "mountPath": f"/{folder}"})
    return volumes, mounts


def _provisioning(flags: Flags) -> str | Object | None:
    """Return `provisioning`, which xpk writes only where nodes are provisioned automatically."""
    ways = {"on-demand": None, "spot": "Spot", "flex": "FlexStart"}
    for option, way in ways.items():
        if flags.on(option):
            flags.remark(option, "selects nodes; xpk selects none unless they are provisioned automatically")
            return way
    name = flags.text("reservation")
    return {"type": "Reservation", "name": name.rpartition("/")[2]} if name else None


def _containers(flags: Flags, *, under_pathways: bool) -> int | None:
    """Return how many containers share a host, nothing for one."""
    name = flags.text("tpu-type") or flags.text("device-type")
    is_split = flags.on("use-parallel-containers") and name.startswith("tpu7x")
    return 2 if is_split and not under_pathways else None


def _failures(flags: Flags, *, under_pathways: bool) -> Object:
    """Return `failurePolicy`; without restarts any exit code fails the run."""
    restarts = flags.whole("max-restarts", 0)
    codes: list[int | str] = []
    option = "restart-on-exit-codes"
    words = flags.text(option).split(",") if option in flags.values else []
    for word in words:
        code = _CODES.fullmatch(word)
        if code is None:
            flags.refuse(option, f"'{word}' is not an exit code", "write codes or ranges, such as 42,127-255")
        else:
            codes.append(f"{code[1]}-{code[2]}" if code[2] else int(code[1]))
    if under_pathways:
        if restarts:
            flags.remark("max-restarts", "is left out: xpk writes it to no JobSet of Pathways")
        return {}
    if not restarts:
        if codes:
            flags.remark(option, "is left out: no code restarts a run whose --max-restarts is 0")
        return {}
    return {"maxRestarts": restarts, "restartOnExitCodes": list(dict.fromkeys([*_RESTARTS_ON, *codes]))}


def _pathways(flags: Flags, own: Object, container: str) -> Object:
    """Return `pathways`; `own` are the fields of the pod of the head."""
    elastic = elastic_slices(flags)
    is_headless = flags.on("headless")
    if is_headless:
        flags.remark("command", "is left out, and --docker-image: a headless Pathways starts no program")
    server = flags.text("server-image")
    parts = (
        ("pathways_server", server, "custom-pathways-server"),
        ("proxy_server", flags.text("proxy-server-image"), "custom-pathways-proxy-server"),
        ("worker", server, "custom-pathways-worker"),
    )
    mounts = [{"name": "shared-tmp", "mountPath": "/tmp"}]  # noqa: S108 - the path in the pods
    main = {"name": container, "securityContext": {"privileged": True}, "volumeMounts": mounts}
    folder = flags.text("pathways-gcs-location") or f"{GOOGLE_BUCKET}tmp"
    if folder.startswith(GOOGLE_BUCKET):
        message = f"other projects cannot write to the bucket {GOOGLE_BUCKET[:-1]} of Google"
        hint = "add --pathways-gcs-location gs://BUCKET/FOLDER with a bucket of your project"
        flags.problems.append(Problem("IMP033", message, hint, severity="warning"))
    shared: Object = {"name": "shared-tmp", "hostPath": {"path": "/tmp", "type": "DirectoryOrCreate"}}  # noqa: S108
    head: Object = {"volumes": [shared], "containers": [main]}
    sidecar = flags.text("colocated-python-sidecar-image")
    return filled(
        pathwaysDir=folder,
        **elastic,
        headless=is_headless or None,
        mainContainerName=None if is_headless else container,
        colocatedPython={"image": sidecar} if sidecar else None,
        customComponents=components(flags, parts),
        head={
            "pool": flags.chosen.get("head-pool") or _HEAD_POOL,
            "podTemplate": template({**own, **({} if is_headless else head)}),
        },
    )


_CREATE = "create"
_PATHWAYS = "create-pathways"
_COMPONENTS = "pathways.customComponents[]"
_IMAGE = "xpk builds an image"
_NAME_IT = "build the image, and name it with --docker-image"
_MANIFEST = "add --dry-run --output-manifest-file FILE, and import it: slicewright import workload FILE"
_VERTEX = "xpk makes an experiment of Vertex AI and passes its variables"
OPTIONS: tuple[Option, ...] = (
    Option("workload", "metadata.name", finished=True),
    Option("namespace", "metadata.namespace", finished=True),
    Option("command", "container.script"),
    Option("tpu-type", "tpu", finished=True),
    Option("device-type", "tpu", finished=True, only=_CREATE),
    Option("num-slices", "slices", finished=True),
    Option("num-nodes", left_out="xpk reads it for GPUs and CPUs", only=_CREATE),
    Option("docker-image", "container.image", finished=True),
    Option("docker-name", "container.name", finished=True),
    Option("docker-image-pull-secret", "podTemplate.spec.imagePullSecrets", finished=True),
    Option("base-docker-image", refused=_IMAGE, hint=_NAME_IT),
    Option("script-dir", refused=_IMAGE, hint=_NAME_IT),
    Option("env", "container.env"),
    Option(
        "env-file",
        refused="slicewright does not read the file",
        hint="give each variable with --env NAME=VALUE",
    ),
    Option("enable-debug-logs", "container.env", switch=True),
    Option("priority", "podTemplate.spec.priorityClassName", finished=True),
    Option("max-restarts", "failurePolicy.maxRestarts", finished=True),
    Option("restart-on-exit-codes", "failurePolicy.restartOnExitCodes", finished=True, only=_CREATE),
    Option(
        "termination-grace-period-seconds",
        "podTemplate.spec.terminationGracePeriodSeconds",
        short="tgps",
        finished=True,
    ),
    Option("scheduler", "podTemplate.spec.schedulerName", finished=True, only=_CREATE),
    Option("ramdisk-directory", "podTemplate.spec.volumes", finished=True, only=_CREATE),
    Option("mtc-enabled", "podTemplate.spec.volumes", switch=True, only=_CREATE),
    Option("use-parallel-containers", "containersPerHost", switch=True),
    Option("on-demand", "provisioning", switch=True),
    Option("spot", "provisioning", switch=True),
    Option("flex", "provisioning", switch=True),
    Option("reservation", "provisioning.name", finished=True),
    Option("pathways-gcs-location", "pathways.pathwaysDir", finished=True, only=_PATHWAYS),
    Option("headless", "pathways.headless", switch=True, only=_PATHWAYS),
    Option("elastic-slices", "pathways.elasticSlices", finished=True, only=_PATHWAYS),
    Option("max-slice-restarts", "pathways.maxSliceRestarts", finished=True, only=_PATHWAYS),
    Option("colocated-python-sidecar-image", "pathways.colocatedPython.image"),
    Option("server-image", f"{_COMPONENTS}.image", only=_PATHWAYS),
    Option("proxy-server-image", f"{_COMPONENTS}.image", only=_PATHWAYS),
    *(
        Option(f"custom-pathways-{part}-args", f"{_COMPONENTS}.customFlags", only=_PATHWAYS)
        for part in ("server", "proxy-server", "worker")
    ),
    Option("cluster", left_out="--cluster of slicewright names the TPUCluster"),
    Option("project", left_out="the TPUCluster has it"),
    Option("project-number", left_out="the TPUCluster has the project"),
    Option("zone", left_out="the TPUCluster has it"),
    Option("ttl-seconds-after-finished", left_out="the next sync would start a deleted run again"),
    Option(
        "deploy-stacktrace-sidecar",
        only=_CREATE,
        switch=True,
        left_out="it prints stack traces; podTemplate.spec.containers takes such a container",
    ),
    Option("output-manifest-file", left_out="slicewright render writes the manifest"),
    Option("dry-run", switch=True, left_out="slicewright renders files and applies nothing"),
    Option("skip-validation", switch=True, left_out=ABOUT_MACHINE),
    Option("quiet", switch=True, left_out=ABOUT_MACHINE),
    Option("sandbox-kubeconfig", switch=True, left_out=ABOUT_MACHINE),
    Option("dependency-auto-download", switch=True, left_out=ABOUT_MACHINE),
    Option("storage", refused="xpk looks it up in the cluster", hint=_MANIFEST),
    Option(
        "debug-dump-gcs",
        refused="it copies files after the program",
        hint="copy them in --command",
        only=_CREATE,
    ),
    Option(
        "use-pathways",
        switch=True,
        refused="xpk refuses it",
        hint="write xpk workload create-pathways",
        only=_CREATE,
    ),
    Option("use-vertex-tensorboard", switch=True, refused=_VERTEX, hint="give the variables with --env"),
    Option("experiment-name", refused=_VERTEX, hint="give the variables with --env"),
)
"""Every option of both commands."""

XPK = Tool(
    "xpk",
    ("xpk", "xpk.py"),
    (("workload", _CREATE), ("workload", _PATHWAYS)),
    OPTIONS,
    meant,
    by_argparse=True,
)
