"""A repository is not a cluster: references and quotas are judged within a build, or within a folder."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.check.kit import run, write
from tests.check.test_kustomize import COMPONENT

from slicewright.core.check.model import ObjectSet, Resource
from slicewright.workspace import kustomize
from slicewright.workspace.package import catalogue

if TYPE_CHECKING:
    from pathlib import Path

Tree = dict[str, str]
_ASKED = "REF,FIT,TPU116,JS107,KQ156,MK107,TRAIN,TPU133"


def _object(version: str, kind: str, name: str, spec: str, namespace: str = "", more: str = "") -> str:
    place = f", namespace: {namespace}" if namespace else ""
    metadata = f"{{name: {name}{place}{more}}}"
    return f"{{apiVersion: {version}, kind: {kind}, metadata: {metadata}, spec: {spec}}}\n---\n"


def local(name: str = "tpus", target: str = "all", namespace: str = "") -> str:
    """Return a LocalQueue."""
    return _object("kueue.x-k8s.io/v1beta2", "LocalQueue", name, f"{{clusterQueue: {target}}}", namespace)


def queue(cpu: str = "8", name: str = "all", flavor: str = "nodes", cohort: str = "") -> str:
    """Return a ClusterQueue with so many cpu."""
    quota = f"flavors: [{{name: {flavor}, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]"
    above = f", cohortName: {cohort}" if cohort else ""
    spec = f"{{resourceGroups: [{{coveredResources: [cpu], {quota}}}]{above}}}"
    return _object("kueue.x-k8s.io/v1beta2", "ClusterQueue", name, spec)


def flavor(labels: str = "{}", name: str = "nodes") -> str:
    """Return a ResourceFlavor."""
    return _object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", name, f"{{nodeLabels: {labels}}}")


def job(cpu: str = "4", to: str = "tpus", namespace: str = "", pod: str = "", device: str = "") -> str:
    """Return a Job in a queue that asks for so many cpu, and for a device."""
    limits = f", limits: {{{device}: 1}}" if device else ""
    container = f"{{name: main, image: a:1, resources: {{requests: {{cpu: {cpu}}}{limits}}}}}"
    spec = f"{{template: {{spec: {{restartPolicy: Never, containers: [{container}]{pod}}}}}}}"
    label = f', labels: {{kueue.x-k8s.io/queue-name: "{to}"}}'
    return _object("batch/v1", "Job", "train", spec, namespace, label)


def jobset(name: str) -> str:
    """Return a JobSet with the subdomain `m`."""
    pods = "{spec: {restartPolicy: Never, containers: [{name: a, image: a:1}]}}"
    jobs = f"[{{name: a, template: {{spec: {{template: {pods}}}}}}}]"
    spec = f"{{network: {{subdomain: m}}, replicatedJobs: {jobs}}}"
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", name, spec)


def slice_of(service: str, *, name: str = "tpu") -> str:
    """Return a Job of four hosts whose pods are below a Service."""
    select = (
        "{cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice, cloud.google.com/gke-tpu-topology: 4x4}"
    )
    container = "{name: main, image: a:1, resources: {limits: {google.com/tpu: 4}}}"
    pods = (
        f"{{restartPolicy: Never, subdomain: {service}, nodeSelector: {select}, containers: [{container}]}}"
    )
    spec = f"{{completionMode: Indexed, completions: 4, parallelism: 4, template: {{spec: {pods}}}}}"
    return _object("batch/v1", "Job", name, spec)


def service(of: str, name: str = "svc") -> str:
    """Return the headless Service of a Job."""
    return _object("v1", "Service", name, f"{{clusterIP: None, selector: {{job-name: {of}}}}}")


def _selecting(namespace: str) -> str:
    spec = f"{{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}"
    return _object("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", spec)


def _cohort(name: str, above: str) -> str:
    return _object("kueue.x-k8s.io/v1beta2", "Cohort", name, f"{{parentName: {above}}}")


def _topology(level: str) -> str:
    return _object("kueue.x-k8s.io/v1beta2", "Topology", level, f"{{levels: [{{nodeLabel: {level}}}]}}")


def _placed(level: str) -> str:
    note = f"metadata: {{annotations: {{kueue.x-k8s.io/podset-required-topology: {level}}}}}"
    pods = "spec: {restartPolicy: Never, containers: [{name: a, image: a:1}]}"
    return _object("batch/v1", "Job", "placed", f"{{template: {{{note}, {pods}}}}}")


def _keyed(key: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{{key}: a}}}}\n"


def _namespace(level: str, name: str = "a") -> str:
    label = f"labels: {{pod-security.kubernetes.io/enforce: {level}}}"
    return f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, {label}}}}}\n"


def reads(kind: str, name: str, namespace: str = "", *, key: str = "") -> str:
    """Return a Pod that takes its environment, or one key of it, from a ConfigMap or a Secret."""
    field = {"ConfigMap": "configMapRef", "Secret": "secretRef"}[kind]
    source = f'envFrom: [{{{field}: {{name: "{name}"}}}}]'
    if key:
        source = f"env: [{{name: A, valueFrom: {{configMapKeyRef: {{name: {name}, key: {key}}}}}}}]"
    container = f"{{name: a, image: a:1, {source}}}"
    return _object("v1", "Pod", "reader", f"{{containers: [{container}]}}", namespace)


def holder(kind: str, name: str, namespace: str = "") -> str:
    """Return a ConfigMap or a Secret."""
    place = f", namespace: {namespace}" if namespace else ""
    return f"{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}{place}}}}}\n---\n"


TREES: list[tuple[str, Tree, list[str]]] = [
    # Queues of the same file and the same folder.
    ("a queue that the file lacks is an error", {"a.yaml": local("gpus") + job()}, ["a.yaml REF101"]),
    (
        "a queue that the folder lacks is an error",
        {"a/q.yaml": local("gpus"), "a/j.yaml": job()},
        ["a/j.yaml REF101"],
    ),
    ("where a folder has no queue, nobody knows", {"a/j.yaml": job(), "b/q.yaml": local("gpus")}, []),
    (
        "a queue of the name elsewhere may be meant",
        {"a.yaml": local("gpus") + job(), "b/q.yaml": local()},
        [],
    ),
    ("too much for the queue of the file", {"a.yaml": local() + queue() + job("9")}, ["a.yaml FIT101"]),
    (
        "too much for the queue of the folder",
        {"q.yaml": local() + queue(), "j.yaml": job("9")},
        ["j.yaml FIT101"],
    ),
    ("the queue of a folder above is not judged", {"q.yaml": local() + queue(), "a/j.yaml": job("9")}, []),
    ("the queue of a folder beside is not judged", {"b/q.yaml": local() + queue(), "a/j.yaml": job("9")}, []),
    # Candidates.
    (
        "one of two queues is large enough",
        {"a.yaml": local() + queue("2"), "b.yaml": local() + queue("20"), "j.yaml": job("9")},
        [],
    ),
    (
        "none of two queues is large enough",
        {"a.yaml": local() + queue("2"), "b.yaml": local() + queue("3"), "j.yaml": job("9")},
        ["j.yaml FIT101"],
    ),
    (
        "the queue of the same file hides another one",
        {"a.yaml": local() + queue("2") + job("9"), "b.yaml": local() + queue("20")},
        ["a.yaml FIT101"],
    ),
    (
        "of two queues one is not in the folder",
        {
            "a.yaml": local() + queue("2"),
            "b.yaml": local(target="far"),
            "j.yaml": job("9"),
            "z/f.yaml": queue(name="far"),
        },
        [],
    ),
    (
        "a queue is seen with the flavor of its file",
        {
            "a.yaml": local() + queue() + flavor("{kind: a}"),
            "b.yaml": local() + queue() + flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: b}"),
        },
        [],
    ),
    (
        "no flavor of either file suits",
        {
            "a.yaml": local() + queue() + flavor("{kind: a}"),
            "b.yaml": local() + queue() + flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: c}"),
        },
        ["j.yaml FIT102"],
    ),
    (
        "a flavor with two contents is unknown",
        {
            "a.yaml": local() + queue(),
            "b.yaml": flavor("{kind: a}"),
            "c.yaml": flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: c}"),
        },
        [],
    ),
    (
        "a cohort may lend from another folder",
        {"a.yaml": local() + queue(cohort="c") + job("9"), "z/b.yaml": queue("20", "lender", cohort="c")},
        [],
    ),
    (
        "a cohort whose members are all in the folder is complete",
        {"a/a.yaml": local() + queue(cohort="c") + job("9"), "b/a.yaml": local() + queue(cohort="c")},
        ["a/a.yaml FIT101"],
    ),
    # Namespaces.
    (
        "a queue of another namespace",
        {"a.yaml": local(namespace="a") + job(namespace="b")},
        ["a.yaml REF101"],
    ),
    (
        "a job without a namespace may go to that of the queue",
        {"a.yaml": local(namespace="a") + job()},
        ["a.yaml REF132"],
    ),
    ("a queue without a namespace is in default", {"a.yaml": local() + job(namespace="default")}, []),
    (
        "a queue of an unknown namespace in another file is not judged",
        {"q.yaml": local(namespace="a") + queue("2"), "j.yaml": job("9")},
        ["j.yaml REF132"],
    ),
    (
        "the sample of another namespace is not meant",
        {"a/q.yaml": local(namespace="a"), "a/j.yaml": job(), "b/q.yaml": local(namespace="default")},
        [],
    ),
    # Placeholders.
    ("a pattern fits", {"q.yaml": local('"tpus-${TOPOLOGY}"'), "j.yaml": job(to="tpus-2x2x1")}, []),
    (
        "a pattern does not fit",
        {"q.yaml": local('"tpus-${TOPOLOGY}"'), "j.yaml": job(to="gpus")},
        ["j.yaml REF101"],
    ),
    ("a name to be filled in may be any", {"a.yaml": local("gpus") + job(to="$QUEUE")}, []),
    ("a namespace to be filled in", {"a.yaml": local(namespace="a") + job(namespace='"<team>"')}, []),
    ("quota to be filled in", {"a.yaml": local() + queue('"${CPU}"') + job("9")}, []),
    (
        "selectors to be filled in",
        {"a.yaml": local() + queue() + flavor("{kind: a}") + job(pod=', nodeSelector: {kind: "${KIND}"}')},
        [],
    ),
    # Kueue's objects among themselves.
    ("a flavor that the folder lacks", {"a.yaml": queue() + flavor(name="other")}, ["a.yaml REF103"]),
    (
        "a flavor that another folder has",
        {"a.yaml": queue() + flavor(name="other"), "b/f.yaml": flavor()},
        [],
    ),
    (
        "one of two queues selects the namespace",
        {
            "l.yaml": local(namespace="a"),
            "q.yaml": _selecting("b"),
            "r.yaml": _selecting("a"),
        },
        [],
    ),
    (
        "no queue selects the namespace",
        {"l.yaml": local(namespace="a"), "q.yaml": _selecting("b"), "r.yaml": _selecting("c")},
        ["l.yaml REF110"],
    ),
    ("a LocalQueue without a namespace", {"a.yaml": local() + _selecting("b")}, []),
    (
        "Kueue's configuration may map devices",
        {"a.yaml": local() + queue() + job(device="example.com/gpu")},
        [],
    ),
    (
        "chips that the queue does not cover",
        {"a.yaml": local() + queue() + job(device="google.com/tpu")},
        ["a.yaml FIT103"],
    ),
    (
        "Kueue's configuration of another folder counts",
        {
            "a/a.yaml": local() + queue() + job(device="google.com/tpu"),
            "k/c.yaml": "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration,\n"
            " resources: {excludeResourcePrefixes: [google.com/tpu]}}\n",
        },
        [],
    ),
    # Services.
    (
        "the Service of the same file",
        {"a.yaml": slice_of("svc") + service("tpu"), "b.yaml": service("other")},
        [],
    ),
    ("a Service for other pods", {"a.yaml": slice_of("svc") + service("other")}, ["a.yaml TPU116"]),
    (
        "one of two Services",
        {"a.yaml": slice_of("svc"), "b.yaml": service("x"), "c.yaml": service("tpu")},
        [],
    ),
    ("a Service that is missing", {"a.yaml": slice_of("svc") + service("tpu", "scv")}, ["a.yaml TPU116"]),
    (
        "a Service beyond the folder",
        {"a.yaml": slice_of("svc") + service("tpu", "scv"), "b/a.yaml": service("x")},
        [],
    ),
    (
        "the level of a Topology in another folder",
        {"a.yaml": _topology("rack") + _placed("block"), "b/b.yaml": _topology("block")},
        [],
    ),
    ("a level of no Topology", {"a.yaml": _topology("rack") + _placed("block")}, ["a.yaml KQ156"]),
    # Two of one name.
    ("two JobSets of one file", {"a.yaml": jobset("a") + jobset("b")}, ["a.yaml JS107"]),
    ("alternatives in one folder", {"a.yaml": jobset("a"), "b.yaml": jobset("b")}, []),
    (
        "cohorts of two files are no cycle",
        {"a.yaml": _cohort("a", "b"), "b.yaml": _cohort("b", "a") + _cohort("a", "c")},
        [],
    ),
    (
        "cohorts of one file",
        {"a.yaml": _cohort("a", "b") + _cohort("b", "a")},
        ["a.yaml FIT107", "a.yaml FIT107"],
    ),
    # ConfigMaps and Secrets.
    (
        "one of two ConfigMaps has the key",
        {"a.yaml": reads("ConfigMap", "c", key="one"), "b.yaml": _keyed("one"), "c.yaml": _keyed("two")},
        [],
    ),
    (
        "two ConfigMaps lack two keys",
        {
            "a.yaml": reads("ConfigMap", "c", key="one") + reads("ConfigMap", "c", key="two"),
            "b.yaml": _keyed("one"),
            "c.yaml": _keyed("two"),
        },
        [],
    ),
    (
        "no ConfigMap has the key",
        {"a.yaml": reads("ConfigMap", "c", key="one"), "b.yaml": _keyed("three"), "c.yaml": _keyed("two")},
        ["a.yaml REF160"],
    ),
    (
        "namespaces of two files disagree about Pod Security",
        {
            "a.yaml": reads("ConfigMap", "c", "a"),
            "b.yaml": _namespace("restricted"),
            "c.yaml": _namespace("baseline"),
        },
        [],
    ),
    (
        "the namespace of the folder enforces Pod Security",
        {"a.yaml": reads("ConfigMap", "c", "a"), "b.yaml": _namespace("restricted")},
        ["a.yaml TPU133"],
    ),
    (
        "a Pod without a namespace goes anywhere",
        {"a.yaml": reads("ConfigMap", "c"), "b.yaml": _namespace("restricted", "default")},
        [],
    ),
    (
        "a ConfigMap that the file lacks",
        {"a.yaml": reads("ConfigMap", "settings") + holder("ConfigMap", "other")},
        ["a.yaml REF121"],
    ),
    (
        "a misspelt ConfigMap of another file",
        {"a.yaml": reads("ConfigMap", "setings"), "b.yaml": holder("ConfigMap", "settings")},
        ["a.yaml REF121"],
    ),
    (
        "another file has another ConfigMap",
        {"a.yaml": reads("ConfigMap", "settings"), "b.yaml": holder("ConfigMap", "other")},
        [],
    ),
    (
        "another file has a Secret with a similar name",
        {"a.yaml": reads("Secret", "hf-tokn"), "b.yaml": holder("Secret", "hf-token")},
        [],
    ),
    ("what Istio makes", {"a.yaml": reads("ConfigMap", "istio-ca-root-cert") + holder("ConfigMap", "a")}, []),
    (
        "a name in capitals is a placeholder",
        {"a.yaml": reads("ConfigMap", "MY-MAP") + holder("ConfigMap", "a")},
        [],
    ),
    (
        "ConfigMaps of other folders",
        {"a/a.yaml": reads("ConfigMap", "a"), "b/b.yaml": holder("ConfigMap", "b")},
        [],
    ),
    ("a Secret that nobody commits", {"a.yaml": reads("Secret", "hf-token") + holder("Secret", "other")}, []),
    (
        "a misspelt Secret",
        {"a.yaml": reads("Secret", "hf-tokn") + holder("Secret", "hf-token")},
        ["a.yaml REF122"],
    ),
    (
        "a Secret of a Certificate",
        {
            "a.yaml": reads("Secret", "cert-1")
            + holder("Secret", "cert-2")
            + _object("cert-manager.io/v1", "Certificate", "c", "{secretName: cert-1}")
        },
        [],
    ),
    (
        "a misspelt Secret of another namespace",
        {"a.yaml": reads("Secret", "a", "b") + holder("Secret", "ab", "c")},
        [],
    ),
]
BUILT: list[tuple[str, Tree, list[str]]] = [
    (
        "two builds of one base are two scopes",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job("9"),
            "small/kustomization.yaml": "resources: [../base, q.yaml]\n",
            "small/q.yaml": local() + queue("2"),
            "large/kustomization.yaml": "resources: [../base, q.yaml]\n",
            "large/q.yaml": local() + queue("20"),
        },
        ["small FIT101"],
    ),
    (
        "an overlay sets the namespace of base and queue",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job(namespace="base"),
            "dev/kustomization.yaml": "namespace: dev\nresources: [../base, q.yaml]\n",
            "dev/q.yaml": local(namespace="other"),
        },
        [],
    ),
    (
        "a component brings the queue, and a prefix its name",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job(),
            "part/kustomization.yaml": COMPONENT + "resources: [q.yaml]\n",
            "part/q.yaml": local("gpus"),
            "dev/kustomization.yaml": "resources: [../base]\ncomponents: [../part]\nnamePrefix: a-\n",
        },
        ["dev REF101"],
    ),
    (
        "a patch changes the queue that a job names",
        {
            "dev/kustomization.yaml": "resources: [j.yaml, q.yaml]\n"
            "patches: [{path: p.yaml, target: {kind: Job}}]\n",
            "dev/j.yaml": job(),
            "dev/q.yaml": local("gpus"),
            "dev/p.yaml": "- {op: replace, path: /metadata/labels/kueue.x-k8s.io~1queue-name, value: gpus}\n",
        },
        [],
    ),
]


def _findings(folder: Path, *arguments: str, stdin: str = "") -> list[str]:
    done = run(folder, *arguments, "-o", "json", "--only", _ASKED, stdin=stdin)
    return sorted(f"{problem['file']} {problem['id']}" for problem in done.json["problems"])


@pytest.mark.parametrize(
    ("says", "tree", "expected"), [*TREES, *BUILT], ids=[row[0] for row in (*TREES, *BUILT)]
)
def test_tree_has_these_findings(tmp_path: Path, says: str, tree: Tree, expected: list[str]) -> None:
    """What a build, a file or a folder shows to be wrong is reported, and nothing else."""
    write(tmp_path, tree)

    assert expected == _findings(tmp_path, "."), says


@pytest.mark.parametrize(("account", "expected"), [("a", []), ("b", ["REF131"])])
def test_subject_gets_the_namespace_of_a_build(tmp_path: Path, account: str, expected: list[str]) -> None:
    """Who gives a build its namespace gives it to the subject of its account too."""
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
        "subjects: [{kind: ServiceAccount, name: a}]\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: b}\n"
        f"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {account}}}\n"
    )
    write(tmp_path, {"a/kustomization.yaml": "resources: [rbac.yaml]\n", "a/rbac.yaml": binding})
    write(tmp_path, {"b/rbac.yaml": binding})

    assert expected == run(tmp_path, "a", "-o", "json", "--only", "REF131").ids
    assert ["REF131"] == run(tmp_path, "b", "-o", "json", "--only", "REF131").ids


def test_default_queues_of_a_platform_are_not_missed(tmp_path: Path) -> None:
    """OpenShift AI makes a LocalQueue and a ClusterQueue `default`; other names are missed."""
    write(tmp_path, {"a.yaml": flavor() + queue() + local("mine", "default") + job(to="default")})
    write(tmp_path, {"b/b.yaml": flavor() + queue() + local("mine", "defaults") + job(to="defaults")})
    found = run(tmp_path, ".", "-o", "json", "--only", "REF101,REF102").json["problems"]

    assert [("b/b.yaml", "REF101"), ("b/b.yaml", "REF102")] == sorted(
        (one["file"], one["id"]) for one in found
    )


@pytest.mark.tools
@pytest.mark.parametrize(("says", "tree", "expected"), BUILT, ids=[row[0] for row in BUILT])
def test_scope_of_a_build_is_what_kustomize_builds(
    tmp_path: Path, says: str, tree: Tree, expected: list[str]
) -> None:
    """The output of kustomize, read from a pipe, has the findings that its folder has."""
    write(tmp_path, tree)
    found = []
    for folder in sorted(path.parent.name for path in tmp_path.glob("*/q.yaml")):
        target = "dev" if folder == "part" else folder
        built = subprocess.run(
            [str(kustomize.binary()), "build", str(tmp_path / target)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found += [line.replace("stdin", target) for line in _findings(tmp_path, "-", stdin=built)]

    assert expected == found, says


def test_one_cluster_takes_all_paths_together(tmp_path: Path) -> None:
    """With --one-cluster a queue in a folder beside is judged, and what has no namespace is in default."""
    write(tmp_path, {"q/q.yaml": local() + queue(), "j/j.yaml": job("9"), "k/k.yaml": job(namespace="a")})

    assert ["j/j.yaml FIT101", "k/k.yaml REF101"] == _findings(tmp_path, ".", "--one-cluster")
    assert [] == _findings(tmp_path, ".")


def test_files_that_are_named_have_the_scope_of_their_folder(tmp_path: Path) -> None:
    """A hook that names changed files judges them as the folder is judged."""
    write(tmp_path, {"a/q.yaml": local("gpus"), "a/j.yaml": job(), "b/j.yaml": job()})

    assert ["a/j.yaml REF101"] == _findings(tmp_path, "a/j.yaml", "b/j.yaml", "a/q.yaml")


def test_rules_of_other_packages_find_an_object_of_a_scope() -> None:
    """`find` returns one object of a scope, of any namespace where none is written."""
    queues = [
        Resource({"kind": "LocalQueue", "metadata": {"name": "a", "namespace": place}}, "") for place in "xy"
    ]
    scope = ObjectSet(queues, catalogue(), is_cluster=False)

    assert [queues[0], queues[1], None] == [scope.find("LocalQueue", "a", place) for place in ("", "y", "z")]
