"""Outside of a repository of ours `validate` judges its kinds and what they refer to, and counts all else."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, jobset, run, write

_PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: a, image: 'b:1', wrong: 1}]
"""
_CHIPS = _PODS.replace("wrong: 1", "wrong: 1, resources: {limits: {google.com/tpu: 4}}")
_QUEUED = _PODS.replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/queue-name: q}}", 1)
_NODES = "nodeSelector: {cloud.google.com/gke-tpu-topology: 2x2}"
_TERMS = "[{matchExpressions: [{key: cloud.google.com/gke-tpu-topology, operator: Exists}]}]"
_NODE_AFFINITY = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {_TERMS}}}}}"
_AFFINITY = f"affinity: {{nodeAffinity: {_NODE_AFFINITY}}}"
_SELECTING = _PODS.replace("    spec:\n", f"    spec:\n      {_NODES}\n")


def _object(api_version: str, kind: str) -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{wrong: 1}}\n"


@pytest.mark.parametrize(
    "text",
    [
        _object("jobset.x-k8s.io/v1alpha2", "JobSet"),
        _object("batch/v1", "Job"),
        _object("pathways-job.pathways.domain/v1", "PathwaysJob"),
        _object("kueue.x-k8s.io/v1beta2", "LocalQueue"),
        _object("config.kueue.x-k8s.io/v1beta2", "Configuration"),
        _object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        _object("ray.io/v1", "RayCluster"),
        _object("trainer.kubeflow.org/v1alpha1", "TrainJob"),
        _object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
        _object("cloud.google.com/v1", "ComputeClass"),
        _object("accelerator.gke.io/v1beta1", "Slice"),
        _object("slicewright.dev/v1alpha1", "TPUCluster"),
        _CHIPS,
        _CHIPS.replace("google.com/tpu", "google.com/tpus"),
        _QUEUED,
        _QUEUED.replace("kueue.x", "queue.x"),
        _SELECTING,
        _PODS.replace("    spec:\n", f"    spec:\n      {_AFFINITY}\n"),
        _CHIPS.replace("apps/v1", "extensions/v1beta1"),
        _CHIPS.replace("Deployment", "Deploymnt"),
        _object("jobset.x-k8s.io/v1alpha1", "JobSet"),
        _object("jobset.x-k8s.io/v1alpha2", "Jobset"),
        _object("jobset.x-k8s.o/v1alpha2", "JobSet"),
        _object("batch/v1", "JobSet"),
        _object("apps/v1", "Job"),
        _object("v1", "Job"),
        _object("kueue.x-k8s.io/v1beta2", "LocalQueu"),
        _object("kueu.x-k8s.io/v1beta2", "LocalQueue"),
        _object("ray.io/v1", "RayClsuter"),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet").replace("kind", "knid"),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet").replace("apiVersion", "apiversion"),
        "- " + _object("batch/v1", "Job").replace("\n", "\n  "),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet") + "data: [}\n",
        _object("batch/v1", "Job") + "data: [}\n",
        _CHIPS + "data: [}\n",
        '{"apiVersion": "batch/v1", "kind": "Job", ',
    ],
)
@pytest.mark.parametrize("path", [".", "a.yaml"])
def test_error_of_our_kinds_is_found(elsewhere: Path, path: str, text: str) -> None:
    """An object that is one of the kinds, or is meant as one, has its errors anywhere."""
    write(elsewhere, {"a.yaml": text, "b.yaml": BAD_CONFIG_MAP.replace("name: a", "name: other")})
    done = run(elsewhere, path, "-o", "json").json

    assert "error" in [problem["severity"] for problem in done["problems"]]
    assert {"a.yaml"} == {problem["file"] for problem in done["problems"]}


@pytest.mark.parametrize(
    "text",
    [
        _PODS,
        _object("batch.volcano.sh/v1alpha1", "Job"),
        _object("networking.istio.io/v1", "Workload"),
        _object("example.test/v1", "Topology"),
        _object("extensions/v1beta1", "Ingress"),
        _object("v1", "Servcie"),
        _object("serving.knative.dev/v1", "Service"),
        "apiVersion: v2\nmetadata: {name: a}\n",
        "kind: Pod\nspec: {}\n",
        "- apiVersion: v1\n  kind: Pod\n",
        _PODS + "data: [}\n",
        _PODS.replace("replicas", "replicas") + "on: 0400\n",
        "apiVersion: skaffold/v4beta6\nkind: Config\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: !vault b}\n",
    ],
)
def test_other_kinds_are_passed_by(elsewhere: Path, text: str) -> None:
    """What is wrong with other objects is for other tools to say: they are counted by kind or named."""
    write(elsewhere, {"a.yaml": text, "b.yaml": yaml.safe_dump(jobset())})
    done = run(elsewhere, ".", "-o", "json", "--min-severity", "warning").json
    summary = done["summary"]

    assert ([], 1) == (done["problems"], summary["objects"])
    assert 1 == sum(summary["skipped"].values()) + len(summary["passedBy"])


def _pods_with(**spec: Any) -> str:
    return yaml.safe_dump(jobset(pod=spec)) + "---\n"


_BAD_NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, lables: {}}\n"
_BAD_SERVICE = (
    "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {selector: {app: train}, wrong: 1}\n"
)


