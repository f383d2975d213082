"""One cluster of the test bed: start it, reach it, add nodes, and stop it.

>>> with Cluster() as cluster:
...     cluster.add_nodes(site)
...     cluster.api.apply(manifest)
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.fields import conditions, is_true
from slicewright.kubernetes.kinds import CRD_VERSION, RUN_VERSIONS
from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.controller_files import JOBSET, KUEUE, PATHWAYS
from slicewright.testbed import control_plane, credentials, manifests, nodes, process_group
from slicewright.testbed.bed import Bed, BootContext, Connection, ControlPlane
from slicewright.testbed.credentials import Credentials
from slicewright.testbed.manifests import Installation
from slicewright.version import __version__

_OK = 200
_PORTS = 5
"""etcd has two, for clients and for peers; then the API server, JobSet and Kueue."""


class Cluster(Bed):
    """A control plane with JobSet, Kueue, KWOK and the Pathways operator.

    `controllers` are the objects that install them, as the tree of a TPUCluster has them; what is not among
    them comes from the releases of the test bed. `kueue_settings` are fields of Kueue's own Configuration.
    Without pods (`has_pods`) the caller has to run the Jobs: there is no Job controller, scheduler or KWOK.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        controllers: Iterable[Object] = (),
        kueue_settings: dict[str, Any] | None = None,
        has_pods: bool = True,
        **options: Any,
    ) -> None:
        install = Installation(tuple(controllers), kueue_settings or {})
        connect = partial(_connect, install, has_pods=has_pods)
        super().__init__(ControlPlane(process_group.CONTROL_PLANE, _PORTS, connect), name, **options)


def _connect(install: Installation, boot: BootContext, *, has_pods: bool = True) -> Connection:
    processes = boot.processes
    etcd_port, peer_port, api_port, *_ = processes.ports
    server = f"https://127.0.0.1:{api_port}"
    papers = credentials.issue(
        processes.folder / "credentials", server, boot.name, (control_plane.KUEUE_HOST,)
    )
    etcd = control_plane.etcd_command(boot.paths["etcd"], papers, etcd_port, peer_port)
    apiserver = control_plane.apiserver_command(boot.paths["kube-apiserver"], papers, api_port, etcd_port)
    processes.start("etcd", etcd)
    processes.start("kube-apiserver", apiserver, **control_plane.APISERVER_ENVIRON)
    install_controllers = partial(_install_controllers, boot, papers, install, has_pods)
    return Connection(papers.access("admin"), papers.kubeconfig("admin"), install_controllers)


def _install_controllers(
    boot: BootContext, papers: Credentials, install: Installation, has_pods: bool, api: Api
) -> None:
    """Define JobSet and Kueue, start the controllers, and wait until everything answers."""
    objects = _objects(boot, papers, install)
    boot.wait("the API server", "kube-apiserver", lambda: api.raw("GET", "/readyz")[0] == _OK)
    boot.progress("API server ready")
    for batch in manifests.in_order(objects):
        api.each(api.create, batch)
    boot.wait("the definitions of JobSet and Kueue", "kube-apiserver", lambda: _definitions_served(api))
    boot.progress("JobSet and Kueue defined")
    _start_controllers(boot, papers, install.settings, has_pods)
    api.apply(control_plane.kueue_config_map(papers), manager="kubectl")  # kubectl can apply it later
    boot.processes.note(operator=control_plane.operator_name(boot.environ))
    boot.wait("the webhooks of JobSet", "jobset", lambda: control_plane.jobset_answers(api))
    boot.wait("the webhooks of Kueue", "kueue", lambda: control_plane.kueue_answers(api))
    account = partial(api.find, "v1", "ServiceAccount", "default", "default")
    boot.wait("the default service account", "kube-controller-manager", account)
    boot.wait("the kinds of all definitions", "kube-apiserver", lambda: _kinds_served(api))


def _objects(boot: BootContext, papers: Credentials, install: Installation) -> list[Object]:
    *_, jobset_port, kueue_port = boot.processes.ports
    ports = {JOBSET.namespace: jobset_port, KUEUE.namespace: kueue_port}
    items = [*manifests.completed(install.objects), *manifests.provisioning_requests()]
    hosted = manifests.for_host(items, ports=ports, authority=papers.webhook_authority.certificate)
    return [
        *control_plane.without_idle_webhooks(hosted, install.settings),
        control_plane.kueue_secret(papers),
    ]


