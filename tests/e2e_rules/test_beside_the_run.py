"""What the API server, the Job controller and JobSet make of what the rules report beside a run."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.check.rules.kit import findings_of

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import JOBSET_VERSION, KUEUE_VERSION, PATHWAYS_VERSION
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    COMPLETION_INDEX,
    EXCLUSIVE_TOPOLOGY,
    JOBSET_NAME,
    NODE_POOL,
    QUEUE,
    TOPOLOGY,
)
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import catalogue
from slicewright.testbed import control_plane, simulated_operator
from slicewright.testbed.bed_cluster import Cluster
from slicewright.testbed.nodes import SIMULATED
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # unit tests hold the rules to fixtures

SECONDS = 120
RESUMED = 20
"""Writes of a Job that no controller makes for another reason."""
LIMITED = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchScopes:
      - {scopeName: PriorityClass, operator: In, values: [system-node-critical, system-cluster-critical]}
"""
"""The admission configuration of GKE's API server for the critical classes."""
CONTAINER = {"name": "c", "image": "x"}
ATTACH = "persistentvolume-attach-detach-controller"
DEADLINE = {"name": "deadline", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}
UNREAD = {**DEADLINE, "onJobFailureMessagePatterns": ["^(?!preempted).*$"]}
AGAIN = {"name": "again", "action": "RestartJobSet"}


