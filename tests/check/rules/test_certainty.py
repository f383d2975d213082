"""A verdict that rests on what the files do not show is a warning; in a known cluster it is an error."""

import pytest
import yaml
from tests.check.rules.kit import run

from slicewright.check.rules.every import RULES
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: tpus}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [google.com/tpu]
    flavors:
    - {name: FLAVOR, resources: [{name: google.com/tpu, nominalQuota: 8}]}
"""
_FLAVOR = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: v6e-pool-1}}"
_SLICE = """
nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice, cloud.google.com/gke-tpu-topology: 4x4}
containers:
- {name: main, image: "example.com/a:1", resources: {limits: {google.com/tpu: 4}}}
"""


def _said(ident: str, files: dict[str, str], *, is_cluster: bool = False) -> list[str]:
    """Return the severities of what a rule finds in the objects of one folder, or of a cluster."""
    items = [
        Resource(data, name) for name, text in files.items() for data in yaml.load_all(text, yaml.CSafeLoader)
    ]
    beyond = None if is_cluster else ObjectSet(items, catalogue(), is_cluster=False)
    objects = ObjectSet(items, catalogue(), beyond=beyond)
    return [one.severity for one in run(objects, [rule for rule in RULES if rule.id == ident])]


@pytest.mark.parametrize(
    ("flavor", "same_file", "is_cluster", "severity"),
    [
        ("v5p-pool", False, False, "warning"),  # another folder or a tool may make it
        ("v6e-pool-2", False, False, "warning"),  # numbers are on purpose
        ("v5e-pool-1", False, False, "warning"),
        ("v6e-poor-1", False, False, "warning"),  # and so is another short word: cpu and gpu, team a and b
        ("v6e-pol-1", False, False, "error"),  # a letter of the flavor beside it is missing
        ("v5p-pool", True, False, "error"),  # the file has the flavors of its queue
        ("v5p-pool", False, True, "error"),  # nothing else is on the cluster
    ],
)
def test_what_is_missing_is_an_error_where_others_of_its_kind_are_shown(
    flavor: str, same_file: bool, is_cluster: bool, severity: str
) -> None:
    """A folder does not show all that a cluster has; a file and a cluster do, and a misspelt name is sure."""
    files = {"queue.yaml": _QUEUE.replace("FLAVOR", flavor), "flavor.yaml": _FLAVOR}
    if same_file:
        files = {"all.yaml": "\n---\n".join(files.values())}

    assert [severity] == _said("REF103", files, is_cluster=is_cluster)


def _job(kind: str, pods: str, spec: str = "") -> str:
    """Return an object with pods of a slice of four hosts, as YAML."""
    template = yaml.load(pods, yaml.CSafeLoader)
    data = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "a"}}
    data["spec"] = {**yaml.load(spec or "{}", yaml.CSafeLoader), "template": {"spec": template}}
    return yaml.safe_dump(data)


@pytest.mark.parametrize("ident", ["TPU103", "TPU115"])
@pytest.mark.parametrize("by_hand", [False, True])
def test_pods_that_arrange_their_slice_are_not_judged_by_what_gke_gives(ident: str, by_hand: bool) -> None:
    """A program that sets libtpu's variables itself needs neither the index nor the number of pods of GKE."""
    pods = yaml.load(_SLICE, yaml.CSafeLoader)
    pods["containers"][0]["env"] = [{"name": "TPU_WORKER_HOSTNAMES", "value": "localhost"}] * by_hand

    found = _said(ident, {"job.yaml": _job("Job", yaml.safe_dump(pods), "{parallelism: 1, completions: 1}")})

    assert by_hand == (found == [])


_GATED = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: a
  annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: topology.kubernetes.io/zone}
spec:
  failurePolicy: {restartStrategy: InPlaceRestart, rules: [{name: a, action: RestartJob}]}
  replicatedJobs:
  - {name: w, replicas: 2, template: {spec: {template: {spec: PODS}}}}
