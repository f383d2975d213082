"""`slicewright import workload`: what is imported renders the object that was given."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.conftest import Repo
from tests.files import read_text
from tests.properties import share
from tests.words import places

from slicewright.cluster.importing.guess import jobset_spec
from slicewright.cluster.importing.workload import Difference, ImportedRun, imported_run
from slicewright.document.json_patch import parse_pointer
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.plans import plan_all
from slicewright.rendering.repository import Repository, Settings, read_repository

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
PROJECT = Path(__file__).resolve().parents[3]
TPUS = ("v5litepod-8", "v5litepod-16", "v6e-16", "v5p-16")
HEAD = {"apiVersion": "slicewright.dev/v1alpha1"}
POOLS: list[Object] = [{"name": f"np{index}", "tpu": tpu, "slices": 9} for index, tpu in enumerate(TPUS)]
POOLS += [{"name": "cpu-np", "machineType": "n2-standard-64", "nodes": 4}]
CLUSTER = {
    **HEAD,
    "kind": "TPUCluster",
    "metadata": {"name": "c1"},
    "spec": {"mode": "Standard", "managed": False, "project": "p", "location": "us-west4", "pools": POOLS},
}
XPK = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  labels: {xpk.google.com/workload: train}
  annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool}
spec:
  ttlSecondsAfterFinished: 43200
  failurePolicy: {maxRestarts: 3}
  replicatedJobs:
  - name: slice-job
    replicas: 1
    template:
      spec:
        parallelism: 4
        completions: 4
        backoffLimit: 0
        podFailurePolicy:
          rules:
          - action: FailJob
            onExitCodes: {containerName: jax-tpu, operator: NotIn, values: [42]}
        template:
          spec:
            restartPolicy: Never
            hostNetwork: true
            dnsPolicy: ClusterFirstWithHostNet
            terminationGracePeriodSeconds: 60
            affinity:
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice
              cloud.google.com/gke-tpu-topology: 4x4
            containers:
            - name: jax-tpu
              image: python:3.12
              ports: [{containerPort: 8471}, {containerPort: 8080}]
              securityContext: {privileged: true}
              command: [bash, -c, python train.py]
              resources: {limits: {google.com/tpu: 4}}
status: {restarts: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
"""


def repository(*documents: Object) -> Repository:
    """Return a repository of some documents and a cluster."""
    files = [SourceFile("clusters/c1.yaml", json.dumps(CLUSTER))]
    files += [SourceFile("workloads/a.yaml", json.dumps(document)) for document in documents]
    return read_repository(files, Settings(), package(), read_text)


def rendered(document: Object) -> Object:
    """Return the run object of a TPUWorkload."""
    known = repository(document)
    planned, problems = plan_all(known)
    assert () == tuple(problem for problem in problems if problem.severity == "error")
    made, problems = make(planned[0], Bases(read_text, known.package.schemas))
    assert made, problems
    return next(item for item in made.objects if item["kind"] in RUN_KINDS)


def workload(spec: Object) -> Object:
    """Return a TPUWorkload with a spec."""
    return {**HEAD, "kind": "TPUWorkload", "metadata": {"name": "w"}, "spec": {"clusters": ["c1"], **spec}}


PROGRAMS = st.one_of(
    st.fixed_dictionaries({"script": st.text("ab $'\"\n", min_size=1, max_size=9)}),
    st.fixed_dictionaries(
        {},
        optional={
            "command": st.just(["/bin/bash", "-c", "true"]),
            "args": st.lists(st.text("ab-=", max_size=5), max_size=2),
        },
    ),
)
ENV = st.lists(st.sampled_from("ABCD"), unique=True, max_size=3).map(
    lambda names: [{"name": name, "value": name * 2} for name in names]
)