def _start_controllers(
    boot: BootContext, papers: Credentials, kueue_settings: dict[str, Any], has_pods: bool
) -> None:
    """Start what reconciles: Kueue first, because it waits for a second or two before it begins."""
    paths = boot.paths
    *_, jobset_port, kueue_port = boot.processes.ports
    manager, scheduler = paths["kube-controller-manager"], paths["kube-scheduler"]
    commands = {
        "kueue": control_plane.kueue_command(paths["kueue"], papers, kueue_port, kueue_settings),
        "jobset": control_plane.jobset_command(paths["jobset"], papers, jobset_port),
        "kube-controller-manager": control_plane.controller_manager_command(manager, papers, has_pods),
        "pathways": control_plane.operator_command(papers.kubeconfig("pathways"), boot.environ),
    }
    if has_pods:
        commands["kube-scheduler"] = control_plane.scheduler_command(scheduler, papers)
        commands["kwok"] = nodes.kwok_command(paths["kwok"], papers.kubeconfig("kwok"))
    for name, command in commands.items():
        boot.processes.start(name, command)


def _definitions_served(api: Api) -> bool:
    listed = api.list(CRD_VERSION, "CustomResourceDefinition")
    return all(is_true(conditions(item.get("status", {})), "Established") for item in listed)


def _kinds_served(api: Api) -> bool:
    """Return true once every kind can be listed, which may take longer. Raises ApiError until then."""
    for item in api.list(CRD_VERSION, "CustomResourceDefinition"):
        spec = item["spec"]
        for version in spec["versions"]:
            if version["served"]:
                api.list(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
    return True


_DIGITS = 10


def kept_bed(install: Installation, generations: object, *, has_pods: bool, **options: Any) -> Bed:
    """Return the bed that an earlier rehearsal kept for the same controllers, or one to be started and kept.

    `generations` is what the simulated operator of PathwaysJobs knows. Raises BedError where a program is
    missing.
    """
    # Its name is a digest of the programs and of everything that they are started with.
    programs = process_group.locate_programs(process_group.CONTROL_PLANE)
    paths = {name: str(path) for name, path in programs.items()}
    operator = os.environ.get(control_plane.OPERATOR_VARIABLE, "")
    content = msgspec.json.encode((__version__, paths, operator, install, generations, has_pods))
    name = f"kept-{hashlib.sha256(content).hexdigest()[:_DIGITS]}"
    beds = process_group.running(process_group.clusters_root())
    kept = next((bed for bed in beds if bed.name == name), None)
    if kept and kept.status != "broken":
        return Bed(kept, name, **options)
    if kept:
        process_group.end(kept)
    settings = install.settings
    return Cluster(name, controllers=install.objects, kueue_settings=settings, has_pods=has_pods, **options)


class Attached(Bed):
    """A bed around the API server that a kubeconfig file names in its current context, or in another one.

    JobSet and Kueue have to be installed there; the definitions of PathwaysJob and ProvisioningRequest are
    added where they are missing. What it adds to the cluster stays there.

    Its KWOK simulates the nodes whose annotation `kwok.x-k8s.io/node` has the value `simulates`. Two KWOKs
    that simulate the same nodes disturb each other: beside another KWOK, a bed needs its own value.
    """

    def __init__(
        self, kubeconfig_file: Path, *, context: str = "", simulates: str = nodes.KWOK_NODES, **options: Any
    ) -> None:
        connect = partial(_attach, kubeconfig_file, context, simulates)
        super().__init__(ControlPlane(("kwok",), 0, connect, simulates), **options)


def _attach(file: Path, context: str, simulates: str, boot: BootContext) -> Connection:
    access = kubeconfig.read(file, context)
    if context:  # the programs beside the cluster know the current context only
        file = kubeconfig.copy(file, context, boot.processes.folder / "kubeconfig")
    # A credential plugin may read more of the environment than other programs, such as CLOUDSDK_CONFIG.
    environ = {key: value for key, value in boot.environ.items() if access.plugin and key != "KUBECONFIG"}
    return Connection(access, file, partial(_install_beside, boot, file, simulates, environ))


def _install_beside(
    boot: BootContext, file: Path, simulates: str, environ: Mapping[str, str], api: Api
) -> None:
    processes = boot.processes
    command = nodes.kwok_command(boot.paths["kwok"], file, simulates=simulates, heartbeats=True)
    processes.start("kwok", command, **environ)
    for item in (*manifests.for_host(manifests.released(PATHWAYS)), *manifests.provisioning_requests()):
        if item["kind"] == "CustomResourceDefinition":
            with Ignored("AlreadyExists"):
                api.create(item)
    boot.wait("the definition of PathwaysJob", "kwok", lambda: api.resource(*RUN_VERSIONS["PathwaysJob"]))
    processes.start("pathways", control_plane.operator_command(file, boot.environ), **environ)
    processes.note(operator=control_plane.operator_name(boot.environ))