"""
_TOLERATING = _job(
    "Job",
    """
nodeSelector:
  cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice
  cloud.google.com/gke-reservation: ours
tolerations: [{key: cloud.google.com/gke-flex-start, operator: Exists}]
containers: [{name: a, image: b}]
""",
)
_QUEUED = _TOLERATING.replace(
    "name: a\n", "name: a\n  annotations: {provreq.kueue.x-k8s.io/maxRunDurationSeconds: '600'}\n", 1
)
_RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: a}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: a, image: b}]}}}
  workerGroupSpecs:
  - groupName: w
    rayStartParams: {resources: '"{\\"TPU\\": 1}"'}
    template: {spec: {containers: [{name: a, image: b, resources: {limits: {google.com/tpu: 4}}}]}}
"""
_GANG = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {schedulingGroup: {podGroupName: g}, containers: [{name: a, image: b}]}
"""


@pytest.mark.parametrize(
    ("ident", "text", "count"),
    [
        ("JS114", _GATED.replace("PODS", "{containers: []}"), 2),  # a gate of the installation
        (
            "TPU144",
            _GATED.replace("PODS", str(yaml.load(_SLICE, yaml.CSafeLoader))),
            1,
        ),  # zones of the cluster
        ("TPU121", _TOLERATING, 1),  # labels of node pools
        ("TPU125", _TOLERATING, 1),  # nodes that are there
        ("TPU127", _QUEUED, 1),  # tolerations of the flavor
        ("RAY105", _RAY, 1),  # what a program means by a resource of Ray
        ("REF116", _GANG, 1),  # pods of other files
    ],
)
def test_what_only_the_cluster_shows_is_an_error_in_a_cluster_alone(
    ident: str, text: str, count: int
) -> None:
    """Gates, node pools, flavors and other pods are in no file of a stranger's folder."""
    assert ["warning"] * count == _said(ident, {"a.yaml": text})
    assert ["error"] * count == _said(ident, {"a.yaml": text}, is_cluster=True)


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        *(("tpu-v5e-slice", "error"), ("tpu-v6e-slce", "error"), ("tpu7x-slice", "error")),
        *(("tpu-v6ea-slice", "warning"), ("tpu-v9-podslice", "warning"), ("tpu8i", "warning")),
        *(("tpu8", "warning"), ("tpu-v8t", "warning"), ("quantum-9", "warning")),
    ],
)
def test_an_accelerator_of_an_unknown_generation_may_be_newer(name: str, severity: str) -> None:
    """What is a known mistake or near a TPU of its generation is an error; any other may be a later one."""
    pods = _SLICE.replace("tpu-v6e-slice", name)

    assert [severity] == _said("TPU101", {"a.yaml": _job("Job", pods)})


def test_job_without_a_queue_is_missed_in_the_file_of_the_queue_or_in_a_cluster() -> None:
    """In a folder, the queue of another file may be for another way to run the same program."""
    job = _job("Job", _SLICE)
    queue = "\n---\n{kind: LocalQueue, apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: tpu}, spec: {}}"

    assert ["warning"] == _said("REF165", {"a.yaml": job + queue})
    assert [] == _said("REF165", {"a.yaml": job, "b.yaml": queue})
    assert ["warning"] == _said("REF165", {"a.yaml": job, "b.yaml": queue}, is_cluster=True)


@pytest.mark.parametrize(("value", "severity"), [("flexstart", "error"), ("capacity", "warning")])
def test_a_way_of_provisioning_that_is_like_no_other_may_be_newer(value: str, severity: str) -> None:
    """A misspelt value of gke-provisioning is an error; another word may be a newer way."""
    pods = f"{{nodeSelector: {{cloud.google.com/gke-provisioning: {value}}}, containers: []}}"

    assert [severity] == _said("TPU146", {"a.yaml": _job("Job", pods)})


