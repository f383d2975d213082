"""The control plane: command lines of etcd, the API server, the controller manager and the scheduler."""

import json
from pathlib import Path

from slicewright.testbed.credentials import Credentials


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
        "--unsafe-no-fsync",  # what a power cut loses here was to be thrown away
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


APISERVER_ENVIRON = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Collect less garbage while there is memory: it takes a fifth of the work at the start."""


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
        # One user with a machine of his own: nobody has to be kept from asking too much.
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

    Simulated nodes send no heartbeats; a year of grace keeps them ready until somebody says otherwise.
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
