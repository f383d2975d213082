"""The flags of `gcluster job submit` of Google's Cluster Toolkit, and the field of a TPUWorkload for each.

Source: GoogleCloudPlatform/cluster-toolkit at c765092f (v1.96.0); flags of later releases are those of its
migration guide.
"""

import csv
import re
from collections.abc import Iterator

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.cluster.importing.command_line import ABOUT_MACHINE, Option, Tool
from slicewright.cluster.importing.flags import LOGS, Flags, components, elastic_slices, env, filled, template
from slicewright.cluster.importing.gcluster_names import field_of, slice_of
from slicewright.cluster.importing.guess import RESERVED
from slicewright.cluster.importing.node_pools import provisioning_of
from slicewright.intent.tpucluster import LocalQueue
from slicewright.kubernetes.labels import GKE_PROVISIONING, GKE_TPU
from slicewright.kubernetes.pods import REQUIRED
from slicewright.kubernetes.quantity import seconds
from slicewright.kubernetes.types import Object

_QUEUE = "multislice-queue"
_FUSE = "gs://"
_NUMBER = re.compile(r"[0-9]{1,9}")
_OF_PROGRAM = frozenset(["command", "image", "env", "mount"])
_DWS = "gke.io/tpu-provisioning-request"
_GROUP = "cloud.google.com/gke-placement-group"
_PROVISIONING = {"on-demand": None, "spot": "Spot"}


def meant(flags: Flags, catalogue: Catalogue, queues: tuple[LocalQueue, ...]) -> tuple[Object, Object]:
    """Return what the flags of `gcluster job submit` mean.

    They are read as v1.96.0 reads them, by dry runs of it.
    """
    for flag in ("name", "command", "compute-type", "image"):
        if not flags.text(flag):
            flags.stop(f"--{flag} is missing", f"add --{flag}")
    under_pathways = flags.on("pathways")
    shape = _slice(flags, catalogue)
    headless = under_pathways and flags.on("pathways-headless")
    fuse, volumes, mounts = ([], [], []) if headless else _mounts(flags)
    if headless:
        for flag in sorted(_OF_PROGRAM & flags.values.keys()):
            flags.remark(flag, "is left out: a headless Pathways starts no program")
    own: Object = {
        "priorityClassName": flags.text("priority").lower(),
        "serviceAccountName": flags.text("service-account"),
        "imagePullSecrets": [
            {"name": name} for name in map(str.strip, flags.text("image-pull-secret").split(",")) if name
        ],
    }
    workers, provisioning = _placement(flags)
    workers |= {
        "terminationGracePeriodSeconds": _seconds(flags, "grace-period"),
        "schedulerName": _scheduler(flags, under_pathways=under_pathways),
    }
    pathways = _pathways(flags, {**own, "volumes": volumes}) if under_pathways else {}
    for flag in () if under_pathways else flags.values:
        if flag.startswith("pathways-"):
            flags.refuse(flag, "it needs --pathways", "add --pathways, or leave it out")
    container: Object = {
        "image": flags.text("image"),
        "script": flags.text("command"),
        "env": env(flags, "env", LOGS if flags.on("verbose") and not under_pathways else {}),
        "volumeMounts": mounts,
    }
    is_split = shape is not None and shape.generation == "tpu7x" and not under_pathways
    spec: Object = {
        "queueName": flags.text("queue") or _queue(flags, queues),
        "tpu": field_of(shape, catalogue) if shape else None,
        "slices": slices if (slices := flags.whole("num-slices", 1)) != 1 else None,
        "provisioning": provisioning,
        "containersPerHost": 2 if is_split and not flags.on("gke-disable-parallel-containers") else None,
        "hostNetwork": True,
        "container": None if headless else filled(**container),
        "gcsFuse": fuse,
        "podTemplate": template({**own, **workers, "volumes": [] if under_pathways else volumes}),
        "failurePolicy": _failures(flags),
        "pathways": pathways,
    }
    metadata = filled(name=flags.text("name"), namespace=flags.text("gke-namespace"))
    return metadata, filled(**spec)