def test_a_deployment_of_serve_may_use_chips_that_ray_is_told_of() -> None:
    """Ray places an actor by the resources in rayStartParams, whatever the pods request."""
    cluster = yaml.load(_RAY.replace("1}", "8}"), yaml.CSafeLoader)["spec"]
    actors = {
        "deployments": [{"name": "d", "ray_actor_options": {"resources": {"TPU": 8}}}],
        "import_path": "a:b",
    }
    data = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "a"}}
    data["spec"] = {"rayClusterConfig": cluster, "serveConfigV2": yaml.safe_dump({"applications": [actors]})}

    assert [] == _said("RAY114", {"a.yaml": yaml.safe_dump(data)})
    del cluster["workerGroupSpecs"][0]["rayStartParams"]
    assert ["error"] == _said("RAY114", {"a.yaml": yaml.safe_dump(data)})


def test_a_namespace_in_another_file_may_get_its_labels_by_hand() -> None:
    """A queue that does not select the labels of a Namespace is an error only beside that Namespace."""
    queue = _QUEUE.replace("{}", "{matchLabels: {team: a}}")
    queue += "---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: n}, "
    queue += "spec: {clusterQueue: tpus}}\n"
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: n}}"

    assert ["warning"] == _said("REF110", {"queue.yaml": queue, "namespace.yaml": namespace})
    assert ["error"] == _said("REF110", {"all.yaml": f"{queue}---\n{namespace}"})


def test_pods_with_a_coordinator_of_their_own_need_none_of_the_jobset() -> None:
    """The label of the coordinator may be written on the pods themselves."""
    ref = {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/coordinator']"}}
    pods = {"containers": [{"name": "a", "image": "b", "env": [{"name": "C", "valueFrom": ref}]}]}
    data = yaml.load(_GATED.replace("PODS", "{}"), yaml.CSafeLoader)
    template = data["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"] = pods

    assert ["error"] == _said("PW108", {"a.yaml": yaml.safe_dump(data)})
    template["metadata"] = {"labels": {"jobset.sigs.k8s.io/coordinator": "a"}}
    assert [] == _said("PW108", {"a.yaml": yaml.safe_dump(data)})


@pytest.mark.parametrize(
    ("container", "severity"),
    [
        ("{name: a}", "error"),
        ("{name: a, image: }", "warning"),  # `image: #IMAGE`, which a script fills in
        ("{resources: {}}", "warning"),  # a sketch
    ],
)
def test_an_image_that_is_left_blank_is_filled_in_by_somebody(container: str, severity: str) -> None:
    """A container without an image is an error, unless the file shows that it is not whole yet."""
    assert [severity] == _said(
        "JS122", {"a.yaml": _job("Job", f"{{containers: [{container}, {{name: b, image: b}}]}}")}
    )


_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: run, labels: {kueue.x-k8s.io/queue-name: team}}
"""
_CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [FRAMEWORK]}
"""


@pytest.mark.parametrize(
    ("here", "beyond", "severities"),
    [
        (["pod"], [], ["error"]),
        (["pod", "pod"], ["batch/job"], ["error"]),
        (["pod", "batch/job"], [], []),  # the folder has those of two clusters
        ([], ["pod"], ["warning"]),  # another folder may be for another cluster
        ([], ["pod", "batch/job"], []),
    ],
)
def test_configuration_of_kueue_is_that_of_the_folder(
    here: list[str], beyond: list[str], severities: list[str]
) -> None:
    """Without a Configuration in its folder, a run gets that of all other folders, or none if they differ."""
    own, others = (
        [Resource(yaml.safe_load(_CONFIGURATION.replace("FRAMEWORK", name)), "kueue.yaml") for name in names]
        for names in (here, beyond)
    )
    job = Resource(yaml.safe_load(_JOB), "job.yaml")
    everything = ObjectSet([job, *own, *others], catalogue(), is_cluster=False)
    objects = ObjectSet([job, *own], catalogue(), beyond=everything)

    found = run(objects, [rule for rule in RULES if rule.id == "KQ186"])
    assert severities == [one.severity for one in found]