CONTAINER: Any = {
    "workingDir": st.just("/src"),
    "imagePullPolicy": st.sampled_from(["Always", "IfNotPresent"]),
    "resources": st.just({"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}),
    "ports": st.sampled_from([[{"containerPort": 8471}], [{"containerPort": 9, "name": "web"}]]),
}
NAMES = st.dictionaries(st.sampled_from(["team", "example.com/x"]), st.sampled_from(["", "a"]), max_size=2)
BUCKET = {"bucket": "data", "mountPath": "/data"}
BESIDE: Object = {
    "name": "eval",
    "pool": "cpu-np",
    "podTemplate": {"spec": {"containers": [{"name": "e", "image": "python:3.12"}]}},
}
QUEUED: Any = {"workloadPriorityClassName": st.just("high"), "maxExecutionTimeSeconds": st.integers(1, 9)}
FURTHER: Any = {
    "gcsFuse": st.sampled_from([[BUCKET], [{**BUCKET, "readOnly": True, "options": "implicit-dirs"}]])
}
RESTARTS: Any = {
    "restartOnExitCodes": st.sampled_from([[42], ["1-3", 9]]),
    "restartStrategy": st.sampled_from(["Recreate", "BlockingRecreate"]),
}


@st.composite
def workloads(draw: st.DrawFn) -> Object:
    """Draw a TPUWorkload of a JobSet or a Job."""
    api = draw(st.sampled_from(["JobSet", "Job"]))
    spec: Object = {
        "tpu": draw(st.sampled_from(TPUS)),
        "api": api,
        "naming": draw(st.sampled_from(["Fixed", "Hashed"])),
        "hostNetwork": draw(st.booleans()),
        "privileged": draw(st.booleans()),
        "backoffLimit": draw(st.integers(0, 9)),
        "container": {
            "name": "jax",
            "image": "python:3.12",
            "env": draw(ENV),
            **draw(PROGRAMS),
            **draw(st.fixed_dictionaries({}, optional=CONTAINER)),
        },
        "podTemplate": {
            "metadata": {"labels": draw(st.dictionaries(st.sampled_from("ab"), st.just("c")))},
            "spec": draw(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "serviceAccountName": st.just("trainer"),
                        "terminationGracePeriodSeconds": st.integers(0, 60),
                        "tolerations": st.just([{"key": "k", "operator": "Exists"}]),
                        "volumes": st.just([{"name": "shm", "emptyDir": {"medium": "Memory"}}]),
                        "nodeSelector": st.just({"team": "a"}),
                        "restartPolicy": st.sampled_from(["Never", "OnFailure"]),
                        "schedulerName": st.just("default-scheduler"),
                        "securityContext": st.sampled_from([{}, {"fsGroup": 1}]),
                        "containers": st.just([{"name": "log", "image": "busybox:1"}]),
                    },
                )
            ),
        },
    }
    spec |= draw(st.fixed_dictionaries({}, optional=FURTHER))
    if draw(st.booleans()):
        spec |= draw(st.fixed_dictionaries({"queueName": st.just("q")}, optional=QUEUED))
    if api == "JobSet":
        restarts = st.fixed_dictionaries({"maxRestarts": st.integers(1, 9)}, optional=RESTARTS)
        spec |= {"slices": draw(st.integers(1, 9)), "failurePolicy": draw(restarts)}
        if spec["podTemplate"]["spec"].get("restartPolicy") == "OnFailure":
            spec["failurePolicy"].pop("restartOnExitCodes", None)
        spec |= draw(st.fixed_dictionaries({}, optional={"auxiliaryJobs": st.just([BESIDE])}))
    document = workload(spec)
    kept = dict.fromkeys(("labels", "annotations"), NAMES)
    document["metadata"] |= draw(st.fixed_dictionaries({}, optional=kept))
    return document


def without_empty(value: Any) -> Any:
    """Return data without empty maps and lists, which the API server reads as if they were missing."""
    if isinstance(value, dict):
        below = {key: without_empty(entry) for key, entry in value.items()}
        return {key: entry for key, entry in below.items() if entry not in ({}, [])}
    return [without_empty(entry) for entry in value] if isinstance(value, list) else value


def undo(item: Any, change: Difference) -> None:
    """Write what was given into what is rendered, at the place of a difference."""
    *way, key = parse_pointer(change.path)
    for step in way:
        item = item[int(step)] if isinstance(item, list) else item.setdefault(step, {})
    if change.given is None:
        del item[key]
    else:
        item[key] = change.given


def check_round_trip(document: Object) -> None:
    """Hold what an imported run renders against the run."""
    item = rendered(document)

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    again = rendered(found.document)
    for one in reversed(found.differences):
        undo(again, one)
    assert without_empty(item) == without_empty(again)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads())
def test_rendered_runs_are_imported_back(document: Object) -> None:
    """A TPUWorkload of a rendered run renders the same run."""
    check_round_trip(document)


