"""Rules of pod security, of what hostNetwork takes away, and of the subjects of RBAC bindings."""

from collections.abc import Iterator
from typing import Any

from slicewright.check.rules.dns import is_subdomain
from slicewright.check.selection import is_flux_kustomization, tools_of
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, mapping, sequence, text
from slicewright.kubernetes.kinds import POD_KINDS, RBAC_GROUP
from slicewright.kubernetes.labels import (
    FUSE,
    FUSE_DRIVER,
    GOOGLE_ACCOUNT,
    METADATA_SERVER,
    POD_SECURITY,
    RUN,
)
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Edit, Fix, Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_RESTRICTED = (
    "add securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}} to podTemplate.spec "
    "and securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}} to each container, "
    "or write podSecurity: baseline for the team"
)


_FUSE = 'leave hostNetwork out, or with GKE 1.33.3 write the volumeAttribute hostNetworkPodKSA: "true"'
_OWN_FUSE = (
    "leave hostNetwork out, or write gke.version 1.33.3 or later for the cluster and start the run again"
)


def _of_slices(resource: Resource) -> tuple[Pods, ...]:
    """Return the pods of a program on TPUs, its heads without chips too; not what tunes the hosts."""
    if resource.kind == "DaemonSet" or not any(pods.is_tpu for pods in resource.pods):
        return ()
    return resource.pods


@rule("TPU131", POD_KINDS, "warning")
def _host_network(resource: Resource, objects: ObjectSet) -> Findings:
    for pods in _of_slices(resource):
        if pods.spec.get("hostNetwork") is not True:
            continue
        path = (*pods.spec_path, "hostNetwork")
        volumes = [volume for _, volume in entries(pods.spec.get("volumes"))]
        mounted = [volume for volume in volumes if at(volume, "csi", "driver") == FUSE_DRIVER]
        # The driver itself can run beside the host's network since 1.33.3, and says so in the volume.
        served = [at(volume, "csi", "volumeAttributes", "hostNetworkPodKSA") == "true" for volume in mounted]
        if not all(served) or (pods.annotations.get(FUSE) == "true" and not mounted):
            hint = _OWN_FUSE if objects.site and RUN in resource.labels else _FUSE
            yield Finding(path, "GCS FUSE volumes do not mount in pods with hostNetwork", hint)
        account = text(pods.spec.get("serviceAccountName"))
        accounts = objects.candidates("ServiceAccount", account, resource.namespace, resource.file)
        impersonates = accounts and all(GOOGLE_ACCOUNT in candidate.annotations for candidate in accounts)
        if impersonates or pods.selector.get(METADATA_SERVER) == "true":
            yield Finding(path, "pods with hostNetwork use the Google service account of the node")


@rule("TPU132", POD_KINDS, "warning")
def _dns_policy(resource: Resource, _objects: ObjectSet) -> Findings:
    # A head without chips has to find the workers too; other programs may mean the host's resolver.
    for pods in _of_slices(resource):
        policy = pods.spec.get("dnsPolicy")
        if pods.spec.get("hostNetwork") is True and policy in (None, "ClusterFirst", "Default"):
            message = "pods with hostNetwork use the DNS server of the node, which does not know Services"
            values = {(*pods.spec_path, "dnsPolicy"): "ClusterFirstWithHostNet"}
            fix = edits.write(resource.data, values, safe=policy != "Default")
            yield Finding((*pods.spec_path, "hostNetwork"), message, fix=fix)


def _level(resource: Resource, objects: ObjectSet) -> tuple[str, str]:
    """Return the level of Pod Security that a namespace enforces, and who says so."""
    name = resource.namespace or "default"
    if not objects.is_cluster and not resource.namespace:
        return "", ""
    if namespaces := objects.candidates("Namespace", name, near=resource.file):
        levels = {namespace.labels.get(POD_SECURITY, "") for namespace in namespaces}
        return levels.pop() if len(levels) == 1 else "", f"namespace '{name}'"
    if objects.site:
        for _, team in entries(objects.site.cluster.spec.get("teams")):
            if team.get("namespace") == name:
                level = text(team.get("podSecurity")) or text(mapping(team.get("labels")).get(POD_SECURITY))
                return level, f"namespace '{name}' of team '{team.get('name')}'"
    return "", ""


@rule("TPU133", POD_KINDS)
def _pod_security(resource: Resource, objects: ObjectSet) -> Findings:
    level, who = _level(resource, objects)
    if level not in ("baseline", "restricted"):
        return
    for pods in resource.pods:
        refuses = f"{who} enforces '{level}', which refuses"
        for path, feature in _beyond_baseline(pods):
            yield Finding(path, f"{refuses} {feature}")
        lacking = list(_beyond_restricted(pods)) if level == "restricted" else []
        if lacking:
            fields = ", ".join(dict.fromkeys(field for _, field in lacking))
            yield Finding(lacking[0][0], f"{refuses} containers without {fields}", _RESTRICTED)


def _beyond_baseline(pods: Pods) -> Iterator[tuple[Path, str]]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pods.spec.get(key) is True:
            yield (*pods.spec_path, key), key
    for index, volume in entries(pods.spec.get("volumes")):
        if "hostPath" in volume:
            yield (*pods.spec_path, "volumes", index), "hostPath volumes"
    for path, container in (*pods.containers, *pods.init_containers):
        if at(container, "securityContext", "privileged") is True:
            yield (*path, "securityContext", "privileged"), "privileged containers"
        for index, port in entries(container.get("ports")):
            if port.get("hostPort"):
                yield (*path, "ports", index, "hostPort"), "host ports"


