"""Kustomize does what the rules of kustomizations report, and their hints correct it."""

from pathlib import Path

import pytest
import yaml
from tests.check.kit import run
from tests.rendering.bases.kit import kustomize

pytestmark = pytest.mark.tools

JOB = """
apiVersion: v1
kind: Service
metadata: {name: train-svc}
spec: {clusterIP: None, selector: {job-name: train}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  parallelism: 4
  completions: 4
  template:
    spec:
      subdomain: train-svc
      restartPolicy: Never
      nodeSelector:
        cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice
        cloud.google.com/gke-tpu-topology: 4x4
      containers: [{name: main, image: "python:3.12", resources: {limits: {google.com/tpu: 4}}}]
"""
JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: lab, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  replicatedJobs:
  - name: slice
    template:
      spec:
        template:
          spec:
            serviceAccountName: runner
            containers: [{name: main, image: "python:3.12", envFrom: [{configMapRef: {name: settings}}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: lab}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec: {namespaceSelector: {}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: lab}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: lab}
data: {A: b}
"""
CONFIG_MAP = """
configMapGenerator:
- {name: p, literals: [IMAGE=python:9], options: {annotations: {config.kubernetes.io/local-config: "true"}}}
replacements:
- source: {kind: ConfigMap, name: p, fieldPath: data.IMAGE}
  targets:
  - select: {kind: JobSet, name: %s}
    fieldPaths: ["spec.replicatedJobs.[name=%s].template.spec.template.spec.containers.[name=main].image"]
    options: {create: true}
"""


def _built(folder: Path, objects: str, more: str) -> str:
    folder.joinpath("all.yaml").write_text(objects, encoding="utf-8")
    folder.joinpath("kustomization.yaml").write_text(f"resources: [all.yaml]\n{more}", encoding="utf-8")
    return kustomize(folder)


def _jobs(text: str) -> list[str]:
    jobset = next(data for data in yaml.safe_load_all(text) if data["kind"] == "JobSet")
    return [job["name"] for job in jobset["spec"]["replicatedJobs"]]


def _said(folder: Path, *ids: str) -> tuple[str, list[str]]:
    """Return the hint of KUS103, and what else is reported of some rules."""
    problems = run(folder, ".", "-o", "json").json["problems"]
    hints = [problem["hint"] for problem in problems if problem["id"] == "KUS103"]
    return "".join(hints), [problem["id"] for problem in problems if problem["id"] in ids]


@pytest.mark.parametrize(
    ("objects", "ids"),
    [(JOB, ["TPU116"]), (JOBSET, ["REF101", "REF102", "REF121", "REF124"])],
    ids=["built-in", "custom"],
)
def test_references_follow_a_prefix_when_the_hint_is_pasted(
    tmp_path: Path, objects: str, ids: list[str]
) -> None:
    """A prefix breaks references; with the hint of KUS103 in the kustomization all of them follow."""
    _built(tmp_path, objects, "namePrefix: a-\n")
    hint, broken = _said(tmp_path, *ids)
    names, _, patches = hint.removeprefix("write ").partition(" in a file that configurations: lists")
    tmp_path.joinpath("names.yaml").write_text(names, encoding="utf-8")
    more = patches.removeprefix(", and ")

    _built(tmp_path, objects, f"namePrefix: a-\nconfigurations: [names.yaml]\n{more}\n")

    assert (set(ids), ("", [])) == (set(broken), _said(tmp_path, *ids))


def test_images_that_no_container_has_change_nothing(tmp_path: Path) -> None:
    """Kustomize builds without a word if no container has the image that an entry names (KUS126)."""
    plain = _built(tmp_path, JOBSET, "")

    assert plain == _built(tmp_path, JOBSET, "images: [{name: registry.example.com/train, newTag: v7}]\n")


@pytest.mark.parametrize(
    ("name", "job", "jobs"), [("trian", "slice", ["slice"]), ("train", "slce", ["slice", "slce"])]
)
def test_replacements_match_nothing_or_add(tmp_path: Path, name: str, job: str, jobs: list[str]) -> None:
    """Kustomize ignores a target that selects nothing, and with create it adds an element (KUS127)."""
    text = _built(tmp_path, JOBSET, CONFIG_MAP % (name, job))

    assert jobs == _jobs(text)
    assert ("python:9" in text) == (name == "train")


def test_file_of_replacements_is_looked_at(tmp_path: Path) -> None:
    """A replacement that a kustomization names by its file is reported at the entry that names it."""
    replacement = """
source: {kind: LocalQueue, name: main}
targets: [{select: {kind: JobSet, name: trian}, fieldPaths: [metadata.name]}]
"""
    tmp_path.joinpath("one.yaml").write_text(replacement, encoding="utf-8")
    _built(tmp_path, JOBSET, "replacements: [{path: one.yaml}]\n")

    problems = run(tmp_path, ".", "-o", "json", "--only", "KUS").json["problems"]

    assert [("KUS127", "kustomization.yaml", 2)] == [
        (problem["id"], problem["file"], problem["line"]) for problem in problems
    ]