@pytest.mark.slow
@pytest.mark.workflow
@settings(max_examples=share(1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads())
def test_many_rendered_runs_are_imported_back(document: Object) -> None:
    """A TPUWorkload of any rendered run renders the same run."""
    check_round_trip(document)


def test_pathways_job_is_imported_back() -> None:
    """Fields of a PathwaysJob become `pathways`."""
    pathways = {"pathwaysDir": "gs://b/d", "pathwaysVersion": "v1", "elasticSlices": 1}
    program = {"image": "python:3.12", "command": ["python", "a.py"]}
    check_round_trip(
        workload(
            {"tpu": "v6e-16", "slices": 2, "api": "PathwaysJob", "pathways": pathways, "container": program}
        )
    )


@pytest.mark.parametrize("api", ["JobSet", "Job", "PathwaysJob"])
def test_resilience_of_all_runs_is_not_that_of_an_imported_one(api: str) -> None:
    """A TPUDefaults of the repository adds no failure rules that patches would have to remove."""
    spec: Object = {"tpu": "v6e-16", "api": api, "container": {"image": "python:3.12", "command": ["a"]}}
    if api == "PathwaysJob":
        spec["pathways"] = {"pathwaysDir": "gs://b/d", "pathwaysVersion": "v1"}
    item = rendered(workload({**spec, "naming": "Fixed"}))
    defaults = {**HEAD, "kind": "TPUDefaults", "metadata": {"name": "all"}, "spec": {"resilience": {}}}
    known = repository(defaults)

    found = imported_run(item, "c1", known)

    assert isinstance(found, ImportedRun), found
    assert (None, ()) == (found.document["spec"]["resilience"], found.patched)


@pytest.mark.parametrize("slices", [1, 2])
def test_run_that_survives_lost_hosts_is_imported_back(slices: int) -> None:
    """A Job that counts the failures of each host has no other limit, rather than the default of 6 pods."""
    program = {"image": "python:3.12", "command": ["python", "a.py"]}
    spec = {"tpu": "v6e-16", "slices": slices, "resilience": {}, "sharedMemory": "16Gi", "container": program}
    check_round_trip(workload(spec))

    item = rendered(workload(spec))
    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert found.document["spec"]["backoffLimit"] == 2**31 - 1


@pytest.mark.parametrize(("field", "value"), [("parallelism", 0), ("containers", [])])
def test_workers_without_hosts_or_containers_are_read(field: str, value: object) -> None:
    """Patches write what no field can; the command then refuses what no API server takes."""
    document = workload({"tpu": "v6e-16", "slices": 2, "pathways": {**PATHWAYS, "elasticSlices": 1}})
    document["spec"]["container"] = {"image": "python:3.12"}
    item = rendered(document)
    worker = next(job for job in item["spec"]["replicatedJobs"] if job["name"] == "worker")["template"][
        "spec"
    ]
    pods = worker["template"]["spec"]
    pods["initContainers"] = pods["containers"] if field == "containers" else []
    (worker if field in worker else pods)[field] = value

    assert isinstance(imported_run(item, "c1", repository()), ImportedRun)


def test_pathways_job_of_a_script_is_imported_by_its_fields() -> None:
    """Fields of workers and head become fields; what the controller sets or drops anyway is left out."""
    head = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-nodepool": "cpu-np", "disk": "ssd"},
            "hostNetwork": True,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "restartPolicy": "Never",
            "volumes": [{"name": "tmp", "hostPath": {"path": "/scratch", "type": "DirectoryOrCreate"}}],
            "containers": [
                {
                    "name": "jax-tpu",
                    "image": "registry.example.com/rl:1",
                    "command": ["bash", "-c", "sleep infinity"],
                    "securityContext": {"privileged": True},
                    "volumeMounts": [{"name": "tmp", "mountPath": "/scratch"}],
                },
                {"name": "log", "image": "log:1"},
            ],
        },
    }
    worker = {
        "type": "ct5p-hightpu-4t",
        "topology": "2x2x2",
        "numSlices": 1,
        "maxSliceRestarts": 1,
        "terminationGracePeriodSeconds": 30,
        "priorityClassName": "very-high",
        "nodeSelector": {"cloud.google.com/reservation-name": "r1", "team": "a"},
    }
    controller = {"deploymentMode": "default", "mainContainerName": "jax-tpu", "template": head}
    item = {
        "apiVersion": "pathways-job.pathways.domain/v1",
        "kind": "PathwaysJob",
        "metadata": {"name": "rl"},
        "spec": {
            "maxRestarts": 0,
            "workers": [worker],
            "pathwaysDir": "gs://my-bucket/tmp",
            "controller": {**controller, "elasticSlices": 0, "enableMetricsCollection": False},
        },
    }

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert () == found.patched
    spec = found.document["spec"]
    assert {"type": "Reservation", "name": "r1"} == spec["provisioning"]
    assert {"terminationGracePeriodSeconds", "priorityClassName", "nodeSelector"} == {
        *spec["pathways"]["worker"]
    }
    assert {"team": "a"} == spec["pathways"]["worker"]["nodeSelector"]
    of_head = spec["pathways"]["head"]
    assert ("cpu-np", {"disk": "ssd"}) == (of_head["pool"], of_head["podTemplate"]["spec"]["nodeSelector"])
    assert {"elasticSlices", "enableMetricsCollection"}.isdisjoint(spec["pathways"])
    template = "/spec/controller/template"
    assert {f"{template}/metadata", f"{template}/spec/hostNetwork", f"{template}/spec/dnsPolicy"} == {
        one.path for one in found.differences if "controller of PathwaysJob" in one.why
    }


PATHWAYS: Object = {"pathwaysDir": "gs://b/d"}
PROXY = {"componentType": "proxy_server", "image": "a.b/proxy:1", "customFlags": ["--a=1", "--b"]}
WORKERS = {
    "terminationGracePeriodSeconds": 60,
    "nodeSelector": {"team": "a"},
    "initContainers": [{"name": "first", "image": "busybox:1"}],
}


