"""The flags of `gcluster job submit` of Google's Cluster Toolkit, and the field of a TPUWorkload for each.

Source: GoogleCloudPlatform/cluster-toolkit at c765092f (v1.96.0); flags of later releases are those of its
migration guide.
"""

from slicewright.cluster.importing.command_line import ABOUT_MACHINE, Option, Tool
from slicewright.cluster.importing.gcluster_fields import meant

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
