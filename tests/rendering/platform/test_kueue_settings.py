"""`kueue` of a TPUCluster is checked against Kueue's own Configuration before anything is written."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import run, write

from slicewright.intent.validate import Schemas
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find
from slicewright.rendering.platform.kueue_configuration import SCHEMA, configuration, validate_configuration

from .kit import POOLS, cluster, site

TEXT = (Path(__file__).resolve().parents[3] / "schemas" / SCHEMA).read_text(encoding="utf-8")
SCHEMAS = Schemas({SCHEMA: json.loads(TEXT)})
_INTEGRATIONS = json.loads(TEXT)["properties"]["integrations"]["properties"]
FRAMEWORKS = _INTEGRATIONS["frameworks"]["items"]["enum"]
FINE = (
    "{waitForPodsReady: {timeout: 1h}, integrations: {frameworks: [pod]}, "
    "featureGates: {TopologyAwareScheduling: true}}"
)
REFUSED = (
    "{waitForPodsReady: {timeout: 5 minutes}}",
    "{waitForPodsReady: {timeout: -5m}}",
    "{waitForPodsReady: {timeout: .}}",
    "{waitForPodsReady: {timeout: null}}",
    "{waitForPodsReady: {requeuingStrategy: {timestamp: Nonsense}}}",
    "{waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}}",
    "{multiKueue: {gcInterval: soon}}",
    "{multiKueue: {externalFrameworks: [{name: a.b}]}}",
    "{integrations: {frameworks: [batch/jb]}}",
    "{integrations: {frameworks: [pod, pod]}}",
    "{integrations: {externalFrameworks: [a]}}",
    "{fairSharing: {preemptionStrategies: [Foo]}}",
    "{fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}}",
    "{fairSharing: {preemptionStrategies: []}}",
    "{fairSharing: {preemptionStrategies: null}}",
    "{admissionFairSharing: {usageHalfLifeTime: a day}}",
    "{admissionFairSharing: {resourceWeights: {cpu: -1}}}",
    "{resources: {quotaCheckStrategy: Foo}}",
    "{resources: {transformations: [{input: a, strategy: Foo}]}}",
    "{managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Foo}]}}",
    "{metrics: {customLabels: [{name: 1a}]}}",
    "{metrics: {customLabels: [{name: a, sourceKind: Foo}]}}",
    "{tls: {minVersion: VersionTLS11}}",
    "{visibilityServer: {bindPort: 0}}",
    "{objectRetentionPolicies: {workloads: {afterFinished: -1s}}}",
)
"""What Kueue reads or checks value by value, and does not start with."""
ACCEPTED = (
    "{waitForPodsReady: {timeout: 1.5h, recoveryTimeout: '0', requeuingStrategy: {timestamp: Creation}}}",
    "{waitForPodsReady: {timeout: 1h2m3.5s, recoveryTimeout: null}}",
    "{multiKueue: {gcInterval: .5m, externalFrameworks: [{name: A.v1.example.com}]}}",
    "{fairSharing: {}}",
    "{fairSharing: {preemptionStrategies: [LessThanInitialShare]}}",
    "{integrations: {frameworks: []}}",
    f"{{integrations: {{frameworks: [{', '.join(FRAMEWORKS)}]}}}}",
    "{admissionFairSharing: {usageHalfLifeTime: 0s, resourceWeights: {cpu: 0.5}}}",
    "{tls: {minVersion: VersionTLS13}}",
)


def against(kueue: str, release: str = "v0.19.2") -> list[tuple[str, str, str, str]]:
    """Return (severity, path, message, hint) of what stands against a block."""
    spec = yaml.safe_load(f"versions: {{kueue: {release}}}\nkueue: {kueue}")
    found = validate_configuration(spec, SCHEMAS)
    return [(one.severity, one.dotted(), one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("kueue", "path", "message", "hint"),
    [
        (
            "{waitForPodReady: {timeout: 1h}}",
            "spec.kueue.waitForPodReady",
            "unknown key 'waitForPodReady'",
            "did you mean 'waitForPodsReady'?",
        ),
        (
            "{waitForPodsReady: {requeuingStrategy: {backoffBaseSecond: 1}}}",
            "spec.kueue.waitForPodsReady.requeuingStrategy.backoffBaseSecond",
            "unknown key 'backoffBaseSecond'",
            "did you mean 'backoffBaseSeconds'?",
        ),
        (
            "{integrations: {frameworks: pod}}",
            "spec.kueue.integrations.frameworks",
            "'frameworks' must be a list or null, not a string (pod)",
            "write a list: [pod]",
        ),
        (
            "{integrations: {frameworks: [batch/jb]}}",
            "spec.kueue.integrations.frameworks[0]",
            "'frameworks[0]' cannot be 'batch/jb'",
            "did you mean 'batch/job'?",
        ),
        (
            "{waitForPodsReady: {timeout: 5 minutes}}",
            "spec.kueue.waitForPodsReady.timeout",
            "'timeout' cannot be '5 minutes'",
            "write a duration, for example 90s, 10m or 1h30m",
        ),
    ],
)
def test_what_kueue_would_not_start_with(kueue: str, path: str, message: str, hint: str) -> None:
    """A field that Kueue does not know or cannot read is refused, with the nearest name."""
    assert against(kueue) == [("error", path, message, hint)]


@pytest.mark.parametrize(
    ("kueue", "release", "severities"),
    [
        (FINE, "v0.19.2", []),
        ("{}", "v0.19.2", []),
        ("{a: 1}", "v0.19.7", ["error"]),
        ("{a: 1}", "v0.20.0", ["warning"]),
        ("{a: 1}", "v0.15.0", ["warning"]),
        ("{a: 1}", "v0.14.4", []),
        ("null", "v0.19.2", []),
    ],
)
def test_verdict_is_as_sure_as_the_schema(kueue: str, release: str, severities: list[str]) -> None:
    """Another release of the version may know a field more; of an earlier version there is no schema."""
    assert [severity for severity, *_ in against(kueue, release)] == severities


def test_apiversion_and_kind_may_be_written_and_must_be_right() -> None:
    """Whoever copies a whole Configuration into the block has both in it."""
    assert against("{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration}") == []
    assert [path for _, path, *_ in against("{kind: 1}")] == ["spec.kueue.kind"]


@pytest.mark.parametrize("repository", [False, True])
def test_validate_says_it_at_its_place(tmp_path: Path, *, repository: bool) -> None:
    """`validate` of the repository, or of the file, points at the key in the TPUCluster."""
    text = cluster(f"{POOLS}\nkueue:\n  waitForPodReady: {{timeout: 1h}}\n")
    write(tmp_path, {"clusters/c1.yaml": text, "slicewright.yaml": "{}\n", "bases/README.md": ""})

    done = run(tmp_path, *([] if repository else ["clusters/c1.yaml"]), "-o", "json")

    (problem,) = (one for one in done.json["problems"] if one["path"].startswith("spec.kueue"))
    assert ("IN002", "clusters/c1.yaml", 9, 5) == (
        problem["id"],
        problem["file"],
        problem["line"],
        problem["column"],
    )
    assert problem["hint"] == "did you mean 'waitForPodsReady'?"
    assert done.code == 1


@pytest.mark.tools
@pytest.mark.parametrize(
    "kueue",
    [
        "{}",
        FINE,
        "{waitForPodReady: {timeout: 1h}}",
        "{integrations: {frameworks: pod}}",
        "{waitForPodsReady: {requeuingStrategy: {backoffLimitCount: few}}}",
        "{metrics: {enableClusterQueueResources: true, port: 1}}",
        *REFUSED,
        *ACCEPTED,
    ],
)
def test_verdict_is_that_of_kueue(tmp_path: Path, kueue: str) -> None:
    """The real manager refuses the rendered Configuration where we do, and loads it where we do not."""
    program = find("kueue")
    assert not isinstance(program, Problem)
    written: dict[str, Any] = yaml.safe_load(kueue)
    rendered = configuration(site(f"{POOLS}\nkueue: {{}}"), written)
    (tmp_path / "config.yaml").write_text(json.dumps(rendered), encoding="utf-8")

    done = subprocess.run(
        [str(program), "--config=config.yaml"],
        cwd=tmp_path,
        env={"KUBECONFIG": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    refused = bool(against(kueue))
    assert (refused, not refused) == (
        any(f"Unable to {step} the configuration" in done.stderr for step in ("load", "validate")),
        '"Initializing"' in done.stderr,
    )