@pytest.mark.parametrize(
    "spec",
    [
        {"container": {"name": "main", "image": "python:3.12", "script": "true"}, "hostNetwork": True},
        {"pathways": {**PATHWAYS, "headless": True, "pathwaysVersion": "jax-0.8.1"}},
        {
            "slices": 2,
            "container": {"name": "main", "image": "python:3.12", "env": [{"name": "A", "value": "1"}]},
            "pathways": {
                **PATHWAYS,
                "elasticSlices": 1,
                "maxSliceRestarts": 3,
                "enableMetricsCollection": True,
                "colocatedPython": {"image": "python:3.12"},
                "customComponents": [PROXY],
                "head": {
                    "podTemplate": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {
                            "nodeSelector": {"disk": "ssd"},
                            "initContainers": [{"name": "first", "image": "busybox:1"}],
                            "containers": [{"name": "main", "tty": True}, {"name": "log", "image": "log:1"}],
                        },
                    }
                },
            },
        },
    ],
)
def test_jobset_of_pathways_is_imported_by_its_fields(spec: Object) -> None:
    """A JobSet that runs Pathways becomes `pathways`; of what is rendered only names need patches."""
    item = rendered(workload({"tpu": "v6e-16", "naming": "Fixed", "pathways": PATHWAYS, **spec}))

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert {**spec.get("pathways", PATHWAYS), "head": 0} == {**found.document["spec"]["pathways"], "head": 0}
    assert () == found.patched
    check_round_trip(found.document)


def test_jobset_of_xpk_under_pathways_is_imported_by_its_fields() -> None:
    """Its sidecars are in another order, and its manager, program and workers become `pathways`."""
    text = Path(__file__).with_name("xpk_pathways.yaml").read_text(encoding="utf-8")
    item: Any = next(iter(yaml.safe_load_all(text)))
    del item["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    pathways = found.document["spec"]["pathways"]
    assert ("gs://my-bucket/pathways", "cpu-np") == (pathways["pathwaysDir"], pathways["head"]["pool"])
    assert "(python3 train.py) &\nwait $!\n" == found.document["spec"]["container"]["script"]
    order = "/spec/replicatedJobs/0/template/spec/template/spec/initContainers"
    assert order in {one.path for one in found.differences}
    pod = "/spec/replicatedJobs/1/template/spec/template/spec"
    assert {
        "/spec/network/subdomain",
        f"{order}/0/env",
        f"{pod}/containers/0/env",
        f"{pod}/volumes/0/emptyDir",
        f"{pod}/volumes/0/hostPath",
    } == set(found.patched)


def test_what_no_field_says_becomes_a_patch() -> None:
    """A JobSet of xpk keeps its names and its rules; what is left out has a reason each."""
    given_object: Any = next(iter(yaml.safe_load_all(XPK)))

    found = imported_run(given_object, "c1", repository())

    assert isinstance(found, ImportedRun), found
    spec = found.document["spec"]
    assert {"maxRestarts": 3} == spec["failurePolicy"]
    assert "python train.py" == spec["container"]["script"]
    assert (True, True) == (spec["hostNetwork"], spec["privileged"])
    job = "/spec/replicatedJobs/0"
    assert {f"{job}/name", f"{job}/template/spec/podFailurePolicy"} == set(found.patched)
    assert {
        "/metadata/labels/xpk.google.com~1workload",
        "/metadata/annotations/alpha.jobset.sigs.k8s.io~1exclusive-topology",
        "/spec/ttlSecondsAfterFinished",
        "/metadata/labels/slicewright.dev~1workload",
        f"{job}/template/spec/template/spec/containers/0/resources/limits/google.com~1tpu",
    } == {one.path for one in found.differences if "API server" not in one.why}
    assert {
        "/spec/network",
        "/spec/startupPolicy",
        "/spec/successPolicy",
        "/spec/failurePolicy/restartStrategy",
        f"{job}/groupName",
        f"{job}/template/spec/completionMode",
        f"{job}/template/spec/template/spec/containers/0/ports/0/protocol",
        f"{job}/template/spec/template/spec/containers/0/ports/1/protocol",
        f"{job}/template/spec/template/spec/containers/0/resources/requests",
    } == {one.path for one in found.differences if "API server" in one.why}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cloud.google.com/gke-tpu-topology": "3x7"}, "the catalogue has no TPU slice"),
        ({"cloud.google.com/gke-tpu-topology": ""}, "do not select cloud.google.com/gke-tpu-topology"),
        (None, "none of its pods requests google.com/tpu"),
    ],
)
def test_objects_that_are_no_slice_are_refused(change: dict[str, str] | None, why: str) -> None:
    """An object without chips, or with a topology that does not exist, is a problem."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    if change is None:
        del pod["containers"][0]["resources"]
    else:
        pod["nodeSelector"] |= change

    found = imported_run(item, "c1", repository())

    assert ("IMP020",) == places(found)
    assert isinstance(found, tuple)
    assert why in found[0].message


def by_class(**labels: str) -> Any:
    """Return a Job whose pods select a ComputeClass and no other labels of TPU nodes."""
    container = {"name": "jax", "image": "python:3.12", "resources": {"limits": {"google.com/tpu": 4}}}
    selector = {"cloud.google.com/compute-class": "tpus", **labels}
    pod = {"restartPolicy": "Never", "nodeSelector": selector, "containers": [container]}
    job = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0}
    template = {"spec": {**pod, "subdomain": "count"}}
    metadata = {"name": "count"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {**job, "template": template},
    }


def of_class(*rungs: tuple[str, int, str]) -> Object:
    """Return a ComputeClass with priorities of (type, count, topology)."""
    tpus = [{"tpu": {"type": kind, "count": count, "topology": topology}} for kind, count, topology in rungs]
    return {"kind": "ComputeClass", "metadata": {"name": "tpus"}, "spec": {"priorities": tpus}}


V6E, V5E, LARGE = ("tpu-v6e-slice", 4, "2x4"), ("tpu-v5-lite-podslice", 4, "2x4"), ("tpu-v6e-slice", 4, "4x4")


@pytest.mark.parametrize(
    ("cluster", "classes", "labels"),
    [
        ({}, [of_class(V6E)], {}),
        ({}, [of_class(V6E, LARGE, V6E)], {}),
        ({}, [of_class(V6E, V5E)], {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"}),
        ({"computeClasses": [{"name": "tpus", "priorities": [{"tpu": "v6e-8"}, {"tpu": "v6e-8"}]}]}, [], {}),
        (
            {
                "pools": [
                    *POOLS,
                    {
                        "name": "by-class",
                        "tpu": "v6e-8",
                        "provisioning": {"type": "ComputeClass", "name": "tpus"},
                    },
                ]
            },
            [of_class()],
            {},
        ),
    ],
)
def test_slice_is_that_of_the_compute_class(cluster: Any, classes: list[Object], labels: Any) -> None:
    """Pods that select only a ComputeClass get its slice: from the files, the cluster's file, or a pool."""
    of_cluster: Any = CLUSTER["spec"]
    site = {**CLUSTER, "spec": {**of_cluster, **cluster}}
    files = [SourceFile("clusters/c1.yaml", json.dumps(site))]
    known = read_repository(files, Settings(), package(), read_text)

    found = imported_run(by_class(**labels), "c1", known, classes)

    assert isinstance(found, ImportedRun), found
    spec = found.document["spec"]
    assert ("v6e-8", {"type": "ComputeClass", "name": "tpus"}) == (spec["tpu"], spec["provisioning"])
    assert () == found.patched
    assert {"cloud.google.com/gke-tpu-topology"} <= {
        one.path.rpartition("/")[2].replace("~1", "/")
        for one in found.differences
        if "ComputeClass" in one.why
    }


