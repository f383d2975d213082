"""Rules of the servers of Pathways: versions of images, ports on hosts that they share, and XLA flags."""

import re
from collections.abc import Iterator

from slicewright.check.rules.pathways import RUNTIME
from slicewright.check.rules.tpu_shape import exclusive, is_colocated, is_pathways
from slicewright.kubernetes.fields import at, count, digits, entries, number, text, texts, words
from slicewright.kubernetes.kinds import POD_KINDS, RUN_KINDS
from slicewright.kubernetes.labels import (
    EXCLUSIVE_TOPOLOGY,
    HOSTNAME,
    JOBSET_NAME,
    LWS_EXCLUSIVE,
    REPLICATED_JOB,
)
from slicewright.kubernetes.pods import REQUIRED, Pods, flags
from slicewright.kubernetes.problem import Path, dotted
from slicewright.kubernetes.scheduler import requirement
from slicewright.objects import Finding, Findings, ObjectSet, Resource, once, rule

GOOGLE_BUCKET = "gs://cloud-pathways-staging/"
"""The bucket that xpk writes by default. It belongs to Google."""
_SERVER = re.compile(r".*pathways[^@:]*(?:server|proxy)(?::([^@]+))?")
_RELEASE = re.compile(r"(?:^|[-_])jax[-_]?v?([0-9]+\.[0-9]+\.[0-9]+)")
_TPU_FLAG = re.compile(r"--(?:xla_tpu|xla_jf|xla_sc|megascale)_[^\s\"']+")
_HEADS = RUN_KINDS - {"PathwaysJob"} | {"LeaderWorkerSet"}
_FLAGS = {"XLA_FLAGS": _TPU_FLAG, "LIBTPU_INIT_ARGS": re.compile(r"--[^\s\"']+")}
"""Variables with flags for TPUs. libtpu reads the second one; the first one also affects XLA on CPUs."""


def _images(resource: Resource) -> Iterator[tuple[Path, str]]:
    for path, container in resource.containers:
        yield (*path, "image"), text(container.get("image"))
    for index, entry in entries(at(resource.data, "spec", "customComponents")):
        yield ("spec", "customComponents", index, "image"), text(entry.get("image"))


def _release(tag: str) -> str:
    """Return the version of JAX that a tag names, `0.8.1` of `20260608-jax_0.8.1`; empty for none."""
    release = _RELEASE.search(tag)
    return release[1] if release else ""


@rule("PW146", POD_KINDS, "warning")
def _versions(resource: Resource, _objects: ObjectSet) -> Findings:
    images = [(path, image) for path, image in _images(resource) if image and "@" not in image]
    matched = ((path, image, _SERVER.fullmatch(image)) for path, image in images)
    servers = [(path, image, found[1] or "latest") for path, image, found in matched if found]
    if resource.kind == "PathwaysJob" and (version := text(at(resource.data, "spec", "pathwaysVersion"))):
        servers.insert(0, (("spec", "pathwaysVersion"), f"pathwaysVersion {version}", version))
    if not servers:
        return
    _, first, tag = servers[0]
    for path, image, other in servers[1:]:
        known = _release(tag), _release(other)
        together = {image.rpartition("/")[0], first.rpartition("/")[0]}
        is_one_set = len(together) == 1 or (RUNTIME in image and "/" not in first)
        if known[0] != known[1] if all(known) else is_one_set and tag != other:
            message = f"image '{image}' is of another version than '{first}'"
            yield Finding(path, message, f"write {image.removesuffix(f':{other}')}:{tag}")
    own = {path for path, _, _ in servers}
    for path, image in images:
        client = _release(image.rpartition("/")[2].partition(":")[2])
        if path not in own and client and _release(tag) not in ("", client):
            message = f"image '{image}' has JAX {client}, but Pathways is of JAX {_release(tag)}"
            hint = f"use an image with JAX {_release(tag)}, or write the tag jax-{client} for all servers"
            yield Finding(path, message, hint)


def host_ports(pods: Pods) -> set[int]:
    """Return the ports of its host that a pod lists: the scheduler gives each to one pod of a node."""
    containers = (container for _, container in (*pods.containers, *pods.init_containers))
    listed = [port for container in containers for _, port in entries(container.get("ports"))]
    own = "containerPort" if pods.spec.get("hostNetwork") is True else "hostPort"
    return {number(port.get("hostPort") or port.get(own)) or 0 for port in listed} - {0}


class _Head:
    """Pods on the network of a host that serve ports; the scheduler knows only those that they list."""

    def __init__(self, resource: Resource, pods: Pods) -> None:
        self.resource, self.pods = resource, pods
        containers = [container for _, container in (*pods.containers, *pods.init_containers)]
        ports = [flags(container).get("--server_port", (0, ""))[1] for container in containers]
        self.served = {port for port in map(digits, ports) if port}
        self.declared = host_ports(pods)
        self.count = pods.count * count(at(resource.data, "spec", "replicas"))
        run = {JOBSET_NAME: resource.name, REPLICATED_JOB: pods.name}
        self.labels = {**pods.labels, **(run if resource.kind == "JobSet" else {})}

    def is_apart(self, other: "_Head") -> bool:
        """Tell whether the scheduler keeps these pods off a node with the others."""
        for _, term in entries(at(self.pods.spec, "affinity", "podAntiAffinity", REQUIRED)):
            selector = at(term, "labelSelector")
            is_near = self.resource.namespace == other.resource.namespace or "namespaceSelector" in term
            is_near |= other.resource.namespace in [name for _, name in words(term.get("namespaces"))]
            expressions = [requirement(entry) for _, entry in entries(at(selector, "matchExpressions"))]
            chosen = texts(at(selector, "matchLabels")).items() <= other.labels.items()
            chosen &= all(entry.accepts(other.labels.get(entry.key)) for entry in expressions)
            if is_near and chosen and selector is not None and term.get("topologyKey") == HOSTNAME:
                return True
        return False

    def shared(self, other: "_Head") -> set[int]:
        """Return the ports that both open on a node on which the scheduler may put both."""
        mine, theirs = self.pods.selector, other.pods.selector
        if any(theirs.get(key, value) != value for key, value in mine.items()):
            return set()
        if self.is_apart(other) or other.is_apart(self):
            return set()
        return (self.served & other.served) - (self.declared & other.declared)


