"""Command lines and configuration of the programs of a test bed: its control plane, JobSet, Kueue, operator.

With its own certificate manager off, Kueue reads /etc/kueue/metrics/certs, which takes root to make. So the
manager stays on and finds its work done: the Secret holds a certificate that is valid for it, the webhooks
trust its authority already, and the files are where it looks for them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slicewright.cluster.api.client import Api
from slicewright.kubernetes import kinds
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.kueue_configuration import config_map
from slicewright.testbed.credentials import Credentials
from slicewright.testbed.waiting import BedError


def etcd_command(binary: Path, credentials: Credentials, client_port: int, peer_port: int) -> list[str]:
    """Return the command line of one member: loopback only, certificates, no waiting for the disk."""
    client, peer = f"https://127.0.0.1:{client_port}", f"https://127.0.0.1:{peer_port}"
    ca, certificate, key = (str(credentials.file(name)) for name in ("ca.crt", "etcd.crt", "etcd.key"))
    return [
        str(binary),
        "--name=slicewright",
        f"--data-dir={credentials.folder.with_name('etcd')}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=slicewright={peer}",
        "--client-cert-auth",
        f"--trusted-ca-file={ca}",
        f"--cert-file={certificate}",
        f"--key-file={key}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={ca}",
        f"--peer-cert-file={certificate}",
        f"--peer-key-file={key}",
        "--unsafe-no-fsync",  # the data are not needed after the end
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


APISERVER_ENVIRON = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Collect less garbage while memory lasts: collection is a fifth of the work at the start."""


def apiserver_command(binary: Path, credentials: Credentials, port: int, etcd_port: int) -> list[str]:
    """Return the command line, with the admission plugin that GKE turns on for TPUs.

    ExtendedResourceToleration adds the toleration of google.com/tpu to pods that ask for it, as on GKE.
    TaintNodesByCondition would taint each new node until a controller has seen that it is ready; simulated
    nodes are born ready.
    """
    file = credentials.file
    return [
        str(binary),
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        # Without it the address of the default route is taken, which a machine may lack; nothing reads it.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=https://127.0.0.1:{etcd_port}",
        f"--etcd-cafile={file('ca.crt')}",
        f"--etcd-certfile={file('etcd-client.crt')}",
        f"--etcd-keyfile={file('etcd-client.key')}",
        f"--tls-cert-file={file('apiserver.crt')}",
        f"--tls-private-key-file={file('apiserver.key')}",
        f"--client-ca-file={file('ca.crt')}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={file('service-accounts.crt')}",
        f"--service-account-signing-key-file={file('service-accounts.key')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--enable-admission-plugins=ExtendedResourceToleration",
        "--disable-admission-plugins=TaintNodesByCondition",
        # There is one user, so no limits on requests are needed.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        "--profiling=false",
    ]


QPS, BURST = 2000, 4000
"""Requests a second that each controller may send: the machine is the limit, not the client."""

_ABSENT = (
    "bootstrap-signer-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "cloud-node-lifecycle-controller",
    "endpoints-controller",
    "endpointslice-mirroring-controller",
    "horizontal-pod-autoscaler-controller",
    "node-ipam-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "service-lb-controller",
    "token-cleaner-controller",
    "ttl-controller",
)
"""Controllers of what simulated nodes do not have (certificates, routes, disks, metrics, balancers), and
those that write much and change nothing here: copies of endpoints, a hint for kubelets on every node."""

_NO_DEFAULT_SPREAD = {"defaultConstraints": [], "defaultingType": "List"}


def controller_manager_command(binary: Path, credentials: Credentials, has_pods: bool) -> list[str]:
    """Return the command line of the controller manager, which has a Job controller only with pods.

    Simulated nodes send no heartbeats; a grace period of a year keeps them ready.
    """
    absent = (*_ABSENT, *(() if has_pods else ("job-controller",)))
    return [
        str(binary),
        f"--kubeconfig={credentials.kubeconfig('kube-controller-manager')}",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--leader-elect=false",
        f"--controllers=*,{','.join(f'-{name}' for name in absent)}",
        f"--service-account-private-key-file={credentials.file('service-accounts.key')}",
        f"--root-ca-file={credentials.file('ca.crt')}",
        "--node-monitor-grace-period=8760h",
        "--concurrent-job-syncs=50",
        f"--kube-api-qps={QPS}",
        f"--kube-api-burst={BURST}",
        "--profiling=false",
    ]


def scheduler_command(binary: Path, credentials: Credentials) -> list[str]:
    """Write the configuration of the scheduler and return its command line."""
    kubeconfig = credentials.kubeconfig("kube-scheduler")
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": BURST},
        "leaderElection": {"leaderElect": False},
        "podMaxBackoffSeconds": 2,
        # Thousands of nodes are alike here. Of those that fit, a hundred (the least) are compared, and not by
        # how the pods of a Service are spread: that would count all pods for each pod. What a pod asks for
        # itself still holds.
        "percentageOfNodesToScore": 1,
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": _NO_DEFAULT_SPREAD}]}],
        "enableProfiling": False,
    }
    config = credentials.folder.with_name("scheduler.json")
    config.write_text(json.dumps(document), encoding="utf-8")
    return [str(binary), f"--config={config}", "--bind-address=127.0.0.1", "--secure-port=0"]


_KUEUE_SERVICE = "kueue-webhook-service"
_KUEUE_SECRET = "kueue-webhook-server-cert"  # noqa: S105 - a name
KUEUE_HOST = f"{_KUEUE_SERVICE}.{kinds.KUEUE_NAMESPACE}.svc"
"""The name that the certificate of the webhooks needs, apart from the loopback address."""