def _beyond_restricted(pods: Pods) -> Iterator[tuple[Path, str]]:
    of_pod = mapping(pods.spec.get("securityContext"))
    for path, container in (*pods.containers, *pods.init_containers):
        own = mapping(container.get("securityContext"))
        where = (*path, "securityContext") if own else path
        if own.get("allowPrivilegeEscalation") is not False:
            yield where, "allowPrivilegeEscalation: false"
        if "ALL" not in sequence(at(own, "capabilities", "drop")):
            yield where, "capabilities: {drop: [ALL]}"
        if own.get("runAsNonRoot", of_pod.get("runAsNonRoot")) is not True:
            yield where, "runAsNonRoot: true"
        profile = at(own, "seccompProfile", "type") or at(of_pod, "seccompProfile", "type")
        if profile not in ("RuntimeDefault", "Localhost"):
            yield where, "seccompProfile: {type: RuntimeDefault}"


@rule("TPU134", POD_KINDS)
def _fuse_annotation(resource: Resource, _objects: ObjectSet) -> Findings:
    is_pathways_job = resource.kind == "PathwaysJob"
    for pods in resource.pods:
        own = pods.annotations.get(FUSE) or (resource.annotations.get(FUSE) if is_pathways_job else "")
        if own != "true":
            for index, volume in entries(pods.spec.get("volumes")):
                if at(volume, "csi", "driver") == FUSE_DRIVER:
                    message = f"the pods have a GCS FUSE volume but no annotation {FUSE}"
                    path: Path = (*(() if is_pathways_job else pods.path), "metadata", "annotations", FUSE)
                    fix = edits.write(resource.data, {path: "true"})
                    yield Finding((*pods.spec_path, "volumes", index), message, fix=fix)


@rule("TPU135", {"ServiceAccount"})
def _accounts(resource: Resource, _objects: ObjectSet) -> Findings:
    account = resource.annotations.get(GOOGLE_ACCOUNT)
    if account and not account.endswith(".gserviceaccount.com"):
        path = ("metadata", "annotations", GOOGLE_ACCOUNT)
        yield Finding(path, f"'{account}' is not a Google service account")


_SUBJECTS = {"ServiceAccount": "", "User": RBAC_GROUP, "Group": RBAC_GROUP}
"""Kinds of subjects, and the API group that each has."""


@rule("REF131", {"RoleBinding", "ClusterRoleBinding"})
def _subjects(resource: Resource, objects: ObjectSet) -> Findings:
    if resource.group != RBAC_GROUP:
        return
    is_of_cluster = resource.kind == "ClusterRoleBinding"
    for index, subject in entries(resource.data.get("subjects")):
        path = ("subjects", index)
        yield from _subject(subject, path)
        # A RoleBinding lends its own namespace.
        is_account = subject.get("kind") == "ServiceAccount" and not text(subject.get("namespace"))
        if is_of_cluster and is_account and not _gets_namespace(resource, text(subject.get("name")), objects):
            yield Finding(path, "the ServiceAccount has no namespace")
    if "roleRef" not in resource.data:  # its schema says so
        return
    roles = ("ClusterRole",) if is_of_cluster else ("Role", "ClusterRole")
    kind, name = text(at(resource.data, "roleRef", "kind")), text(at(resource.data, "roleRef", "name"))
    if kind not in roles:
        allowed = " or ".join(roles)
        message = f"a {resource.kind} must name a {allowed}, not a '{kind}'"
        yield Finding(("roleRef", "kind"), message, f"write kind: {allowed}")
    if not name:
        yield Finding(("roleRef", "name"), "roleRef has no name", "add name: NAME")


def _gets_namespace(resource: Resource, name: str, objects: ObjectSet) -> bool:
    """Tell whether a build gives a subject its namespace: kustomize does so with what it gives an account.

    It does so with `default`, too. Flux builds the folders of its Kustomizations that have a targetNamespace.
    """
    tools = filter(is_flux_kustomization, tools_of(resource, objects))
    is_built = resource.source is None or any(at(tool.data, "spec", "targetNamespace") for tool in tools)
    if objects.is_cluster or not is_built:
        return False
    accounts = objects.of_kind("ServiceAccount")
    return name == "default" or any(one.name == name and not one.namespace for one in accounts)


def _subject(subject: dict[str, Any], path: Path) -> Findings:
    kind, name = text(subject.get("kind")), text(subject.get("name"))
    if kind not in _SUBJECTS:
        hint = f"write one of: {', '.join(_SUBJECTS)}"
        yield Finding((*path, "kind"), f"'{kind}' is not a valid kind of subject", hint)
        return
    if text(subject.get("apiGroup")) not in ("", _SUBJECTS[kind]):
        hint = f"write {_SUBJECTS[kind]}" if _SUBJECTS[kind] else "leave apiGroup out"
        message = f"the apiGroup of a {kind} cannot be '{subject['apiGroup']}'"
        place: Path = (*path, "apiGroup")
        fix = Fix(hint.capitalize(), (Edit("replace", place, _SUBJECTS[kind]),))
        yield Finding(place, message, hint, fix)
    if not name:
        yield Finding((*path, "name"), f"a subject of kind {kind} has no name", "add name: NAME")
    elif kind == "ServiceAccount" and not is_subdomain(name):
        hint = "write lower-case letters, digits, hyphens and dots"
        yield Finding((*path, "name"), f"'{name}' is not a valid ServiceAccount name", hint)