@once
def _heads(objects: ObjectSet) -> list[_Head]:
    """Return the heads that may share a node: exclusive placement keeps all others away."""
    heads = (
        _Head(resource, pods)
        for resource in objects.all
        if resource.kind in _HEADS and LWS_EXCLUSIVE not in resource.annotations
        for pods in resource.pods
        if pods.spec.get("hostNetwork") is True and not pods.asks_for_tpu and not exclusive(resource, pods)
    )
    return [head for head in heads if head.served]


@once
def _unlisted(objects: ObjectSet) -> list[_Head]:
    """Return the heads with a port that the scheduler does not know."""
    return [head for head in _heads(objects) if head.served - head.declared]


@rule("PW147", _HEADS, "warning")
def shared_host(resource: Resource, objects: ObjectSet) -> Findings:
    """Find servers that the scheduler may put on one node, where they open the same port."""
    heads = _heads(objects)
    for head in heads:
        if head.resource is resource:
            for other in heads if head.served - head.declared else _unlisted(objects):
                ports = head.shared(other) if head is not other or head.count > 1 else set()
                if ports:
                    whose = "of the run" if other.resource is resource else f"of {other.resource.subject}"
                    message = f"the scheduler may put pods '{other.pods.name}' {whose} on the same node, "
                    message += f"and both open port {min(ports)} of the host"
                    hint = f"write ports: [{{containerPort: {min(ports)}}}] in the container that serves it"
                    if resource.kind == "JobSet":
                        hint = f"write metadata: {{annotations: {{{EXCLUSIVE_TOPOLOGY}: {HOSTNAME}}}}} in "
                        hint += dotted(head.pods.job_path[:-1])
                    yield Finding((*head.pods.spec_path, "hostNetwork"), message, hint)
                    break


@rule("PW150", POD_KINDS, "note")
def _bucket_of_google(resource: Resource, _objects: ObjectSet) -> Findings:
    folders: list[tuple[Path, str]] = [
        (("spec", "pathwaysDir"), text(at(resource.data, "spec", "pathwaysDir")))
    ]
    for path, container in resource.containers:
        index, folder = flags(container).get("--gcs_scratch_location", (0, ""))
        folders.append(((*path, "args", index), folder))
    for place, folder in folders:
        if f"{folder}/".startswith(GOOGLE_BUCKET):
            yield Finding(place, f"other projects cannot write to the bucket {GOOGLE_BUCKET[:-1]} of Google")
            return


@rule("PW148", POD_KINDS, "warning")
def _unread_flags(resource: Resource, _objects: ObjectSet) -> Findings:
    is_operator = resource.kind == "PathwaysJob"
    if not is_operator and not is_pathways(resource):
        return
    where = "customFlags of the component" if is_operator else "args of the container of"
    for path, container in resource.containers:
        listed = list(entries(container.get("env")))
        env = {text(entry.get("name")): text(entry.get("value")) for _, entry in listed}
        is_client = env.get("JAX_PLATFORMS", "").startswith("proxy") or "JAX_BACKEND_TARGET" in env
        if not is_operator and not is_client:
            continue
        said = [
            ((*path, "env", index, "value"), _FLAGS[name].findall(text(entry.get("value"))))
            for index, entry in listed
            if (name := text(entry.get("name"))) in _FLAGS
        ]
        said += [
            ((*path, key, index), _TPU_FLAG.findall(word))
            for key in ("command", "args")
            for index, word in words(container.get(key))
            if any(f"{name}=" in word for name in _FLAGS)
        ]
        for place, found in said:
            if found:
                message = f"the program does not compile for TPUs, so {found[0]} has no effect here"
                hint = f"write {', '.join(map(str, found))} in {where} proxy_server"
                yield Finding(place, message, hint)


@rule("PW160", {"JobSet"}, "warning")
def _codes_of_servers(resource: Resource, _objects: ObjectSet) -> Findings:
    """Find exit codes of a program that does not run where they are read; JS123 reports other policies."""
    for pods in resource.pods if is_pathways(resource) else ():
        if not pods.asks_for_tpu or pods.spec.get("restartPolicy") != "Never":
            continue
        for index, entry in entries(at(pods.job, "podFailurePolicy", "rules")):
            if entry.get("onExitCodes"):
                message = (
                    "the rule reads the exit codes of Pathways workers, but the program runs in the head"
                )
                yield Finding((*pods.job_path, "podFailurePolicy", "rules", index), message)


@rule("PW149", {"PathwaysJob"})
def _chips(resource: Resource, _objects: ObjectSet) -> Findings:
    if not is_colocated(resource):
        return
    for pods in resource.pods:
        if pods.asks_for_tpu:
            message = "the head takes chips of a host, so one worker of its slice finds no host"
            yield Finding((*pods.spec_path, "containers"), message)