def _queue(flags: Flags, queues: tuple[LocalQueue, ...]) -> str:
    """Return the queue that gcluster takes if no flag names one."""
    namespace = flags.text("gke-namespace") or "default"
    names = sorted({queue.name for queue in queues if queue.namespace == namespace})
    if len(names) > 1:
        flags.stop(
            "--queue is missing", f"add --queue with a queue of namespace '{namespace}': {', '.join(names)}"
        )
    instead = f"'{names[0]}' is that of '{namespace}'" if names else f"'{_QUEUE}' is gcluster's default"
    flags.remark("queue", f"is missing: {instead}")
    return names[0] if names else _QUEUE


def _slice(flags: Flags, catalogue: Catalogue) -> Shape | None:
    tpu = slice_of(flags.text("compute-type"), flags.text("topology"), catalogue)
    if isinstance(tpu, str):
        hint = (
            "write a number of chips (v6e-16), or a machine type and --topology; runs on CPUs have spec.cpu"
        )
        flags.refuse("compute-type", tpu, hint)
        return None
    if tpu.unused:
        flags.remark("compute-type", tpu.unused)
    return tpu.shape


def _scheduler(flags: Flags, *, under_pathways: bool) -> str:
    """Return the scheduler of pods, nothing if gcluster writes none."""
    scheduler = flags.text("gke-scheduler")
    if scheduler == _DWS:
        hint = "leave it out, and write provisioning: FlexStartQueued into the file"
        flags.refuse("gke-scheduler", "it asks for queued provisioning", hint)
    elif scheduler and under_pathways:
        flags.remark("gke-scheduler", "is left out: gcluster writes it to no pod of Pathways")
        return ""
    return scheduler


def _seconds(flags: Flags, flag: str) -> int | None:
    """Return the seconds of a duration, written as in Go or as a plain number."""
    span = flags.text(flag)
    value = seconds(span)
    if value is not None and value >= 0:
        return int(value)
    if span and not _NUMBER.fullmatch(span):
        flags.refuse(flag, f"'{span}' is not a duration", "write 90s, 1h30m or a number of seconds")
        return None
    return int(span) if span else None


def _entries(flags: Flags, flag: str, value: str) -> list[str]:
    try:
        return next(csv.reader([value]), [])
    except csv.Error:
        flags.refuse(flag, f"'{value}' is not a line of CSV", "quote entries that have line breaks")
        return []


def _failures(flags: Flags) -> Object:
    """Return `failurePolicy`: gcluster restarts a run once if nothing is written."""
    restarts = flags.whole("restarts", 1)
    option = "restart-on-exit-codes"
    codes: list[int] = []
    if option in flags.values and flags.on("pathways"):
        remark = "is for the program: gcluster v1.96 writes it to workers too, where Kubernetes refuses it"
        flags.remark(option, remark)
    for code in (code for value in flags.values.get(option, ()) for code in _entries(flags, option, value)):
        if not _NUMBER.fullmatch(code):
            flags.refuse(option, f"'{code}' is not an exit code", "write numbers")
        elif int(code):
            codes.append(int(code))
    if codes and not restarts:
        flags.remark(option, "is left out: no code restarts a run whose --restarts is 0")
    return filled(maxRestarts=restarts, restartOnExitCodes=codes) if restarts else {}


