"""Objects without a schema: a mistake is an error, a kind that may be that of a CRD a note."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import run, write
from tests.schema.kit import FILES

from slicewright.check.engine import Engine
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.check.kind_schemas import BadSchemaError, KindSchemas
from slicewright.kubernetes.kinds import schema_file
from slicewright.kubernetes.problem import Problem
from slicewright.objects import Resource
from slicewright.rendering.io import package_data as package


def said(api_version: str, kind: str, schemas: KindSchemas | None = None) -> list[Problem]:
    """Return what is said of an object where no schema is required."""
    engine = Engine(schemas or kind_schemas(), removed=package.removed, requires_schemas=False)
    resource = Resource({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}, "a.yaml")
    return [*engine.object_problems(resource, engine.verdict(resource)), *engine.without_schema([resource])]


@pytest.mark.parametrize(
    ("api_version", "kind", "message", "hint"),
    [
        (
            "autoscaling/v2beta2",
            "HorizontalPodAutoscaler",
            "Kubernetes 1.26",
            "write apiVersion: autoscaling/v2",
        ),
        ("apps/v1beta1", "Deployment", "Kubernetes 1.16", "write apiVersion: apps/v1"),
        ("extensions/v1beta1", "Ingress", "Kubernetes 1.22", "write apiVersion: networking.k8s.io/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "Kubernetes 1.25", "write apiVersion: policy/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "Kubernetes 1.25", "remove the object"),
        ("batch/v1beta1", "CronJob", "Kubernetes 1.25", "write apiVersion: batch/v1"),
        ("kueue.x-k8s.io/v1alpha1", "Topology", "Kueue 0.14", "write apiVersion: kueue.x-k8s.io/v1beta2"),
        ("jobset.x-k8s.io/v1alpha1", "JobSet", "JobSet 0.2", "write apiVersion: jobset.x-k8s.io/v1alpha2"),
    ],
)
def test_a_removed_api_is_told_with_its_version_and_its_successor(
    api_version: str, kind: str, message: str, hint: str
) -> None:
    """No cluster takes the object, whatever CRDs it has."""
    (problem,) = said(api_version, kind)
    assert ("SCHEMA020", "error", ("apiVersion",)) == (problem.id, problem.severity, problem.path)
    assert f"{api_version} {kind} was removed in {message}" == problem.message
    assert hint == problem.hint


def test_no_removed_api_has_a_schema_and_every_successor_that_is_ours_has_one() -> None:
    """The list and the schemas say the same of what a version serves."""
    removed = package.removed()
    groups = {file.partition("/")[0] for file in FILES}
    assert [] == [api for api, kind in removed if kind and schema_file(api, kind) in FILES]
    missing = [
        (api.successor, kind)
        for (_, kind), api in removed.items()
        if kind and api.successor and schema_file(api.successor, kind) not in FILES
    ]
    assert [("certificates.k8s.io/v1", "CertificateSigningRequest")] == missing
    assert {"apps", "autoscaling", "batch"} <= groups


def test_a_version_of_another_kubernetes_is_a_note() -> None:
    """The schemas are of one release; another one serves other versions of young kinds."""
    (problem,) = said("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy")
    assert ("SCHEMA001", "note") == (problem.id, problem.severity)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("argoproj.io/v1alpha1", "Workflow"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("inference.networking.k8s.io/v1", "InferencePool"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("networking.gke.io/v1", "HealthCheckPolicy"),
        ("workload.codeflare.dev/v1beta2", "AppWrapper"),
        ("cert-manager.io/v1", "Certificate"),
        ("serving.knative.dev/v1", "Service"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("v1", "Config"),
        ("monitoring.googleapis.com/v1", "ClusterNodeMonitoring"),  # beside ClusterPodMonitoring
    ],
)
def test_what_may_be_a_kind_of_a_crd_is_a_note(api_version: str, kind: str) -> None:
    """Nobody here knows it, so nothing can be said against it."""
    (problem,) = said(api_version, kind)
    assert ("SCHEMA001", "note") == (problem.id, problem.severity)
    assert f"no schema for {api_version} {kind}: 1 object is checked by no schema" == problem.message


def test_a_broken_schema_names_no_kind() -> None:
    """A file that cannot be read has no kind that could have been meant."""

    def read(file: str) -> Any:
        if file.endswith("thing_v1.json"):
            raise BadSchemaError(file)

    (problem,) = said("a.io/v1", "Thimg", KindSchemas(read, lambda: ["a.io/thing_v1.json"]))
    assert "note" == problem.severity


OTHERS = yaml.safe_dump_all(
    [
        {"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": name}}
        for name in ("a", "b", "c")
    ]
)


def test_one_note_counts_the_objects_of_a_kind(tmp_path: Path) -> None:
    """A folder of anybody passes; `--strict` does not change that, `--require-schemas` does."""
    write(tmp_path, {"a.yaml": OTHERS})
    done = run(tmp_path, "a.yaml", "--strict", "-o", "json")
    assert ["no schema for example.test/v1 Thing: 3 objects are checked by no schema"] == [
        problem["message"] for problem in done.json["problems"]
    ]
    assert 0 == done.code
    required = run(tmp_path, "a.yaml", "--require-schemas", "-o", "json")
    assert (["SCHEMA001"] * 3, 1) == (required.ids, required.code)


@pytest.mark.parametrize("text", ["*.example.test", "Thin?", "example.test/*/Thing"])
def test_a_pattern_names_kinds_to_skip(tmp_path: Path, text: str) -> None:
    """`--skip-kind '*.group'` lets all kinds of a group pass."""
    write(tmp_path, {"a.yaml": OTHERS})
    done = run(tmp_path, "a.yaml", "--skip-kind", text, "-o", "json")
    assert ([], 3) == (done.ids, done.json["summary"]["skipped"]["Thing"])