@pytest.mark.parametrize(
    ("run_text", "other"),
    [
        (_pods_with(volumes=[{"name": "v", "configMap": {"name": "a"}}]), BAD_CONFIG_MAP),
        (
            yaml.safe_dump(jobset()).replace("name: train", "name: train\n  namespace: a") + "---\n",
            _BAD_NAMESPACE,
        ),
        (yaml.safe_dump(jobset()) + "---\n", _BAD_SERVICE),
    ],
)
def test_objects_that_are_referred_to_are_judged(elsewhere: Path, run_text: str, other: str) -> None:
    """They are judged in the same folder, and counted in another one."""
    write(elsewhere, {"here/a.yaml": run_text, "here/b.yaml": other, "there/b.yaml": other})
    done = run(elsewhere, ".", "-o", "json", "--schemas-only").json

    assert ["here/b.yaml"] == [problem["file"] for problem in done["problems"]]
    assert 1 == sum(done["summary"]["skipped"].values())


def test_configuration_of_kueue_is_judged(elsewhere: Path) -> None:
    """It is in a ConfigMap of a known name."""
    text = "controller_manager_config.yaml: 'apiVersion: config.kueue.x-k8s.io/v1beta2'"
    write(
        elsewhere,
        {"a.yaml": f"{CONFIG_MAP.replace('name: a', 'name: kueue-manager-config').replace('a: b', text)}"},
    )

    assert ["SCHEMA002"] == run(elsewhere, ".", "-o", "json").ids


def test_schema_of_a_user_makes_its_kind_judged(elsewhere: Path) -> None:
    """Who adds a schema wants it applied, in any folder."""
    schema = '{"type": "object", "required": ["spec"], "properties": {"kind": {"const": "Thing"}}}'
    write(elsewhere, {"schemas/example.test/thing_v1.json": schema})
    write(elsewhere, {"a/a.yaml": "apiVersion: example.test/v1\nkind: Thing\nmetadata: {name: a}\n"})

    assert ["SCHEMA005"] == run(elsewhere, "a", "--schema", "schemas", "-o", "json").ids
    assert [] == run(elsewhere, "a", "-o", "json").ids


def test_one_line_counts_what_is_passed_by(elsewhere: Path) -> None:
    """The report says how many objects of which kinds, and how many files, nobody judged."""
    write(elsewhere, {"a.yaml": f"{BAD_CONFIG_MAP}---\n{_PODS}", "b.yaml": BAD_CONFIG_MAP, "c.yaml.j2": ""})
    done = run(elsewhere, ".")

    assert (0, 2) == (done.code, done.out.count("\n"))
    assert "0 objects in 2 files and folders: 0 errors, 0 warnings\n" in done.out
    assert "passed by: 3 objects (2 ConfigMap, 1 Deployment), 1 template (c.yaml.j2)\n" in done.out
    assert {"ConfigMap": 2, "Deployment": 1} == run(elsewhere, ".", "-o", "json").json["summary"]["skipped"]


_PATCHED = "patches: [{path: none.yaml}]\n"


@pytest.mark.tools
def test_kustomization_is_judged_by_what_it_holds(elsewhere: Path) -> None:
    """One that does not build is an error unless all objects in its files are of other kinds."""
    write(
        elsewhere,
        {
            "ours/kustomization.yaml": f"resources: [a.yaml]\n{_PATCHED}",
            "ours/a.yaml": yaml.safe_dump(jobset()),
            "patched/kustomization.yaml": "resources: [a.yaml, none.yaml]\npatches: [{path: p.yaml}]\n",
            "patched/a.yaml": CONFIG_MAP,
            "patched/p.yaml": "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n",
            "outside/kustomization.yaml": "resources: [../ours/a.yaml]\n",
            "unknown/kustomization.yaml": "resources: [none.yaml]\n",
            "others/kustomization.yaml": f"resources: [a.yaml]\n{_PATCHED}",
            "others/a.yaml": CONFIG_MAP,
            "built/kustomization.yaml": "resources: [a.yaml]\ncommonLabels: {a: b}\n",
            "built/a.yaml": CONFIG_MAP,
            "template/kustomization.yaml": "resources: [a.yaml]\n{% if a %}\n",
        },
    )
    done = run(elsewhere, ".", "-o", "json").json

    assert {"ours", "patched", "outside", "unknown"} == {
        problem["file"].removesuffix("/kustomization.yaml")
        for problem in done["problems"]
        if problem["severity"] == "error"
    }
    assert [] == [problem for problem in done["problems"] if problem["file"].startswith(("others", "built"))]
    assert [("others", "kustomization of other objects that does not build"), ("template", "template")] == [
        (one["path"], one["reason"]) for one in done["summary"]["passedBy"]
    ]
    assert {"ConfigMap": 3} == done["summary"]["skipped"]


def test_tool_that_syncs_a_run_is_judged(elsewhere: Path) -> None:
    """An Application of a folder with a run may end it; one of another folder is passed by."""
    tool = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s}\n"
    tool += "spec: {source: {path: %s}}\n"
    write(elsewhere, {"runs/a.yaml": yaml.safe_dump(jobset())})
    write(elsewhere, {"apps/a.yaml": tool % ("a", "runs"), "apps/b.yaml": tool % ("b", "web")})
    done = run(elsewhere, ".", "-o", "json").json

    assert {"apps/a.yaml"} == {one["file"] for one in done["problems"] if one["file"].startswith("apps")}
    assert {"Application": 1} == done["summary"]["skipped"]


@pytest.mark.parametrize("place", ["", "custom", "any/folder"])
def test_all_of_a_repository_of_ours_is_judged(elsewhere: Path, place: str) -> None:
    """Below a slicewright.yaml objects of all kinds are judged, whatever path leads to them."""
    write(elsewhere, {"slicewright.yaml": "", f"{place}/a.yaml".lstrip("/"): BAD_CONFIG_MAP})

    for folder, path in ((elsewhere, "."), (elsewhere / place, "a.yaml")):
        assert ["SCHEMA003"] == run(folder, path, "-o", "json").ids
    assert ["SCHEMA003"] == run(elsewhere, "-", "-o", "json", stdin=BAD_CONFIG_MAP).ids