@pytest.fixture(scope="module")
def own_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Hold a cluster with a controller of disks, where critical pods need a quota."""
    file = tmp_path_factory.mktemp("admission") / "configuration.yaml"
    file.write_text(LIMITED, encoding="utf-8")
    command = control_plane.apiserver_command

    def limited(*given: Any) -> list[str]:
        return [*command(*given), f"--admission-control-config-file={file}"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_plane, "apiserver_command", limited)
        patch.setattr(control_plane, "_ABSENT", [name for name in control_plane._ABSENT if name != ATTACH])
        with Cluster() as cluster:
            yield cluster.api


def _object(kind: str, name: str, spec: Object, version: str = "v1", **metadata: Any) -> Object:
    namespaced = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": namespaced, "spec": spec}


def _template(**spec: Any) -> Object:
    return {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], **spec}}


def _jobset(name: str, rules: list[Object], job: Object) -> Object:
    replicated = {"name": "slice", "template": {"spec": {"backoffLimit": 0, "template": _template(), **job}}}
    policy = {"maxRestarts": 1, **({"rules": rules} if rules else {})}
    spec = {"failurePolicy": policy, "replicatedJobs": [replicated]}
    return _object("JobSet", name, spec, JOBSET_VERSION)


@pytest.mark.parametrize(
    ("name", "rules", "restarts"),
    [
        ("none", [], 1),
        ("later", [AGAIN, DEADLINE], 1),
        ("first", [DEADLINE, AGAIN], 0),
        ("unread", [UNREAD], 1),
    ],
)
def test_only_a_first_rule_lets_a_deadline_end_the_run(
    own_api: Api, name: str, rules: list[Object], restarts: int
) -> None:
    """JobSet restarts after the deadline of a Job, also where a rule behind another one says otherwise.

    A rule with a pattern that Go cannot read says nothing.
    """
    own_api.create(_jobset(name, rules, {"activeDeadlineSeconds": 1}))

    def failed() -> Object | None:
        status: Object = own_api.get(JOBSET_VERSION, "JobSet", name, "default").get("status", {})
        return status if status.get("terminalState") == "Failed" else None

    assert restarts == until(name, failed, seconds=SECONDS).get("restarts", 0)


def test_a_cronjob_gives_its_jobs_the_labels_of_their_template_only(own_api: Api) -> None:
    """Kueue does not hold back a Job whose CronJob alone has the label of a queue."""
    label = {QUEUE: "none"}
    for name, own, of_jobs in (("outside", label, {}), ("inside", {}, label)):
        job = {"metadata": {"labels": of_jobs}, "spec": {"template": _template()}}
        spec = {"schedule": "* * * * *", "jobTemplate": job}
        own_api.create(_object("CronJob", name, spec, "batch/v1", labels=own))

    def made() -> dict[str, tuple[bool, bool]] | None:
        found = {}
        for job in own_api.list("batch/v1", "Job", "default"):
            for owner in job["metadata"].get("ownerReferences", ()):
                is_held = job["spec"].get("suspend", False)
                found[owner["name"]] = QUEUE in job["metadata"].get("labels", {}), is_held
        return found if {"outside", "inside"} <= found.keys() else None

    jobs = until("both jobs", made, seconds=SECONDS)
    assert ((False, False), (True, True)) == (jobs["outside"], jobs["inside"])


def test_jobset_resumes_each_job_that_kueue_queues_alone(own_api: Api) -> None:
    """A labelled Job has a Workload of its own and is written without end; the other Job starts at once."""
    # On no node: JobSet keeps the pods of other runs out of the node pools where one of its pods is.
    template = _template(nodeSelector={NODE_POOL: "none"})
    labelled = {"metadata": {"labels": {QUEUE: "none"}}, "spec": {"template": template}}
    slices = {"name": "slice", "replicas": 2, "template": labelled}
    head = {"name": "head", "template": {"spec": {"template": template}}}
    item = _object("JobSet", "alone", {"replicatedJobs": [head, slices]}, JOBSET_VERSION)
    own_api.create(item)

    def written() -> dict[str, bool] | None:
        """Tell which Jobs have been written over and over, once the labelled ones have."""
        jobs = own_api.list("batch/v1", "Job", "default")
        times = {job["metadata"]["name"]: job["metadata"]["generation"] for job in jobs}
        mine = {name: count > RESUMED for name, count in times.items() if name.startswith("alone-")}
        return mine if sum(mine.values()) > 1 else None

    def queued() -> set[str] | None:
        workloads = own_api.list(KUEUE_VERSION, "Workload", "default")
        owners = {owner["name"] for one in workloads for owner in one["metadata"]["ownerReferences"]}
        mine = {name for name in owners if name.startswith("alone")}
        return mine if len(mine) > 1 else None

    alone = {"alone-slice-0": True, "alone-slice-1": True}
    assert {"alone-head-0": False, **alone} == until("Jobs written again", written, seconds=SECONDS)
    assert alone.keys() == until("the workloads", queued, seconds=SECONDS)
    assert len(findings_of("KQ133", yaml.safe_dump(item))) == 1
    own_api.delete(item)


def test_a_critical_class_needs_a_quota_for_it(own_api: Api) -> None:
    """The server refuses the pods of FIT152, and takes them with the quota that its hint writes."""
    item = _object("Pod", "critical", _template(priorityClassName="system-node-critical")["spec"])

    with pytest.raises(ApiError, match="insufficient quota to match these scopes"):
        own_api.create(item)
    (found,) = findings_of("FIT152", yaml.safe_dump(item))
    quota = _object("ResourceQuota", "critical", yaml.safe_load(found.hint.partition("with spec: ")[2]))
    own_api.create(quota)
    key = ("v1", "ResourceQuota", "critical", "default")
    until("the quota", lambda: own_api.get(*key).get("status"), seconds=SECONDS)

    assert own_api.create(item)["spec"]["priorityClassName"] == "system-node-critical"
    assert findings_of("FIT152", yaml.safe_dump_all([item, quota])) == ()


@pytest.mark.parametrize(
    ("mode", "said"), [("ReadWriteOnce", "Multi-Attach error"), ("ReadWriteOncePod", "ReadWriteOncePod")]
)
def test_a_disk_is_for_one_node(own_api: Api, mode: str, said: str) -> None:
    """Of two pods on two nodes with a claim of REF166, one never gets it."""
    api, name = own_api, mode.lower()
    modes = {"accessModes": [mode], "storageClassName": ""}
    source = {"driver": "pd.csi.storage.gke.io", "volumeHandle": name}
    volume = {**modes, "capacity": {"storage": "1Gi"}, "csi": source}
    volume["claimRef"] = {"name": name, "namespace": "default"}
    claim = {**modes, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}
    api.create(_clusterwide(_object("PersistentVolume", name, volume)))
    api.create(_object("PersistentVolumeClaim", name, claim))
    for number in range(2):
        api.create(_node(name, number, "2x2"))
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    chips = {**CONTAINER, "resources": {"limits": {"google.com/tpu": "4"}}}
    template = _template(nodeSelector={NODE_POOL: name}, containers=[chips], volumes=[mounted])
    job = _object("Job", name, {"parallelism": 2, "completions": 2, "template": template}, "batch/v1")
    api.create(job)

    def refused() -> bool:
        for one in api.list("storage.k8s.io/v1", "VolumeAttachment"):
            if not one.get("status", {}).get("attached"):
                api.patch(one, {"status": {"attached": True}}, subresource="status")
        messages = [event["message"] for event in api.list("v1", "Event", "default")]
        pods = [pod for pod in api.list("v1", "Pod", "default") if pod["metadata"]["name"].startswith(name)]
        messages += [one.get("message", "") for pod in pods for one in pod["status"].get("conditions", ())]
        return any(said in message for message in messages)

    until(said, refused, seconds=SECONDS)
    both = yaml.safe_dump_all([job, _object("PersistentVolumeClaim", name, claim)])
    assert len(findings_of("REF166", both)) == 1


def test_jobset_makes_no_pods_of_a_negative_priority(own_api: Api) -> None:
    """The API server refuses the label that JobSet gives the pods of JS154."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}}
    low = {**head, "value": -10, "preemptionPolicy": "Never"}
    item = _jobset("low", [], {"template": _template(priorityClassName="low")})
    own_api.create(low)
    own_api.create(item)

    def refused() -> str | None:
        messages = (event["message"] for event in own_api.list("v1", "Event", "default"))
        return next((one for one in messages if "low-slice" in one and "is invalid" in one), None)

    assert 'metadata.labels: Invalid value: "-10"' in until("the refusal", refused, seconds=SECONDS)
    assert len(findings_of("JS154", yaml.safe_dump_all([item, low]))) == 1


