"""One workload of each pattern with every field that it may have: kustomize builds what we compose."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.files import read_text, write

from slicewright.rendering.compose import compose

from .kit import built, canonical, copy_bases
from .rows import API, CLUSTER, files_of

pytestmark = pytest.mark.tools

MINE = "components/mine"
QUEUES = [{"name": "q", "localQueues": [{"name": "lq", "namespace": "ns"}]}]
SITE: dict[str, Any] = {**CLUSTER, "spec": {**CLUSTER["spec"], "clusterQueues": QUEUES}}
FILES = {
    f"{MINE}/kustomization.yaml": json.dumps(
        {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            "resources": ["settings.yaml", "others.yaml"],
        }
    ),
    f"{MINE}/settings.yaml": json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a.b"}, "data": {"on": "1e3"}}
    ),
    f"{MINE}/others.yaml": json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "axb"}, "data": {"y": "0o17"}}
    ),
}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "1"}, "annotations": {"b": "on"}},
    "spec": {
        "serviceAccountName": "me",
        "tolerations": [{"key": "team", "operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
        "initContainers": [{"name": "fetch", "image": "f:1", "env": [{"name": "T", "value": "12:30:45"}]}],
        "containers": [{"name": "logger", "image": "l:1"}],
        "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1024Mi"}}],
    },
}
BARE = {"spec": TEMPLATE["spec"]}
PROGRAM: dict[str, Any] = {
    "name": "jax",
    "image": "img:1",
    "script": "echo a\n\techo b \n",
    "env": [{"name": "E", "value": "1e3"}, {"name": "Y", "value": "y"}, {"name": "EMPTY", "value": ""}],
    "ports": [{"containerPort": 9999}],
    "resources": {"limits": {"cpu": "1000m"}, "requests": {"memory": "2048Mi"}},
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
EVERY = {
    "clusters": ["c"],
    "queueName": "lq",
    "workloadPriorityClassName": "high",
    "maxExecutionTimeSeconds": 3600,
    "components": [MINE],
    "patches": [{"target": {"kind": "ConfigMap", "name": "axb"}, "ops": [{"op": "remove", "path": "/data"}]}],
}
USER = {"container": PROGRAM, "gcsFuse": [{"bucket": "b", "mountPath": "/b", "options": "implicit-dirs"}]}
PODS = {"podTemplate": TEMPLATE, "hostNetwork": True, "privileged": True}
POLICY = {"maxRestarts": 2, "rules": [{"action": "FailJobSet"}], "onHostMaintenance": "Fail"}
CUSTOM = [{"componentType": "worker", "image": "w:1", "customFlags": ["--f=1"], "customEnv": PROGRAM["env"]}]
PATHWAYS = {
    "pathwaysDir": "gs://b/d",
    "pathwaysVersion": "jax-0.8.1",
    "elasticSlices": 1,
    "maxSliceRestarts": 2,
    "enableMetricsCollection": True,
    "colocatedPython": {"image": "side:1"},
    "customComponents": CUSTOM,
    "worker": {"nodeSelector": {"rack": "r"}, "priorityClassName": "p", "terminationGracePeriodSeconds": 9},
}
COLOCATED = {**PATHWAYS, "deploymentMode": "colocate_head_with_workers"}
RESERVED = {"type": "Reservation", "name": "r", "project": "p", "block": "b"}
AUXILIARY = {"name": "logs", "pool": "cpu", "podTemplate": TEMPLATE}
IMAGED = {"spec": {**BARE["spec"], "containers": [{"name": "up", "image": "u:1"}]}}
SPECS: dict[str, dict[str, Any]] = {
    "jobset": {
        "tpu": "v5litepod-8",
        "slices": 2,
        **USER,
        **PODS,
        "provisioning": "FlexStartQueued",
        "failurePolicy": POLICY,
        "auxiliaryJobs": [{**AUXILIARY, "podTemplate": IMAGED}],
    },
    "job": {
        "tpu": "v5litepod-4",
        "api": "Job",
        **USER,
        **PODS,
        "provisioning": "Spot",
        "backoffLimit": 3,
        "failurePolicy": {"onHostMaintenance": "Restart"},
    },
    "indexed-job": {"tpu": "v5litepod-8", "api": "Job", **USER, **PODS, "provisioning": RESERVED},
    "pathways": {
        "tpu": "v6e-16",
        "slices": 2,
        **USER,
        **PODS,
        "failurePolicy": POLICY,
        "provisioning": {"type": "ComputeClass", "name": "cc"},
        "pathways": {**PATHWAYS, "head": {"pool": "cpu", "podTemplate": {"metadata": TEMPLATE["metadata"]}}},
    },
    "pathways-colocated": {"tpu": "v6e-16", "slices": 2, **USER, **PODS, "pathways": COLOCATED},
    "pathways-headless": {"tpu": "v6e-16", "slices": 2, **PODS, "pathways": {**PATHWAYS, "headless": True}},
    "pathwaysjob": {
        "tpu": "v6e-16",
        "slices": 2,
        "api": "PathwaysJob",
        **USER,
        "provisioning": "FlexStart",
        "maxRunDurationSeconds": 3600,
        "pathways": {**PATHWAYS, "head": {"podTemplate": BARE}},
    },
}


def read_mine(path: str) -> str | None:
    """Return a file of the user's component, or of the bases."""
    return FILES.get(path) or read_text(path)


@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
@pytest.mark.parametrize("name", SPECS)
def test_kustomize_builds_the_same(tmp_path: Path, name: str, naming: str) -> None:
    """Live overlays and frozen runs, with all that people may write, build to what we compose."""
    workload = {
        "apiVersion": API,
        "kind": "TPUWorkload",
        "metadata": {"name": "w", "namespace": "ns", "labels": {"n": "on"}, "annotations": {"a": "1e3"}},
        "spec": {**EVERY, **SPECS[name], "naming": naming},
    }
    files = files_of([SITE, workload], read_mine)
    copy_bases(tmp_path)
    write(tmp_path, {**FILES, **files})
    made = compose("overlays/c/ns/w", lambda path: files.get(path) or read_mine(path))

    assert (made.problems, made.outside) == ((), ())
    assert built(tmp_path / "overlays/c/ns/w") == canonical(made.objects)