@pytest.mark.parametrize("selector", [{}, [1]])
def test_slice_of_a_compute_class_that_node_affinity_selects(selector: Any) -> None:
    """The class counts also where node affinity names it; a selector that is a list ends no import."""
    run = by_class()
    pod = run["spec"]["template"]["spec"]
    by_affinity = {"key": "cloud.google.com/compute-class", "operator": "In", "values": ["tpus"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [by_affinity]}]}
    pod["nodeSelector"] = selector
    pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    found = imported_run(run, "c1", repository(), [of_class(V6E)])

    assert isinstance(found, ImportedRun), found
    assert "v6e-8" == found.document["spec"]["tpu"]


@pytest.mark.parametrize(
    "classes",
    [[], [of_class(("tpu-v6e-slice", 4, "2x5"))], [of_class(V6E, V5E)], [of_class(V5E, V6E, LARGE)]],
)
def test_slice_of_a_compute_class_that_is_not_known(classes: list[Object]) -> None:
    """Without the class, or where it has several slices for these pods, the run is not imported."""
    found = imported_run(by_class(), "c1", repository(), classes)

    assert ("IMP032",) == places(found)


def test_a_name_that_no_object_may_have_is_a_problem() -> None:
    """What the render refuses in each guess is said."""
    known = repository()

    found = imported_run({**next(iter(yaml.safe_load_all(XPK)))}, "c2", replace(known))

    assert isinstance(found, tuple)
    assert "REF001" in {problem.id for problem in found}


def test_command_writes_files_and_names_what_it_passes_by(repo: Repo) -> None:
    """`--write` makes the file once; objects that are no runs are listed."""
    repo.write("custom/xpk.yaml", XPK)
    command = ("import", "workload", "custom/xpk.yaml", "--cluster", "c1")

    shown = repo.run(*command)
    done = repo.run(*command, "--write", "-o", "json")
    again = repo.run(*command, "--write", code=1)

    assert "kind: TPUWorkload" in shown.out
    assert "IMP021" in shown.err
    result = json.loads(done.out)
    assert ["workloads/train.yaml"] == result["written"]
    assert ["IMP021"] == [problem["id"] for problem in result["problems"]]
    assert shown.out == repo.read("workloads/train.yaml")
    assert "IMP006" in again.err
    assert 0 == repo.run("render").code


def test_placeholders_stay_in_free_text_and_are_filled_in_elsewhere(repo: Repo) -> None:
    """A name and an image must be given; a script may keep one; unused values are told."""
    text = XPK.replace("name: train", "name: ${NAME}").replace("python:3.12", "<IMAGE>")
    repo.write("custom/xpk.yaml", text.replace("python train.py", "'python train.py --to ${BUCKET}'"))
    command = ("import", "workload", "custom/xpk.yaml", "--cluster", "c1", "--set", "NAME=train")

    refused = repo.run(*command, code=1)
    done = repo.run(*command, "--set", "IMAGE=python:3.12", "--set", "OTHER=1", "--write", "-o", "json")

    assert "custom/xpk.yaml: IMP022" in places(refused.err)
    result = json.loads(done.out)
    assert ["FILE031", "IMP021"] == sorted(problem["id"] for problem in result["problems"])
    container = result["workloads"][0]["workload"]["spec"]["container"]
    assert ("python:3.12", "python train.py --to ${BUCKET}") == (
        container["image"],
        container["script"].strip(),
    )
    assert 0 == repo.run("render").code


