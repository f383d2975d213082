"""The schemas of Kubernetes kinds: complete, current, and usable by every engine."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import yaml
from tests.schema.kit import FILES, KINDS, SCHEMAS, is_same, kubeconform, load, made, rebuild

from slicewright.schema.from_crd import DEFINITIONS_FILE

KUEUE = (
    *("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig"),
    *("ProvisioningRequestConfig", "ResourceFlavor", "Topology", "Workload", "WorkloadPriorityClass"),
)
WANTED = {
    "jobset.x-k8s.io/v1alpha2": ("JobSet",),
    "kueue.x-k8s.io/v1beta1": KUEUE,
    "kueue.x-k8s.io/v1beta2": KUEUE,
    "pathways-job.pathways.domain/v1": ("PathwaysJob",),
    "cloud.google.com/v1": ("ComputeClass",),
    "container.cnrm.cloud.google.com/v1beta1": ("ContainerNodePool",),
    "autoscaling.x-k8s.io/v1": ("ProvisioningRequest",),
    "argoproj.io/v1alpha1": ("Application", "ApplicationSet", "AppProject"),
    "kustomize.toolkit.fluxcd.io/v1": ("Kustomization",),
    "source.toolkit.fluxcd.io/v1": ("GitRepository", "OCIRepository"),
    "config.jobset.x-k8s.io/v1alpha1": ("Configuration",),
    "config.kueue.x-k8s.io/v1beta2": ("Configuration",),
    "leaderworkerset.x-k8s.io/v1": ("LeaderWorkerSet",),
    "ray.io/v1": ("RayCluster", "RayCronJob", "RayJob", "RayService"),
    "ray.io/v1alpha1": ("RayCluster", "RayJob", "RayService"),
    "trainer.kubeflow.org/v1alpha1": ("ClusterTrainingRuntime", "TrainingRuntime", "TrainJob"),
    "accelerator.gke.io/v1beta1": ("Slice",),
    "scheduling.k8s.io/v1beta1": ("PodGroup", "Workload"),
    "scheduling.k8s.io/v1alpha2": ("PodGroup", "Workload"),
    "monitoring.googleapis.com/v1": ("ClusterPodMonitoring", "PodMonitoring"),
    "networking.gke.io/v1": ("GKENetworkParamSet", "Network"),
    "batch/v1": ("Job", "CronJob"),
    "apps/v1": ("Deployment", "StatefulSet", "DaemonSet"),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "networking.k8s.io/v1": ("NetworkPolicy",),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "admissionregistration.k8s.io/v1": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    "apiregistration.k8s.io/v1": ("APIService",),
    "v1": (
        *("Pod", "PodTemplate", "Service", "Namespace", "ServiceAccount", "ConfigMap", "Secret"),
        *("PersistentVolume", "PersistentVolumeClaim", "ResourceQuota", "LimitRange"),
    ),
}


def _subschemas(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _subschemas(part)
    elif isinstance(value, list):
        for part in value:
            yield from _subschemas(part)


def test_every_kind_that_is_rendered_or_checked_is_there() -> None:
    """Each kind of the issue has a schema whose constants are its apiVersion and kind."""
    found = {
        (schema["properties"]["apiVersion"]["const"], schema["properties"]["kind"]["const"])
        for schema in map(load, FILES)
    }
    wanted = {(version, kind) for version, kinds in WANTED.items() for kind in kinds}
    assert set() == wanted - found


@pytest.mark.workflow
def test_rebuild_is_byte_identical() -> None:
    """`make schemas` writes exactly the bytes that are committed."""
    present = {
        path.relative_to(KINDS).as_posix(): path.read_bytes() for path in KINDS.rglob("*.*") if path.is_file()
    }
    assert rebuild().build() == present


def test_rebuild_refuses_a_source_that_changed(tmp_path: Path) -> None:
    """A source whose sha256 is not the recorded one ends the rebuild."""
    (tmp_path / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    module = rebuild()
    module.SOURCES = tmp_path
    with pytest.raises(SystemExit, match=r"a\.yaml: sha256 is"):
        module.read_source({"file": "a.yaml", "sha256": "0"})


@pytest.mark.workflow
@pytest.mark.slow
def test_sharing_definitions_changes_no_schema() -> None:
    """Each file means what its source makes, however many definitions it shares with others."""
    assert made().keys() == set(FILES)
    assert [] == [file for file in FILES if not is_same(made()[file], load(file))]


def test_sources_name_every_file() -> None:
    """Source, version, sha256 and licence of every schema are recorded, and the sha256 are right."""
    record = yaml.load((KINDS / "sources.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    recorded = record["files"]
    actual = {
        file: hashlib.sha256((KINDS / file).read_bytes()).hexdigest() for file in (*FILES, DEFINITIONS_FILE)
    }
    assert actual == {entry["file"]: entry["sha256"] for entry in (*recorded, record["definitions"])}
    keys = {"file", "project", "version", "from", "licence", "from_sha256", "sha256"}
    assert [keys] * len(recorded) == [set(entry) for entry in recorded]


def test_repository_does_not_grow_much() -> None:
    """All vendored schemas and their sources stay below four million bytes."""
    size = sum(path.stat().st_size for path in SCHEMAS.rglob("*") if path.is_file())
    assert size < 4_000_000


@pytest.mark.ci
@pytest.mark.slow  # together they take seconds
@pytest.mark.untraced
@pytest.mark.parametrize("file", FILES)
def test_schema_compiles_in_python_and_rust(file: str) -> None:
    """Both libraries take the schema, and each pattern is one that Python compiles."""
    schema = load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema_rs.Draft7Validator(schema)
    patterns = [part["pattern"] for part in _subschemas(schema) if isinstance(part.get("pattern"), str)]
    assert [pattern for pattern in patterns if re.search(r"\(\?[^:]", pattern)] == []
    for pattern in patterns:
        re.compile(pattern)


@pytest.mark.workflow
@pytest.mark.tools
def test_schemas_compile_in_kubeconform() -> None:
    """Kubeconform finds and compiles every schema: the barest object of each kind gets a verdict.

    One that did not compile would count as an error, which `ask` does not let pass.
    """
    objects = [
        {
            "apiVersion": load(file)["properties"]["apiVersion"]["const"],
            "kind": load(file)["properties"]["kind"]["const"],
            "metadata": {"name": "a"},
        }
        for file in FILES
    ]
    answers = kubeconform().ask(objects)
    assert len(FILES) == len(answers)
    accepted = [file for file, answer in zip(FILES, answers, strict=True) if answer is None]
    assert "v1/pod_v1.json" in accepted
    assert "batch/cronjob_v1.json" not in accepted


@pytest.mark.parametrize("file", FILES)
def test_objects_are_closed_and_references_lead_somewhere(file: str) -> None:
    """The root is closed, so is metadata where there is any, and each `$ref` has a definition."""
    schema = load(file)
    assert schema["additionalProperties"] is False
    metadata = schema["properties"].get("metadata", {"additionalProperties": False})
    assert ("metadata" not in schema["properties"]) == file.startswith("config.")
    if "$ref" in metadata:
        metadata = schema["definitions"][metadata["$ref"].rpartition("/")[2]]
    assert metadata["additionalProperties"] is False
    references = {part["$ref"] for part in _subschemas(schema) if isinstance(part.get("$ref"), str)}
    assert references <= {f"#/definitions/{name}" for name in schema.get("definitions", {})}


def test_v1beta1_of_kueue_is_deprecated() -> None:
    """Every v1beta1 kind of Kueue carries a warning, no v1beta2 kind does."""
    kueue = (file for file in FILES if file.startswith("kueue.x-k8s.io/"))
    deprecated = {file for file in kueue if load(file)["x-slicewright"].get("deprecated")}
    assert {f"kueue.x-k8s.io/{kind.lower()}_v1beta1.json" for kind in KUEUE} == deprecated


@pytest.mark.ci
@pytest.mark.parametrize(
    ("file", "way"),
    [
        ("ray.io/raycluster_v1", "headGroupSpec/replicas"),
        ("ray.io/raycluster_v1alpha1", "headGroupSpec/replicas"),
        ("ray.io/rayjob_v1alpha1", "runtimeEnv"),
        ("ray.io/rayservice_v1alpha1", "serveConfig"),
        ("ray.io/rayservice_v1", "rayClusterConfig/headGroupSpec/replicas"),
        ("trainer.kubeflow.org/trainjob_v1alpha1", "podTemplateOverrides"),
        ("trainer.kubeflow.org/trainjob_v1alpha1", "podSpecOverrides"),
        ("trainer.kubeflow.org/trainjob_v1alpha1", "labels"),
        ("trainer.kubeflow.org/clustertrainingruntime_v1alpha1", "mlPolicy/torch/elasticPolicy"),
        ("trainer.kubeflow.org/trainingruntime_v1alpha1", "mlPolicy/torch/numProcPerNode"),
    ],
)
def test_fields_of_other_releases_are_known(file: str, way: str) -> None:
    """A project takes fields out of a version of its API."""
    part = schema = load(f"{file}.json")
    for key in ("spec", *way.split("/")):
        while "$ref" in part:
            part = schema["definitions"][part["$ref"].rpartition("/")[2]]
        part = part["items"] if key == "*" else part["properties"][key]
    assert part
