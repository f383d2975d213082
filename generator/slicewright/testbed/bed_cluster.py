"""One cluster of the test bed: start it, reach it, add nodes, and stop it.

>>> with Cluster() as cluster:
...     cluster.add_nodes(site)
...     cluster.api.apply(manifest)
"""

import hashlib
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import Ignored
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.fields import conditions, is_true
from slicewright.kubernetes.kinds import CRD_VERSION, RUN_VERSIONS
from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.controller_files import JOBSET, KUEUE, PATHWAYS
from slicewright.testbed import control_plane, credentials, manifests, nodes, process_group
from slicewright.testbed.bed import Bed
from slicewright.testbed.manifests import Installation
from slicewright.testbed.process_group import Running
from slicewright.version import __version__

_OK = 200


class Cluster(Bed):
    """A control plane with JobSet, Kueue, KWOK and the Pathways operator.

    `controllers` are the objects that install them, as the tree of a TPUCluster has them; what is not among
    them comes from the releases of the test bed. `kueue_settings` are fields of Kueue's own Configuration.
    Without pods (`has_pods`) the caller has to run the Jobs: there is no Job controller, scheduler or KWOK.
    """

    programs: tuple[str, ...] = process_group.CONTROL_PLANE
    ports = 5
    """etcd has two, for clients and for peers; then the API server, JobSet and Kueue."""

    def __init__(
        self,
        name: str | None = None,
        *,
        controllers: Iterable[Object] = (),
        kueue_settings: dict[str, Any] | None = None,
        jobset_gates: dict[str, bool] | None = None,
        has_pods: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._controllers = tuple(controllers)
        self._settings = kueue_settings or {}
        self._gates = jobset_gates or {}
        self._has_pods = has_pods

    def _connect(self) -> tuple[Access, Path]:
        etcd_port, peer_port, api_port, *_ = self.processes.ports
        folder, server = self.processes.folder / "credentials", f"https://127.0.0.1:{api_port}"
        papers = credentials.issue(folder, server, self.name, (control_plane.KUEUE_HOST,))
        self._credentials = papers
        etcd, apiserver = self._paths["etcd"], self._paths["kube-apiserver"]
        self.processes.start("etcd", control_plane.etcd_command(etcd, papers, etcd_port, peer_port))
        command = control_plane.apiserver_command(apiserver, papers, api_port, etcd_port)
        self.processes.start("kube-apiserver", command, **control_plane.APISERVER_ENVIRON)
        return papers.access("admin"), papers.kubeconfig("admin")

    def _install(self) -> None:
        """Define JobSet and Kueue, start the controllers, and wait until everything answers."""
        api, objects = self.api, self._objects()
        self._wait_for_api_server()
        self._progress("API server ready")
        for batch in manifests.in_order(objects):
            api.each(api.create, batch)
        served = partial(_definitions_served, api)
        self._wait_for("the definitions of JobSet and Kueue", "kube-apiserver", served)
        self._progress("JobSet and Kueue defined")
        self._start_controllers()
        configuration = control_plane.kueue_config_map(self._credentials)
        api.apply(configuration, manager="kubectl")  # kubectl can apply it later
        self.note(operator=control_plane.operator_name(self._environ))
        self._wait_for("the webhooks of JobSet", "jobset", lambda: control_plane.jobset_answers(api))
        self._wait_for("the webhooks of Kueue", "kueue", lambda: control_plane.kueue_answers(api))
        account = partial(api.find, "v1", "ServiceAccount", "default", "default")
        self._wait_for("the default service account", "kube-controller-manager", account)
        self._wait_for("the kinds of all definitions", "kube-apiserver", lambda: _kinds_served(api))

    def _wait_for_api_server(self) -> None:
        self._wait_for("the API server", "kube-apiserver", lambda: self.api.raw("GET", "/readyz")[0] == _OK)

    def _objects(self) -> list[Object]:
        *_, jobset_port, kueue_port = self.processes.ports
        ports = {JOBSET.namespace: jobset_port, KUEUE.namespace: kueue_port}
        items = [*manifests.completed(self._controllers), *manifests.provisioning_requests()]
        authority = self._credentials.webhook_authority.certificate
        hosted = manifests.for_host(items, ports=ports, authority=authority)
        kept = control_plane.without_idle_webhooks(hosted, self._settings)
        return [*kept, control_plane.kueue_secret(self._credentials)]

    def _start_controllers(self) -> None:
        """Start what reconciles: Kueue first, because it waits for a second or two before it begins."""
        paths, papers = self._paths, self._credentials
        *_, jobset_port, kueue_port = self.processes.ports
        manager = paths["kube-controller-manager"]
        commands = {
            "kueue": control_plane.kueue_command(paths["kueue"], papers, kueue_port, self._settings),
            "jobset": control_plane.jobset_command(paths["jobset"], papers, jobset_port, self._gates),
            "kube-controller-manager": control_plane.controller_manager_command(
                manager, papers, self._has_pods
            ),
            "pathways": control_plane.operator_command(papers.kubeconfig("pathways"), self._environ),
        }
        if self._has_pods:
            commands["kube-scheduler"] = control_plane.scheduler_command(paths["kube-scheduler"], papers)
            commands["kwok"] = nodes.kwok_command(paths["kwok"], papers.kubeconfig("kwok"))
        for name, command in commands.items():
            self.processes.start(name, command)


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


class Kept(Bed):
    """The bed that an earlier rehearsal kept."""

    def __init__(self, kept: Running, **options: Any) -> None:
        super().__init__(kept.name, **options)
        self._kept = kept

    def check(self) -> None:
        """Raise BedError if a program of the bed has ended."""
        self._kept.check()

    def _start(self) -> None:
        self._kubeconfig = self.until("the kept cluster to be ready", self._kept.ready_kubeconfig)
        self._api = Api(kubeconfig.read(self._kubeconfig))


def kept_bed(install: Installation, generations: object, *, has_pods: bool, **options: Any) -> Bed:
    """Return the bed that an earlier rehearsal kept with the same controllers, or a new one to keep.

    `generations` are the TPU generations of the simulated operator of PathwaysJobs. Raises BedError if a
    program is missing.
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
        return Kept(kept, **options)
    if kept:
        process_group.end(kept)
    return Cluster(name, **install.options, has_pods=has_pods, **options)


class Attached(Bed):
    """A bed around the API server that a kubeconfig file names in its current context, or in another one.

    JobSet and Kueue have to be installed there; the definitions of PathwaysJob and ProvisioningRequest are
    added if they are missing. What it adds to the cluster stays there.

    Its KWOK simulates the nodes whose annotation `kwok.x-k8s.io/node` has the value `simulates`. Two KWOKs
    that simulate the same nodes disturb each other: beside another KWOK, a bed needs its own value.
    """

    programs = ("kwok",)

    def __init__(
        self, kubeconfig_file: Path, *, context: str = "", simulates: str = nodes.KWOK_NODES, **options: Any
    ) -> None:
        super().__init__(**options)
        self._file = kubeconfig_file
        self._context = context
        self.simulates = simulates
        self._inherited: dict[str, str] = {}
        """Variables of our environment that the programs get."""

    def _connect(self) -> tuple[Access, Path]:
        access, file = kubeconfig.read(self._file, self._context), self._file
        if self._context:  # the programs beside the cluster know the current context only
            file = kubeconfig.copy(file, self._context, self.processes.folder / "kubeconfig")
        if access.plugin:  # it may read more variables than other programs, such as CLOUDSDK_CONFIG
            self._inherited = {key: value for key, value in self._environ.items() if key != "KUBECONFIG"}
        return access, file

    def _install(self) -> None:
        api = self.api
        command = nodes.kwok_command(
            self._paths["kwok"], self.kubeconfig, simulates=self.simulates, heartbeats=True
        )
        self.processes.start("kwok", command, **self._inherited)
        for item in (*manifests.for_host(manifests.released(PATHWAYS)), *manifests.provisioning_requests()):
            if item["kind"] == "CustomResourceDefinition":
                with Ignored("AlreadyExists"):
                    api.create(item)
        served = partial(api.resource, *RUN_VERSIONS["PathwaysJob"])
        self._wait_for("the definition of PathwaysJob", "kwok", served)
        operator = control_plane.operator_command(self.kubeconfig, self._environ)
        self.processes.start("pathways", operator, **self._inherited)
        self.note(operator=control_plane.operator_name(self._environ))
