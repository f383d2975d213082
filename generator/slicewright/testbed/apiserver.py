"""kube-apiserver, with the admission plugin that GKE turns on for TPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.testbed.credentials import Credentials

APISERVER_ENVIRON = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Collect less garbage while there is memory: it takes a fifth of the work at the start."""


def apiserver_command(binary: Path, credentials: Credentials, *, port: int, etcd_port: int) -> list[str]:
    """Return the command line.

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