def _placement(flags: Flags) -> tuple[Object, str | Object | None]:
    """Return the fields of pods that choose nodes, and `provisioning`."""
    labels = {_GROUP: flags.text("placement-policy")} if flags.text("placement-policy") else {}
    affinity: list[Object] = []
    for name, value in sorted(_pairs(flags, "node-constraint").items()):
        several = [choice.strip() for choice in value.split("|")]
        if name.startswith(GKE_TPU):
            flags.refuse(
                "node-constraint", f"{name} is set by the slice", "use --compute-type and --topology"
            )
        elif "" in several and len(several) > 1:
            flags.refuse("node-constraint", f"'{value}' has an empty entry", "write values between the bars")
        elif len(several) > 1:
            affinity.append({"key": name, "operator": "In", "values": list(dict.fromkeys(several))})
        else:
            labels[name] = value
    fields: Object = {"nodeSelector": labels}
    if affinity:
        terms = {"nodeSelectorTerms": [{"matchExpressions": affinity}]}
        fields["affinity"] = {"nodeAffinity": {REQUIRED: terms}}
    return fields, _provisioning(flags, labels)


def _provisioning(flags: Flags, labels: dict[str, str]) -> str | Object | None:
    """Return `provisioning`, and take the labels that it selects."""
    asked, reservation = flags.text("gke-nap-provisioning").lower(), flags.text("gke-nap-reservation")
    way = provisioning_of(labels, ())
    reserved = {name: labels.pop(name) for name in tuple(labels) if name.startswith(RESERVED)}
    for name in reserved:
        others = {key: value for key, value in reserved.items() if key != name}
        if asked or provisioning_of(others, ()) == way:
            hint = "leave it out, and write spec.provisioning into the file"
            flags.refuse("node-constraint", f"{name} is not a kind of provisioning of its own", hint)
    if asked == "reservation":
        if not reservation:
            flags.refuse(
                "gke-nap-provisioning", "it needs --gke-nap-reservation", "add --gke-nap-reservation NAME"
            )
        return {"type": "Reservation", "name": _short(reservation)}
    if asked and asked not in _PROVISIONING:
        hint = "write on-demand, spot or reservation"
        flags.refuse("gke-nap-provisioning", f"'{asked}' is not a kind of provisioning", hint)
    elif reservation:
        flags.refuse("gke-nap-reservation", "it needs --gke-nap-provisioning=reservation", "add that flag")
    if asked in _PROVISIONING:
        flags.remark("gke-nap-provisioning", f"selects other labels: gcluster selects {GKE_PROVISIONING}")
        return _PROVISIONING[asked]
    return None if way == "OnDemand" else way


def _short(reservation: str) -> str:
    """Return the name of a reservation, as gcluster takes it out of a path."""
    parts = reservation.rstrip("/").split("/")
    if "reservations" in parts[:-1]:
        return parts[parts.index("reservations") + 1]
    return parts[parts.index("reservationBlocks") - 1] if "reservationBlocks" in parts[1:] else parts[-1]


def _pairs(flags: Flags, flag: str) -> dict[str, str]:
    """Return the pairs of a flag; a value with one sign `=` is one pair, whatever commas it has."""
    by_name: dict[str, str] = {}
    for text in flags.values.get(flag, ()):
        for pair in [text.strip('"')] if text.count("=") == 1 else _entries(flags, flag, text):
            name, sign, value = pair.partition("=")
            if not sign:
                flags.refuse(flag, f"'{pair}' is not a pair", "write KEY=VALUE")
            else:
                by_name[name] = value
    return by_name