_FRAMEWORKS = ("batch/job", f"{kinds.JOBSET_GROUP}/jobset")
_POD_WEBHOOKS = frozenset({"mpod.kb.io", "vpod.kb.io"})
_CONFIGURATIONS = "kueue-"
"""Prefix of the names of Kueue's webhook configurations."""


def kueue_frameworks(settings: dict[str, Any]) -> list[str]:
    """Return the integrations that Kueue's settings turn on; by default Jobs and JobSets."""
    frameworks: list[str] = settings.get("integrations", {}).get("frameworks", list(_FRAMEWORKS))
    return frameworks


def without_idle_webhooks(items: list[dict[str, Any]], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return objects without Kueue's webhooks for plain pods, unless its settings have that integration.

    They would be called twice for each pod, without effect. JobSet's have the same names.
    """
    if "pod" in kueue_frameworks(settings):
        return items
    for item in items:
        if "webhooks" in item and item["metadata"]["name"].startswith(_CONFIGURATIONS):
            item["webhooks"] = [hook for hook in item["webhooks"] if hook["name"] not in _POD_WEBHOOKS]
    return items


def kueue_secret(credentials: Credentials) -> dict[str, Any]:
    """Return the Secret in which Kueue looks for its certificates."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _KUEUE_SECRET, "namespace": kinds.KUEUE_NAMESPACE},
        "stringData": {
            "ca.crt": credentials.webhook_authority.certificate,
            "ca.key": credentials.webhook_authority.key,
            "tls.crt": credentials.webhook_server.certificate,
            "tls.key": credentials.webhook_server.key,
        },
    }


def kueue_command(
    binary: Path, credentials: Credentials, webhook_port: int, settings: dict[str, Any]
) -> list[str]:
    """Write the configuration of the controller and return its command line.

    `settings` are the fields of Kueue's own Configuration that a cluster sets. They do not change the
    addresses and certificates of the test bed.
    """
    own = {
        **settings,
        "apiVersion": kinds.KUEUE_CONFIGURATION_VERSION,
        "integrations": {**settings.get("integrations", {}), "frameworks": kueue_frameworks(settings)},
        "namespace": kinds.KUEUE_NAMESPACE,
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": _KUEUE_SERVICE,
            "webhookSecretName": _KUEUE_SECRET,
        },
        "featureGates": {**settings.get("featureGates", {}), "VisibilityOnDemand": False},
    }
    return _command("kueue", binary, credentials, webhook_port, own)


def jobset_command(
    binary: Path, credentials: Credentials, webhook_port: int, gates: dict[str, bool]
) -> list[str]:
    """Write the configuration of the controller and return its command line."""
    own = {
        "apiVersion": f"config.{kinds.JOBSET_GROUP}/v1alpha1",
        "internalCertManagement": {"enable": False},
        "featureGates": gates,
    }
    return _command("jobset", binary, credentials, webhook_port, own)


def _command(user: str, binary: Path, credentials: Credentials, webhook_port: int, own: Object) -> list[str]:
    """Write the configuration of a controller, its own fields and those of the test bed."""
    document = {
        **own,
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": QPS, "burst": BURST},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(credentials.file("webhooks"))},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    config = _file(credentials, user)
    config.write_text(json.dumps(document), encoding="utf-8")
    return [str(binary), f"--config={config}", f"--kubeconfig={credentials.kubeconfig(user)}"]


def _file(credentials: Credentials, user: str) -> Path:
    return credentials.folder.with_name(f"{user}.json")


def kueue_config_map(credentials: Credentials) -> Object:
    """Return a ConfigMap with Kueue's configuration, as a cluster has it after an installation."""
    return config_map(_file(credentials, "kueue").read_text(encoding="utf-8"))


OPERATOR_VARIABLE = "SLICEWRIGHT_PATHWAYS_CONTROLLER"
"""The variable with the path of the real controller, which no package registry has."""

SIMULATED_OPERATOR = "simulated operator"
"""The name of our own operator in results."""


def operator_name(environ: Mapping[str, str]) -> str:
    """Return the name for reports of the PathwaysJob operator that the environment selects."""
    return "PathwaysJob controller" if environ.get(OPERATOR_VARIABLE) else SIMULATED_OPERATOR


def operator_command(kubeconfig: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the operator. Raises BedError if the variable names no program."""
    binary = environ.get(OPERATOR_VARIABLE, "")
    if not binary:
        module = "slicewright.testbed.simulated_operator"
        return [sys.executable, "-m", module, str(kubeconfig), str(Path.cwd())]
    if not Path(binary).is_file():
        message = f"{OPERATOR_VARIABLE} names {binary}, which is not a file"
        raise BedError(Problem("BED005", message, "name the controller's binary, or unset the variable"))
    return [
        str(Path(binary).absolute()),
        f"--kubeconfig={kubeconfig}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
    ]


def jobset_answers(api: Api) -> bool:
    """Return true once a dry run has passed through JobSet's webhooks. Raises ApiError while it does not."""
    return _accepted(api, _JOBSET)


def kueue_answers(api: Api) -> bool:
    """Return true once dry runs have passed through Kueue's webhooks and its conversion. Raises ApiError."""
    return all(_accepted(api, item) for item in _CLUSTER_QUEUES)


def _accepted(api: Api, item: Object) -> bool:
    return bool(api.create(item, dryRun="All"))


_POD: Object = {"containers": [{"name": "a", "image": "probe"}]}
_JOBSET: Object = {
    "apiVersion": kinds.JOBSET_VERSION,
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": _POD}}}}]},
}
_CLUSTER_QUEUES: tuple[Object, ...] = tuple(
    {
        "apiVersion": f"{kinds.KUEUE_GROUP}/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "probe"},
        "spec": {"namespaceSelector": {}},
    }
    for version in ("v1beta2", "v1beta1")
)
"""Both versions: the older one is converted by Kueue on its way in."""
