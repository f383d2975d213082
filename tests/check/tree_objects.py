"""Objects in one line each, for trees that tests write, and what `validate` finds in such a tree."""

from pathlib import Path

from tests.check.kit import run

_ASKED = "REF,FIT,TPU116,JS107,KQ156,MK107,TRAIN,TPU133"


def an_object(version: str, kind: str, name: str, spec: str, namespace: str = "", more: str = "") -> str:
    """Return an object."""
    place = f", namespace: {namespace}" if namespace else ""
    metadata = f"{{name: {name}{place}{more}}}"
    return f"{{apiVersion: {version}, kind: {kind}, metadata: {metadata}, spec: {spec}}}\n---\n"


def local(name: str = "tpus", target: str = "all", namespace: str = "") -> str:
    """Return a LocalQueue."""
    return an_object("kueue.x-k8s.io/v1beta2", "LocalQueue", name, f"{{clusterQueue: {target}}}", namespace)


def queue(cpu: str = "8", name: str = "all", flavor: str = "nodes", cohort: str = "") -> str:
    """Return a ClusterQueue with so many cpu."""
    quota = f"flavors: [{{name: {flavor}, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]"
    above = f", cohortName: {cohort}" if cohort else ""
    spec = f"{{resourceGroups: [{{coveredResources: [cpu], {quota}}}]{above}}}"
    return an_object("kueue.x-k8s.io/v1beta2", "ClusterQueue", name, spec)


def flavor(labels: str = "{}", name: str = "nodes") -> str:
    """Return a ResourceFlavor."""
    return an_object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", name, f"{{nodeLabels: {labels}}}")


def job(cpu: str = "4", to: str = "tpus", namespace: str = "", pod: str = "", device: str = "") -> str:
    """Return a Job in a queue that asks for so many cpu, and for a device."""
    limits = f", limits: {{{device}: 1}}" if device else ""
    container = f"{{name: main, image: a:1, resources: {{requests: {{cpu: {cpu}}}{limits}}}}}"
    spec = f"{{template: {{spec: {{restartPolicy: Never, containers: [{container}]{pod}}}}}}}"
    label = f', labels: {{kueue.x-k8s.io/queue-name: "{to}"}}'
    return an_object("batch/v1", "Job", "train", spec, namespace, label)


def jobset(name: str) -> str:
    """Return a JobSet with the subdomain `m`."""
    pods = "{spec: {restartPolicy: Never, containers: [{name: a, image: a:1}]}}"
    jobs = f"[{{name: a, template: {{spec: {{template: {pods}}}}}}}]"
    spec = f"{{network: {{subdomain: m}}, replicatedJobs: {jobs}}}"
    return an_object("jobset.x-k8s.io/v1alpha2", "JobSet", name, spec)


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
    return an_object("batch/v1", "Job", name, spec)


def service(of: str, name: str = "svc") -> str:
    """Return the headless Service of a Job."""
    return an_object("v1", "Service", name, f"{{clusterIP: None, selector: {{job-name: {of}}}}}")


def selecting(namespace: str) -> str:
    """Return a ClusterQueue that takes one namespace."""
    spec = f"{{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}"
    return an_object("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", spec)


def cohort(name: str, above: str) -> str:
    """Return a Cohort below another."""
    return an_object("kueue.x-k8s.io/v1beta2", "Cohort", name, f"{{parentName: {above}}}")


def topology(level: str) -> str:
    """Return a Topology of one level."""
    return an_object("kueue.x-k8s.io/v1beta2", "Topology", level, f"{{levels: [{{nodeLabel: {level}}}]}}")


def placed(level: str) -> str:
    """Return a Job that a level holds together."""
    note = f"metadata: {{annotations: {{kueue.x-k8s.io/podset-required-topology: {level}}}}}"
    pods = "spec: {restartPolicy: Never, containers: [{name: a, image: a:1}]}"
    return an_object("batch/v1", "Job", "placed", f"{{template: {{{note}, {pods}}}}}")


def keyed(key: str) -> str:
    """Return a ConfigMap with a key."""
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{{key}: a}}}}\n"


def namespace_with(level: str, name: str = "a") -> str:
    """Return a Namespace with a level of Pod Security."""
    label = f"labels: {{pod-security.kubernetes.io/enforce: {level}}}"
    return f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, {label}}}}}\n"


def reads(kind: str, name: str, namespace: str = "", *, key: str = "") -> str:
    """Return a Pod that takes its environment, or one key of it, from a ConfigMap or a Secret."""
    field = {"ConfigMap": "configMapRef", "Secret": "secretRef"}[kind]
    source = f'envFrom: [{{{field}: {{name: "{name}"}}}}]'
    if key:
        source = f"env: [{{name: A, valueFrom: {{configMapKeyRef: {{name: {name}, key: {key}}}}}}}]"
    container = f"{{name: a, image: a:1, {source}}}"
    return an_object("v1", "Pod", "reader", f"{{containers: [{container}]}}", namespace)


def holder(kind: str, name: str, namespace: str = "") -> str:
    """Return a ConfigMap or a Secret."""
    place = f", namespace: {namespace}" if namespace else ""
    return f"{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}{place}}}}}\n---\n"


def findings_of(folder: Path, *arguments: str, stdin: str = "") -> list[str]:
    """Return files and ids of the findings that depend on scopes."""
    done = run(folder, *arguments, "-o", "json", "--only", _ASKED, stdin=stdin)
    return sorted(f"{problem['file']} {problem['id']}" for problem in done.json["problems"])
