"""One cluster of the test bed: start it, reach it, give it nodes, and let it go.

>>> with Cluster() as cluster:
...     cluster.add_nodes(site)
...     cluster.api.apply(manifest)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import CRD_VERSION
from slicewright.core.platform.release import JOBSET, KUEUE
from slicewright.testbed import (
    apiserver,
    controllers,
    credentials,
    etcd,
    jobset,
    kueue,
    kwok,
    manifests,
    pathways,
    programs,
    webhooks,
)
from slicewright.testbed.bed import Bed, ControlPlane, Reached
from slicewright.testbed.installation import Installation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.kubernetes.types import Object
    from slicewright.testbed.api import Api
    from slicewright.testbed.bed import Ground
    from slicewright.testbed.credentials import Credentials

_OK = 200
_PORTS = 5
"""etcd has two, for clients and for peers; then the API server, JobSet and Kueue."""


class Cluster(Bed):
    """A control plane with JobSet, Kueue, KWOK and the Pathways operator.

    `controllers` are the objects that install them, as the tree of a TPUCluster has them; what is not among
    them comes from the releases of the test bed. `kueue_settings` are fields of Kueue's own Configuration.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        controllers: Iterable[Object] = (),
        kueue_settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        wanted = Installation(tuple(controllers), kueue_settings or {})
        reach = partial(_reach, wanted)
        super().__init__(ControlPlane(programs.CONTROL_PLANE, _PORTS, reach), name, **options)


def _reach(wanted: Installation, ground: Ground) -> Reached:
    """Start etcd and the API server."""
    held = ground.held
    etcd_port, peer_port, api_port, *_ = held.ports
    server = f"https://127.0.0.1:{api_port}"
    papers = credentials.issue(held.folder / "credentials", server, ground.name, (kueue.HOST,))
    held.start(
        "etcd",
        etcd.command(
            ground.paths["etcd"],
            papers,
            data=held.folder / "etcd",
            client_port=etcd_port,
            peer_port=peer_port,
        ),
    )
    held.start(
        "kube-apiserver",
        apiserver.command(ground.paths["kube-apiserver"], papers, port=api_port, etcd_port=etcd_port),
        **apiserver.ENVIRON,
    )
    furnish = partial(_furnish, ground, papers, wanted)
    return Reached(papers.access("admin"), papers.kubeconfig("admin"), furnish)


def _furnish(ground: Ground, papers: Credentials, wanted: Installation, api: Api) -> None:
    """Define JobSet and Kueue, start the controllers, and wait until everything answers."""
    held = ground.held
    objects = _objects(ground, papers, wanted)
    ground.wait("the API server", "kube-apiserver", lambda: api.raw("GET", "/readyz")[0] == _OK)
    ground.progress("API server ready")
    _create(api, objects)
    ground.wait("the definitions of JobSet and Kueue", "kube-apiserver", lambda: _definitions_served(api))
    ground.progress("JobSet and Kueue defined")
    _start_controllers(ground, papers, wanted.settings)
    held.start("pathways", pathways.command(papers.kubeconfig("pathways"), ground.environ))
    held.note(operator=pathways.name(ground.environ))
    ground.wait("the webhooks of JobSet", "jobset", lambda: webhooks.jobset_answers(api))
    ground.wait("the webhooks of Kueue", "kueue", lambda: webhooks.kueue_answers(api))
    ground.wait("the default service account", "kube-controller-manager", lambda: _default_account(api))
    ground.wait("the kinds of all definitions", "kube-apiserver", lambda: _kinds_served(api))


def _objects(ground: Ground, papers: Credentials, wanted: Installation) -> list[Object]:
    *_, jobset_port, kueue_port = ground.held.ports
    ports = {JOBSET.namespace: jobset_port, KUEUE.namespace: kueue_port}
    items = [*manifests.completed(wanted.objects), *manifests.provisioning_requests()]
    hosted = manifests.for_host(items, ports=ports, authority=papers.webhook_authority.certificate)
    return [*kueue.without_idle_webhooks(hosted, wanted.settings), kueue.secret(papers)]


def _start_controllers(ground: Ground, papers: Credentials, kueue_settings: dict[str, Any]) -> None:
    """Start what reconciles: Kueue first, because it waits for a second or two before it begins."""
    held, paths = ground.held, ground.paths
    *_, jobset_port, kueue_port = held.ports
    held.start(
        "kueue",
        kueue.command(
            paths["kueue"],
            papers,
            config=held.folder / "kueue.json",
            webhook_port=kueue_port,
            settings=kueue_settings,
        ),
    )
    held.start(
        "jobset",
        jobset.command(paths["jobset"], papers, config=held.folder / "jobset.json", webhook_port=jobset_port),
    )
    held.start("kube-controller-manager", controllers.manager(paths["kube-controller-manager"], papers))
    held.start(
        "kube-scheduler",
        controllers.scheduler(paths["kube-scheduler"], papers, config=held.folder / "scheduler.json"),
    )
    held.start("kwok", kwok.command(paths["kwok"], papers.kubeconfig("kwok")))


def _create(api: Api, items: Iterable[Object]) -> None:
    for batch in manifests.in_order(items):
        api.each(api.create, batch)


def _definitions_served(api: Api) -> bool:
    listed = api.list(CRD_VERSION, "CustomResourceDefinition")
    return all(
        any(
            condition["type"] == "Established" and condition["status"] == "True"
            for condition in item.get("status", {}).get("conditions") or ()
        )
        for item in listed
    )


def _kinds_served(api: Api) -> bool:
    """Return true once every kind can be listed, which may take longer. Raises ApiError until then."""
    for item in api.list(CRD_VERSION, "CustomResourceDefinition"):
        spec = item["spec"]
        for version in spec["versions"]:
            if version["served"]:
                api.list(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
    return True


def _default_account(api: Api) -> bool:
    return bool(api.find("v1", "ServiceAccount", "default", "default"))
