"""The options of `xpk workload create` and `create-pathways`, and the field of a TPUWorkload for each.

Source: the parsers of xpk 1.16.0 (src/xpk/parser).
"""

from slicewright.cluster.importing.command_line import ABOUT_MACHINE, Option, Tool
from slicewright.cluster.importing.xpk_fields import meant

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