def test_a_quota_of_chips_counts_requests_only(own_api: Api) -> None:
    """The server takes pods beyond the limits of REF170, and refuses them with the key of its hint."""
    uncounted = {"google.com/tpu": "0", "limits.google.com/tpu": "0"}
    chips = {**CONTAINER, "resources": {"limits": {"google.com/tpu": "4"}}}
    quota = _object("ResourceQuota", "chips", {"hard": uncounted})
    own_api.create(quota)
    nowhere = {NODE_POOL: "none"}  # so that it takes no host from another test
    pod = _template(containers=[chips], nodeSelector=nowhere)
    own_api.create(_object("Pod", "counted-not", pod["spec"]))
    found = findings_of("REF170", yaml.safe_dump(quota))
    right = {found[0].hint.removeprefix("write "): "0"}
    own_api.create(_object("ResourceQuota", "right", {"hard": right}))
    key = ("v1", "ResourceQuota", "right", "default")
    until("the quota", lambda: own_api.get(*key).get("status", {}).get("used"), seconds=SECONDS)

    with pytest.raises(ApiError, match="exceeded quota: right"):
        own_api.create(_object("Pod", "counted", pod["spec"]))
    own_api.delete(own_api.get(*key))


def _clusterwide(item: Object) -> Object:
    del item["metadata"]["namespace"]
    return item