def _mounts(flags: Flags) -> tuple[list[Object], list[Object], list[Object]]:
    """Return `gcsFuse`, the other volumes, and their mounts."""
    fuse: list[Object] = []
    volumes: list[Object] = []
    mounts: list[Object] = []
    for index, mount in enumerate(_mounted(flags)):
        source, path, options = _parts(mount)
        read_only = {} if "rw" in options else {"readOnly": True}
        others = [option for option in options if option not in ("ro", "rw")]
        name = f"vol-{index}"
        if not source or not path.startswith("/") or ("://" in mount and "://" not in source):
            flags.refuse("mount", f"'{mount}' is not a mount", "write SOURCE:PATH or SOURCE:PATH:rw")
        elif path in [earlier["mountPath"] for earlier in (*fuse, *mounts)]:
            flags.refuse("mount", f"duplicate path '{path}'", "mount each volume at its own path")
        elif source.startswith(_FUSE) and all(option.startswith("options=") for option in others):
            bucket, _, folder = source.removeprefix(_FUSE).strip("/").partition("/")
            more = [f"only-dir={folder}"] if folder else []
            more += (option.removeprefix("options=") for option in others)
            fuse.append({"bucket": bucket, "mountPath": path, **filled(options=",".join(more)), **read_only})
        elif others:
            flags.refuse("mount", f"'{others[0]}' is not known", "write the volume into podTemplate")
        elif source.startswith("/"):
            volumes.append({"name": name, "hostPath": {"path": source}})
            mounts.append({"name": name, "mountPath": path, **read_only})
        elif ":" in source.removeprefix("pvc://"):
            hint = "put its PersistentVolumeClaim into shared/, and mount it by its name"
            flags.refuse("mount", f"gcluster creates a volume for '{source}'", hint)
        else:
            volumes.append(
                {"name": name, "persistentVolumeClaim": {"claimName": source.removeprefix("pvc://")}}
            )
            mounts.append({"name": name, "mountPath": path, **read_only})
    return fuse, volumes, mounts


def _mounted(flags: Flags) -> Iterator[str]:
    """Yield mounts; those with semicolons, of later releases, may have commas."""
    for value in flags.values.get("mount", ()):
        yield from [value] if ";" in value else _entries(flags, "mount", value)


def _parts(mount: str) -> tuple[str, str, list[str]]:
    """Return source, path and further words of a mount; read-only is the default."""
    if ";" in mount:
        source, path, *options = mount.split(";")
        return source, path, options
    rest, _, last = mount.rpartition(":")
    options = [last] if last in ("ro", "rw") else []
    source, _, path = (rest if options else mount).rpartition(":")
    return source, path, options


def _pathways(flags: Flags, own: Object) -> Object:
    """Return `pathways`; `own` are the fields of the pod of the head."""
    elastic = elastic_slices(flags, "pathways-")
    if not flags.text("pathways-gcs-location"):
        flags.refuse(
            "pathways", "it needs --pathways-gcs-location", "add --pathways-gcs-location gs://BUCKET/FOLDER"
        )
    sidecar = flags.text("pathways-colocated-python-sidecar-image")
    if sidecar:
        remark = "starts a sidecar of each worker: gcluster v1.96 starts it in the head"
        flags.remark("pathways-colocated-python-sidecar-image", remark)
    server = flags.text("pathways-server-image")
    parts = (
        ("pathways_server", server, "pathways-server"),
        ("worker", flags.text("pathways-worker-image") or server, "pathways-worker"),
        ("proxy_server", flags.text("pathways-proxy-server-image"), "pathways-proxy"),
    )
    return filled(
        pathwaysDir=flags.text("pathways-gcs-location"),
        **elastic,
        headless=flags.on("pathways-headless") or None,
        colocatedPython={"image": sidecar} if sidecar else None,
        customComponents=components(flags, parts),
        head=filled(pool=flags.text("pathways-head-np"), podTemplate=template(own)),
    )