def test_a_value_that_nobody_can_fill_in_is_named() -> None:
    """YOUR_NAME has no name for --set, so the hint is to write it into the file."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    item["metadata"] |= {"name": "YOUR_NAME"}

    found = imported_run(item, "c1", repository())

    assert ("IMP022",) == places(found)


def test_folder_is_imported_with_a_report(repo: Repo) -> None:
    """A folder gives each run that can be imported, counts the rest, and warns of what cannot be read."""
    folder = repo.root / "custom/all"
    repo.write("custom/all/a.yaml", XPK)
    repo.write("custom/all/b.yaml", XPK.replace("google.com/tpu: 4", "cpu: 4").replace("train", "cpu"))
    repo.write("custom/all/again.yaml", XPK)
    repo.write("custom/all/bad.yaml", "kind: JobSet\nspec: [\n")
    repo.write("custom/all/list.yaml", json.dumps({"apiVersion": "v1", "kind": "List", "items": [SECRET]}))

    shown = repo.run("import", "workload", str(folder), "--cluster", "c1", "--write")
    done = repo.run("import", "workload", str(folder), "--cluster", "c1", "-o", "json")

    assert "1 of 3 runs imported" in shown.err
    assert "not runs: 3 ConfigMap, 1 Secret" in shown.err
    result = json.loads(done.out)
    assert {"IMP006", "IMP020", "YAML001"} >= {problem["id"] for problem in result["problems"]} > {"IMP006"}
    assert {"warning"} == {one["severity"] for one in result["problems"] if one["id"] == "IMP006"}
    assert (3, 1) == (result["report"]["runs"], result["report"]["imported"])


@pytest.mark.tools
def test_kustomization_is_imported_as_it_builds(repo: Repo) -> None:
    """`--kustomize` imports what a folder builds; a folder without a kustomization is refused."""
    repo.write("custom/base/xpk.yaml", XPK)
    repo.write("custom/base/kustomization.yaml", "resources: [xpk.yaml]\nnamePrefix: my-\n")
    command = ("import", "workload", "--cluster", "c1")

    done = repo.run(*command, "--kustomize", "custom/base", "-o", "json")
    refused = repo.run(*command, "--kustomize", "custom", code=2)
    nothing = repo.run(*command, code=2)

    repo.write("custom/base/kustomization.yaml", "resources: [xpk.yaml, 'https://example.com/a//b?ref=v1']\n")
    remote = repo.run(*command, "--kustomize", "custom/base", code=1)

    assert ["workloads/my-train.yaml"] == [one["file"] for one in json.loads(done.out)["workloads"]]
    assert ["custom/base/kustomization.yaml:1:23: KUS010", "1 error, 0 warnings"] == places(
        remote.err
    ).splitlines()
    assert "the folder has no kustomization.yaml" in refused.err
    assert "name what to import" in nothing.err


def test_a_name_that_another_file_has_is_refused(repo: Repo) -> None:
    """The next render would refuse both."""
    repo.write("old/xpk.yaml", XPK)
    repo.write(
        "workloads/other.yaml",
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\nmetadata: {name: train}\n"
        "spec: {clusters: [c1], tpu: v5litepod-16, container: {image: x}}\n",
    )

    done = repo.run("import", "workload", "old/xpk.yaml", "--cluster", "c1", "--write", code=1)

    assert "old/xpk.yaml: NAME002" in places(done.err).splitlines()
    assert not (repo.root / "workloads/train.yaml").exists()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("parallelism: 4", "parallelism: 3", "TPU103"),
        ("replicas: 1", "replicas: true", "SCHEMA003"),
        ("command: [bash, -c, python train.py]", "command: python", "SCHEMA003"),
        ("restartPolicy: Never", "restartPolicies: Never", "SCHEMA004"),
        (
            "      spec:\n        parallelism",
            "      metadata: true\n      spec:\n        parallelism",
            "SCHEMA003",
        ),
    ],
)
def test_what_the_next_render_refuses_is_not_imported(repo: Repo, old: str, new: str, expected: str) -> None:
    """A run whose object no API server takes, or whose render fails, is an error, and no file is written."""
    repo.write("old/xpk.yaml", XPK.replace(old, new))

    done = repo.run("import", "workload", "old/xpk.yaml", "--cluster", "c1", "--write", code=1)

    assert [expected] == [
        line.split()[1] for line in places(done.err).splitlines() if ".yaml: S" in line or ".yaml: T" in line
    ]
    assert "nothing is written" in done.err
    assert not (repo.root / "workloads/train.yaml").exists()


def test_runs_of_a_folder_that_the_next_render_refuses_are_warnings(repo: Repo) -> None:
    """The other runs are written, and the output says so; a render takes them."""
    repo.write("old/a.yaml", XPK)
    repo.write("old/b.yaml", XPK.replace("train", "wrong").replace("parallelism: 4", "parallelism: 3"))

    done = repo.run("import", "workload", "old", "--cluster", "c1", "--write")

    assert "workloads/train.yaml: written, and renders the object" in done.err
    assert "old/b.yaml: warning: TPU103" in places(done.err)
    assert [False, True] == [(repo.root / f"workloads/{name}.yaml").exists() for name in ("wrong", "train")]
    assert 0 == repo.run("render").code


def test_defaults_are_a_part_of_what_an_import_renders(repo: Repo) -> None:
    """What TPUDefaults add is taken out by a patch, so the run renders the object that was given."""
    repo.write("old/xpk.yaml", XPK)
    repo.write(
        "defaults/all.yaml",
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUDefaults\nmetadata: {name: all}\n"
        "spec: {labels: {team: a}}\n",
    )

    done = repo.run("import", "workload", "old/xpk.yaml", "--cluster", "c1", "--write", "-o", "json")

    assert ["/metadata/labels/team"] == [
        path for path in done.json["workloads"][0]["patched"] if path.endswith("team")
    ]
    repo.run("render")
    assert "team: a" not in repo.read("overlays/c1/default/train/kustomization.yaml")


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
MAIN = {"name": "jax", "image": "python:3.12"}


@pytest.mark.parametrize(
    "spec",
    [
        {
            "tpu": "v5litepod-16",
            "queueName": "q",
            "maxExecutionTimeSeconds": 60,
            "container": {**MAIN, "args": ["a"], "resources": {"limits": {"cpu": "4"}}},
            "podTemplate": {"spec": {"containers": [{"name": "log", "image": "busybox:1"}]}},
        },
        {"tpu": "v6e-16", "naming": "Hashed", "privileged": True, "container": {**MAIN, "script": "true"}},
        {"tpu": "v6e-16", "containersPerHost": 2, "container": {**MAIN, "command": ["true"]}},
        {"tpu": "v6e-16", "api": "PathwaysJob", "pathways": {"pathwaysDir": "gs://b/d", "headless": True}},
    ],
)
def test_fields_of_each_kind_are_imported_back(spec: Object) -> None:
    """Queues, sidecars, several containers a host and runs without a program are imported."""
    check_round_trip(workload(spec))


def test_a_living_jobset_is_imported_without_defaults() -> None:
    """What the API server writes beside an image and an account is left out; owners are listed."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    del pod["affinity"]
    pod["nodeSelector"]["team"] = "a"
    pod["serviceAccountName"] = "trainer"
    item["spec"]["failurePolicy"]["rules"] = [{"action": "FailJobSet"}]
    of_file = imported_run(item, "c1", repository())
    item["metadata"] |= {"uid": "u", "resourceVersion": "1", "ownerReferences": [{"kind": "CronJob"}]}
    pod["serviceAccount"] = "trainer"
    item["spec"]["failurePolicy"]["rules"][0]["name"] = "failurePolicyRule0"
    pod["containers"][0]["imagePullPolicy"] = "IfNotPresent"

    living = imported_run(item, "c1", repository())

    assert isinstance(of_file, ImportedRun), of_file
    assert isinstance(living, ImportedRun), living
    assert of_file.document == living.document
    assert "/metadata/ownerReferences" in {one.path for one in living.differences}