def _node(pool: str, number: int, topology: str = "2x4", **size: str) -> Object:
    room = {"cpu": "8", "memory": "8Gi", "pods": "9", "google.com/tpu": "4", **size}
    labels = {NODE_POOL: pool, ACCELERATOR: "tpu-v6e-slice", TOPOLOGY: topology, SIMULATED: "true"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    managed = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    node = _object("Node", f"{pool}-{number}", {}, labels=labels, annotations=managed)
    return {**_clusterwide(node), "status": status}


@pytest.mark.parametrize(
    ("name", "pools", "selector", "bound"), [("pinned", "ab", {NODE_POOL: "a"}, 2), ("free", "cd", {}, 4)]
)
def test_one_node_pool_holds_one_slice(
    own_api: Api, name: str, pools: str, selector: Object, bound: int
) -> None:
    """The scheduler finds no node for the second slice of FIT153, and finds one without the selector."""
    chips = {"limits": {"google.com/tpu": "4"}}
    shape = {ACCELERATOR: "tpu-v6e-slice", TOPOLOGY: "2x4"}
    template = _template(nodeSelector={**shape, **selector}, containers=[{**CONTAINER, "resources": chips}])
    item = _jobset(name, [], {"parallelism": 2, "completions": 2, "template": template})
    item["spec"]["replicatedJobs"][0]["replicas"] = 2
    item["metadata"]["annotations"] = {EXCLUSIVE_TOPOLOGY: NODE_POOL}
    for pool in pools:
        for number in range(2):
            own_api.create(_node(pool, number))
    own_api.create(item)

    def judged() -> list[Object] | None:
        pods = [
            pod
            for pod in own_api.list("v1", "Pod", "default")
            if pod["metadata"].get("labels", {}).get(JOBSET_NAME) == name
        ]
        leaders = [pod for pod in pods if pod["metadata"]["labels"][COMPLETION_INDEX] == "0"]
        seen = [pod for pod in leaders if pod["status"].get("conditions")]
        nodes = [pod for pod in pods if pod["spec"].get("nodeName")]
        return nodes if len(seen) == 2 and len(nodes) >= bound else None

    nodes = {pod["spec"]["nodeName"] for pod in until(name, judged, seconds=SECONDS)}
    assert (bound, bool(selector)) == (len(nodes), bool(findings_of("FIT153", yaml.safe_dump(item))))


def test_a_head_with_chips_takes_the_host_of_a_worker(own_api: Api) -> None:
    """On the four hosts of a slice the scheduler has no room for the head of PW149 and four workers."""
    container = {**CONTAINER, "resources": {"limits": {"google.com/tpu": "4"}}}
    template = {"spec": {"containers": [container]}}
    controller = {"deploymentMode": "colocate_head_with_workers", "template": template}
    worker = {
        "type": "ct6e-standard-4t",
        "topology": "4x4",
        "numSlices": 1,
        "nodeSelector": {NODE_POOL: "pw"},
    }
    spec = {"pathwaysDir": "gs://b/t", "workers": [worker], "controller": controller}
    item = _object("PathwaysJob", "pw", spec, PATHWAYS_VERSION, uid="pw")
    run = simulated_operator.jobset(item, simulated_operator.shape_of(item, catalogue()))
    run["spec"]["startupPolicy"] = {"startupPolicyOrder": "AnyOrder"}  # no pod becomes ready here
    del run["metadata"]["ownerReferences"]
    for number in range(4):
        own_api.create(_node("pw", number, "4x4", cpu="99", memory="999Gi"))
    own_api.create(run)

    def refused() -> str | None:
        messages = [
            condition.get("message", "")
            for pod in own_api.list("v1", "Pod", "default")
            if pod["metadata"].get("labels", {}).get(JOBSET_NAME) == "pw"
            for condition in pod["status"].get("conditions", ())
        ]
        return next((message for message in messages if "Insufficient google.com/tpu" in message), None)

    assert until("a pod without a host", refused, seconds=SECONDS)
    assert len(findings_of("PW149", yaml.safe_dump(item))) == 1


def test_a_container_that_restarts_in_place_ends_a_job_with_backoff_limit_0(own_api: Api) -> None:
    """TPU118 warns of OnFailure only with a backoffLimit above 0: else the first restart fails the Job."""
    name = "restarts"
    # Bound to no node, so that nothing but this test writes the status of its pods.
    template = _template(restartPolicy="OnFailure", nodeSelector={NODE_POOL: "none"})
    own_api.create(_jobset(name, [], {"template": template}))
    restarted = {"name": "c", "image": "x", "imageID": "x", "ready": True, "restartCount": 1}

    def failed() -> bool:
        for pod in own_api.list("v1", "Pod", "default"):
            if pod["metadata"].get("labels", {}).get(JOBSET_NAME) == name:
                status = {"phase": "Running", "containerStatuses": [restarted]}
                own_api.patch(pod, {"status": status}, subresource="status")
        found: Object = own_api.get(JOBSET_VERSION, "JobSet", name, "default").get("status", {})
        return found.get("terminalState") == "Failed"

    assert until("the end of the run", failed, seconds=SECONDS)


@pytest.mark.parametrize(("name", "is_behind"), [("behind", True), ("before", False)])
def test_exit_code_of_a_disrupted_pod_decides_before_a_later_rule(
    own_api: Api, name: str, is_behind: bool
) -> None:
    """A pod that ends with 143 and DisruptionTarget fails the Job of JS146, and is replaced in the other."""
    code = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [42]}}
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    ignored = {"action": "Ignore", "onPodConditions": [disrupted]}
    rules = [code, ignored] if is_behind else [ignored, code]
    template = _template(nodeSelector={NODE_POOL: "none"})
    spec = {"backoffLimit": 3, "podFailurePolicy": {"rules": rules}, "template": template}
    item = _object("Job", name, spec, "batch/v1")
    own_api.create(item)
    seen: set[str] = set()

    def outcome() -> str | None:
        job = own_api.get("batch/v1", "Job", name, "default")
        if any(one["reason"] == "PodFailurePolicy" for one in job.get("status", {}).get("conditions", ())):
            return "failed"
        pods = own_api.list("v1", "Pod", "default")
        for pod in (pod for pod in pods if pod["metadata"].get("labels", {}).get("job-name") == name):
            seen.add(pod["metadata"]["name"])
            ended = {"name": "c", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}
            ended["state"] = {"terminated": {"exitCode": 143}}
            status = {"phase": "Failed", "conditions": [disrupted], "containerStatuses": [ended]}
            own_api.patch(pod, {"status": status}, subresource="status")
        return "replaced" if len(seen) > 1 else None

    assert ("failed" if is_behind else "replaced") == until(name, outcome, seconds=SECONDS)
    assert is_behind == bool(findings_of("JS146", yaml.safe_dump(item)))