_COMPONENTS = "pathways.customComponents[]"
_PARTS = ("proxy", "server", "worker")
_DRY_RUN = "add --dry-run-out FILE, and import it: slicewright import workload FILE"
_IMAGE = "gcluster builds an image"
_NAME_IT = "build the image, and name it with --image"
OPTIONS: tuple[Option, ...] = (
    Option("name", "metadata.name", short="n", finished=True),
    Option("gke-namespace", "metadata.namespace", finished=True),
    Option("command", "container.script", short="e"),
    Option("compute-type", "tpu", finished=True),
    Option("topology", "tpu", finished=True),
    Option("num-slices", "slices", finished=True),
    Option("num-nodes", refused="gcluster refuses it for TPUs", hint="leave it out: the topology decides"),
    Option("image", "container.image", short="i", finished=True),
    Option("base-image", short="B", refused=_IMAGE, hint=_NAME_IT),
    Option("build-context", short="b", refused=_IMAGE, hint=_NAME_IT),
    Option("platform", short="f", left_out="it is that of an image that gcluster builds"),
    Option("queue", "queueName", short="q", finished=True),
    Option("priority", "podTemplate.spec.priorityClassName", finished=True),
    Option("restarts", "failurePolicy.maxRestarts", finished=True),
    Option("restart-on-exit-codes", "failurePolicy.restartOnExitCodes", finished=True),
    Option("env", "container.env"),
    Option("verbose", "container.env", switch=True),
    Option("mount", "gcsFuse", finished=True),
    Option("service-account", "podTemplate.spec.serviceAccountName", finished=True),
    Option("image-pull-secret", "podTemplate.spec.imagePullSecrets", finished=True),
    Option("node-constraint", "podTemplate.spec.nodeSelector", finished=True),
    Option("placement-policy", "podTemplate.spec.nodeSelector", finished=True),
    Option("grace-period", "podTemplate.spec.terminationGracePeriodSeconds", finished=True),
    Option("gke-scheduler", "podTemplate.spec.schedulerName", finished=True),
    Option("gke-disable-parallel-containers", "containersPerHost", switch=True),
    Option("gke-nap-provisioning", "provisioning", finished=True),
    Option("gke-nap-reservation", "provisioning.name", finished=True),
    Option("pathways", "pathways", switch=True),
    Option("pathways-gcs-location", "pathways.pathwaysDir", finished=True),
    Option("pathways-headless", "pathways.headless", switch=True),
    Option("pathways-elastic-slices", "pathways.elasticSlices", finished=True),
    Option("pathways-max-slice-restarts", "pathways.maxSliceRestarts", finished=True),
    Option("pathways-head-np", "pathways.head.pool", finished=True),
    Option("pathways-colocated-python-sidecar-image", "pathways.colocatedPython.image"),
    *(Option(f"pathways-{part}-image", f"{_COMPONENTS}.image") for part in ("proxy-server", *_PARTS[1:])),
    *(Option(f"pathways-{part}-args", f"{_COMPONENTS}.customFlags") for part in _PARTS),
    *(Option(f"pathways-{part}-env", f"{_COMPONENTS}.customEnv") for part in _PARTS),
    Option("cluster", short="c", left_out="--cluster of slicewright names the TPUCluster"),
    Option("location", short="l", left_out="the TPUCluster has it"),
    Option("project", short="p", left_out="the TPUCluster has it"),
    Option("gke-ttl-after-finished", left_out="the next sync would start a deleted run again"),
    Option("cpu-affinity", left_out="gcluster writes nothing for it"),
    Option("await-job-completion", switch=True, left_out="slicewright wait waits for a run"),
    Option("timeout", left_out="slicewright wait has an option of this name"),
    Option("dry-run-out", short="o", left_out="slicewright render writes the manifest"),
    Option("enable-ml-diagnostics", switch=True, left_out="it asks for software that the cluster must have"),
    Option("skip-prereqs", switch=True, left_out=ABOUT_MACHINE),
    Option("download-dependencies", switch=True, left_out=ABOUT_MACHINE),
    Option("no-color", switch=True, left_out=ABOUT_MACHINE),
    Option("gke-mtc-enabled", switch=True, refused="the volumes that it adds are not known", hint=_DRY_RUN),
    Option("gke-mtc-ramdisk-dir", refused="the volumes that it adds are not known", hint=_DRY_RUN),
    Option("gke-custom-templates-path", refused="its templates are not known", hint=_DRY_RUN),
)
"""Every flag of `gcluster job submit`, those of v1.97.0 and later by its documentation."""

GCLUSTER = Tool("gcluster", ("gcluster", "ghpc"), (("job", "submit"),), OPTIONS, meant)
