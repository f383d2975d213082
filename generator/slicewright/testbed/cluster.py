"""One cluster of the test bed: start it, reach it, give it nodes, and let it go.

>>> with Cluster() as cluster:
...     cluster.add_nodes(site)
...     cluster.api.apply(manifest)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)
from slicewright.testbed.api import Api
from slicewright.testbed.bed import Bed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slicewright.testbed.api import Object

_OK = 200


class Cluster(Bed):
    """A control plane with JobSet, Kueue, KWOK and the Pathways operator.

    `kueue_settings` are fields of Kueue's own Configuration, as the `kueue` of a TPUCluster has them.
    """

    ports = 5

    def __init__(
        self, name: str = "", *, kueue_settings: dict[str, Any] | None = None, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self._kueue_settings = kueue_settings or {}
        self._credentials: credentials.Credentials | None = None

    @property
    def kubeconfig(self) -> Path:
        """Return the kubeconfig file of the client with all rights."""
        assert self._credentials is not None, "the cluster is not started"  # noqa: S101 - a mistake
        return self._credentials.kubeconfig("admin")

    def _start(self) -> None:
        paths = programs.locate(programs.CONTROL_PLANE, self._environ)
        held = self._hold()
        etcd_port, peer_port, api_port, jobset_port, kueue_port = held.ports
        server = f"https://127.0.0.1:{api_port}"
        papers = credentials.issue(held.folder / "credentials", server, self.name, (kueue.HOST,))
        self._credentials = papers
        held.start(
            "etcd",
            etcd.command(
                paths["etcd"],
                papers,
                data=held.folder / "etcd",
                client_port=etcd_port,
                peer_port=peer_port,
            ),
        )
        held.start(
            "kube-apiserver",
            apiserver.command(paths["kube-apiserver"], papers, port=api_port, etcd_port=etcd_port),
            **apiserver.ENVIRON,
        )
        objects = self._objects(papers, jobset_port=jobset_port, kueue_port=kueue_port)
        self._api = Api(papers.access("admin"))
        self._wait("the API server", "kube-apiserver", lambda: self.api.raw("GET", "/readyz")[0] == _OK)
        self._progress("API server ready")
        self._create(objects)
        self._wait("the definitions of JobSet and Kueue", "kube-apiserver", self._definitions_served)
        self._progress("JobSet and Kueue defined")
        self._start_controllers(paths, papers, jobset_port=jobset_port, kueue_port=kueue_port)
        self._create(manifests.for_host(manifests.pathways()))
        held.start("pathways", pathways.command(papers.kubeconfig("pathways"), self._environ))
        held.note(operator=pathways.name(self._environ))
        self._wait("the webhooks of JobSet", "jobset", lambda: self._accepts(_PROBE_JOBSET))
        self._wait("the webhooks of Kueue", "kueue", lambda: all(map(self._accepts, _PROBES_KUEUE)))
        self._wait("the default service account", "kube-controller-manager", self._default_account)
        self._wait("the definition of PathwaysJob", "kube-apiserver", self._definitions_served)

    def _start_controllers(
        self, paths: Mapping[str, Path], papers: credentials.Credentials, *, jobset_port: int, kueue_port: int
    ) -> None:
        """Start what reconciles: Kueue first, because it waits for a second or two before it begins."""
        held = self.held
        held.start(
            "kueue",
            kueue.command(
                paths["kueue"],
                papers,
                config=held.folder / "kueue.json",
                webhook_port=kueue_port,
                settings=self._kueue_settings,
            ),
        )
        held.start(
            "jobset",
            jobset.command(
                paths["jobset"], papers, config=held.folder / "jobset.json", webhook_port=jobset_port
            ),
        )
        held.start("kube-controller-manager", controllers.manager(paths["kube-controller-manager"], papers))
        held.start(
            "kube-scheduler",
            controllers.scheduler(paths["kube-scheduler"], papers, config=held.folder / "scheduler.json"),
        )
        held.start("kwok", kwok.command(paths["kwok"], papers.kubeconfig("kwok")))

    def _objects(self, papers: credentials.Credentials, *, jobset_port: int, kueue_port: int) -> list[Object]:
        authority = papers.webhook_authority.certificate
        of_kueue = manifests.for_host(manifests.kueue(), port=kueue_port, authority=authority)
        return [
            *manifests.for_host(manifests.jobset(), port=jobset_port, authority=authority),
            *kueue.without_idle_webhooks(of_kueue, self._kueue_settings),
            kueue.secret(papers),
            *manifests.for_host(manifests.provisioning_requests()),
        ]

    def _create(self, items: list[Object]) -> None:
        for batch in manifests.in_order(items):
            self.api.each(self.api.create, batch)

    def _accepts(self, item: Object) -> bool:
        return bool(self.api.create(item, dryRun="All"))

    def _definitions_served(self) -> bool:
        listed = self.api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        return all(
            any(
                condition["type"] == "Established" and condition["status"] == "True"
                for condition in item.get("status", {}).get("conditions") or ()
            )
            for item in listed
        )

    def _default_account(self) -> bool:
        return bool(self.api.find("v1", "ServiceAccount", "default", "default"))


_PROBE_JOBSET: Object = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {
        "replicatedJobs": [
            {
                "name": "a",
                "template": {
                    "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "probe"}]}}}
                },
            }
        ]
    },
}
_PROBES_KUEUE: tuple[Object, ...] = tuple(
    {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "probe"},
        "spec": {"namespaceSelector": {}},
    }
    for version in ("v1beta2", "v1beta1")
)
"""Both versions: the older one is converted by Kueue on its way in."""