def test_ports_of_the_runtime_are_added_and_listed() -> None:
    """A container keeps its own ports; those that the render adds are listed."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["ports"] = [{"containerPort": 9}]

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert [8471, 8080] == [
        one.rendered["containerPort"] for one in found.differences if "TPU runtime" in one.why
    ]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [({}, [EXCLUSIVE]), ({"kueue.x-k8s.io/podset-required-topology": "cloud.google.com/gke-nodepool"}, [])],
)
def test_slice_of_several_hosts_gets_exclusive_placement(pods: dict[str, str], expected: list[str]) -> None:
    """What is missing is added and listed, unless Kueue places the pods: then a patch keeps it out."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    del item["metadata"]["annotations"]
    template = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template.setdefault("metadata", {})["annotations"] = pods

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    added = [one.path for one in found.differences if "several node pools" in one.why]
    assert expected == [EXCLUSIVE for path in added if path.endswith(EXCLUSIVE.replace("/", "~1"))]
    assert (not expected) == any("/template/metadata" in path for path in found.patched)


def test_secret_that_xpk_does_not_mean_is_left_out() -> None:
    """Without an image pull secret xpk writes the name None, which no Secret can have."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["imagePullSecrets"] = [{"name": "None"}]

    found = imported_run(item, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert ["imagePullSecrets"] == [
        one.path.rpartition("/")[2] for one in found.differences if "xpk" in one.why
    ]
    assert "imagePullSecrets" not in json.dumps(found.document)


def test_a_value_that_no_file_may_hold_is_a_problem() -> None:
    """What kustomize would lose is refused, not lost."""
    item: Any = next(iter(yaml.safe_load_all(XPK)))
    item["spec"]["coordinator"] = {"<<": {"replicatedJob": "slice-job"}}

    found = imported_run(item, "c1", repository())

    assert isinstance(found, tuple)
    assert found
    assert {"error"} == {problem.severity for problem in found}


def test_a_pathways_job_on_unknown_machines_is_refused() -> None:
    """A PathwaysJob names its machine type, which the catalogue must have."""
    spec = {"workers": [{"type": "ct9-standard-4t", "topology": "4x4"}], "controller": {}}
    item = {"kind": "PathwaysJob", "metadata": {"name": "train"}, "spec": spec}

    found = imported_run(item, "c1", repository())

    assert ("IMP020",) == places(found)


def test_a_living_job_is_imported_without_what_the_server_wrote() -> None:
    """Status, the selector and labels of controllers are no part of a TPUWorkload."""
    job = rendered(workload({"tpu": "v5litepod-8", "api": "Job", "naming": "Fixed", "container": MAIN}))
    uid = {"batch.kubernetes.io/controller-uid": "u"}
    metadata = {**job["metadata"], "uid": "u", "managedFields": []}
    living: Any = {
        **job,
        "metadata": metadata,
        "status": {"active": 1},
        "spec": {**job["spec"], "suspend": True, "selector": {}},
    }
    template = living["spec"]["template"]
    living["spec"]["template"] = {**template, "metadata": {"creationTimestamp": None, "labels": uid}}

    found = imported_run(living, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert job == rendered(found.document)
    assert {"/spec/suspend", "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid"} <= {
        one.path for one in found.differences
    }


def test_job_of_several_hosts_gets_the_service_that_is_rendered() -> None:
    """Its own one is not among the rendered objects, so a render would refuse its name (TPU116)."""
    job = rendered(workload({"tpu": "v5litepod-16", "api": "Job", "naming": "Fixed", "container": MAIN}))
    given = copy.deepcopy(job)
    given["spec"]["template"]["spec"]["subdomain"] = "headless-svc"

    found = imported_run(given, "c1", repository())

    assert isinstance(found, ImportedRun), found
    assert job == found.rendered
    (changed,) = [one for one in found.differences if one.path == "/spec/template/spec/subdomain"]
    assert ("headless-svc", job["metadata"]["name"]) == (changed.given, changed.rendered)


def test_labels_by_which_helm_finds_its_objects_are_left_out() -> None:
    """Of the run all that a chart writes; of pods those stay that a Service may select."""
    job = rendered(workload({"tpu": "v5litepod-8", "api": "Job", "naming": "Fixed", "container": MAIN}))
    given = copy.deepcopy(job)
    of_chart = {
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "r",
        "helm.sh/chart": "c-1",
    }
    given["metadata"]["labels"] = {**given["metadata"].get("labels", {}), **of_chart, "team": "a"}
    given["metadata"]["annotations"] = {"helm.sh/hook": "post-install"}
    given["spec"]["template"]["metadata"] = {"labels": {**of_chart}}

    found = imported_run(given, "c1", repository())

    assert isinstance(found, ImportedRun), found
    labels = found.rendered["metadata"]["labels"]
    assert ({"team"}, "a") == (labels.keys() & {*of_chart, "team"}, labels["team"])
    of_pods = found.rendered["spec"]["template"]["metadata"]["labels"]
    assert {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by"} == of_pods.keys() & {*of_chart}
    assert "helm.sh/hook" not in found.rendered["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", ("custom/a.yaml: SCHEMA002",)),
        ("kind: JobSet", ("custom/a.yaml: SCHEMA002",)),
        (
            XPK.partition("---")[0].replace(
                "ports: [{containerPort: 8471}, {containerPort: 8080}]", "env: {A: b}"
            ),
            ("custom/a.yaml: SCHEMA003",),
        ),
    ],
)
def test_what_is_no_object_is_a_problem(repo: Repo, text: str, expected: tuple[str, ...]) -> None:
    """What the API server would not read is refused as `validate` refuses it."""
    repo.write("custom/a.yaml", text)

    done = repo.run(*("import", "workload", "custom/a.yaml", "--cluster", "c1", "-o", "json"), code=1)

    problems = json.loads(done.out)["problems"]
    assert expected == tuple(f"{one['file']}: {one['id']}" for one in problems)


def test_a_variable_whose_name_is_not_a_text_is_left_to_the_schema() -> None:
    """What a Pathways run has in `env` may be of any type."""
    base = Path(__file__).parents[3] / "bases/pathways/jobset.yaml"
    jobset = yaml.safe_load(base.read_text(encoding="utf-8"))
    head, worker = (job["template"]["spec"]["template"]["spec"] for job in jobset["spec"]["replicatedJobs"])
    head["containers"][0]["env"] = [{"name": {}, "value": "a"}]
    worker["containers"][0]["resources"] = {"limits": {"google.com/tpu": 4}}

    found = jobset_spec(jobset, {"podTemplate": {"spec": {"containers": []}}})
    assert found is not None
    assert [{"name": {}, "value": "a"}] == found["container"]["env"]
