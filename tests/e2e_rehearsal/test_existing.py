"""What pods need beside them: stand-ins for what the cluster has; without the rest nothing starts."""

import pytest
from tests.conftest import Repo

from slicewright.cli.report.rehearsal_output import render_page as page
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.report.terminal import text
from slicewright.testbed.bed import Bed

from . import kit

pytestmark = pytest.mark.ci  # a minute, most of it on the clock of the rehearsal

CLUSTER = """
pools: [{name: tpus, tpu: v5litepod-8, slices: 7}]
teams: [{name: team, namespace: default, serviceAccountName: of-team}]
existing:
- {kind: Secret, namespace: default, name: "hf-*"}
- {kind: ConfigMap, namespace: "*", name: settings}
- {kind: PersistentVolumeClaim, namespace: default, name: data}
- {kind: ServiceAccount, namespace: default, name: reader}
"""
EQUIPPED = """container:
  image: python:3.12
  env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: hf-token, key: token}}}]
podTemplate:
  spec:
    serviceAccountName: reader
    imagePullSecrets: [{name: hf-pull}]
    volumes:
    - {name: settings, configMap: {name: settings, items: [{key: a.yaml, path: a.yaml}]}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
"""
OWN = """container: {image: python:3.12}
components: [custom/scratch]
podTemplate:
  spec:
    serviceAccountName: of-team
    volumes:
    - {name: scratch, persistentVolumeClaim: {claimName: scratch}}
    - {name: shared, persistentVolumeClaim: {claimName: shared}}
    - {name: maybe, secret: {secretName: nobody-has-it, optional: true}}
"""
SCRATCH = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME, namespace: default}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: standard-rwx
  resources: {requests: {storage: 10Gi}}
"""
LACKING = {
    "secret": ("Secret", "{name: v, secret: {secretName: lost}}", "lost"),
    "config": ("ConfigMap", "{name: v, configMap: {name: lost}}", "lost"),
    "claim": ("PersistentVolumeClaim", "{name: v, persistentVolumeClaim: {claimName: lost}}", "lost"),
}


@pytest.fixture(scope="module")
def report(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Play runs that have what they need, and runs that lack one thing each."""
    repo = Repo(tmp_path_factory.mktemp("existing"))
    repo.cluster(spec=CLUSTER)
    repo.write(
        "custom/scratch/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [claim.yaml]\n",
    )
    repo.write("custom/scratch/claim.yaml", SCRATCH.replace("NAME", "scratch"))
    repo.write("custom/shared.yaml", SCRATCH.replace("NAME", "shared"))
    head = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\n"
    repo.workload("equipped", head + EQUIPPED)
    repo.workload("own", head + OWN)
    for name, (_, lacking, _) in LACKING.items():
        volumes = f"podTemplate: {{spec: {{volumes: [{lacking}]}}}}\n"
        repo.workload(f"no-{name}", kit.spec(volumes))
    repo.write(
        "custom/files.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: files}, data: {a: b}}"
    )
    files = "{name: v, configMap: {name: files, items: [{key: c, path: c}]}}"
    repo.workload("no-key", kit.spec(f"podTemplate: {{spec: {{volumes: [{files}]}}}}\n"))
    repo.workload("no-account", kit.spec("podTemplate: {spec: {serviceAccountName: lost}}\n"))
    repo.run("render")
    scenario = kit.scenario(repo.root)
    return kit.rehearse(bed, scenario, clock_settings(scenario.parts, speed=20))


@pytest.mark.parametrize("name", ["equipped", "own"])
def test_run_that_has_what_it_needs_finishes(report: Report, name: str) -> None:
    """From stand-ins, from a component, from custom/, from its team; volume claims are bound."""
    assert ("finished", "") == tuple(kit.run(report.record(), name)[key] for key in ("outcome", "why"))


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, kind) for name, (kind, *_) in LACKING.items()), ("account", "ServiceAccount")]
)
def test_run_that_lacks_something_never_starts_and_says_what(report: Report, name: str, kind: str) -> None:
    """As on a kubelet, whatever its simulated one would say."""
    run = kit.run(report.record(), f"no-{name}")
    told = f"{kind} 'lost' of namespace 'default' is not in the tree"
    problems = [problem for problem in report.problems if problem.object == f"TPUWorkload default/no-{name}"]

    assert ("waiting", None, told) == (run["outcome"], run["started"], run["why"])
    assert [("REH021", f"default/no-{name} cannot start: {told}")] == [
        (problem.id, problem.message) for problem in problems
    ]
    assert "add it to the tree, or list it under existing: in clusters/c1.yaml" == problems[0].hint


def test_run_that_lacks_a_key_never_starts(report: Report) -> None:
    """The object is there, and a kubelet would not start the pods for it."""
    run = kit.run(report.record(), "no-key")

    assert ("waiting", None) == (run["outcome"], run["started"])
    assert "ConfigMap 'files' of namespace 'default' has no key 'c'" == run["why"]


def test_report_names_the_stand_ins(report: Report) -> None:
    """Only what a run needs."""
    record = report.record()
    made = "ConfigMap default/settings, PersistentVolumeClaim default/data, Secret default/hf-pull, "
    made += "Secret default/hf-token, ServiceAccount default/reader"

    assert [] == kit.wrong({"rehearsals": [record]})
    assert "failed" == record["verdict"]
    assert made == ", ".join(
        f"{need['kind']} {need['namespace']}/{need['name']}" for need in record["standIns"]
    )
    assert f"Stand-ins for what exists on the cluster: {made}." in text(report)
    assert f"Stand-ins for what exists on the cluster: {made}." in page([record])


def test_nothing_of_it_stays(bed: Bed, report: Report) -> None:
    """Neither claims nor the volumes that were made for them."""
    assert report
    for kind in ("PersistentVolume", "PersistentVolumeClaim"):
        assert [] == bed.api.list("v1", kind)
