"""etcd: one member that keeps the cluster's objects while the cluster lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.testbed.credentials import Credentials


def etcd_command(
    binary: Path, credentials: Credentials, *, data: Path, client_port: int, peer_port: int
) -> list[str]:
    """Return the command line: loopback only, everybody with a certificate, no waiting for the disk."""
    client, peer = f"https://127.0.0.1:{client_port}", f"https://127.0.0.1:{peer_port}"
    ca, certificate, key = (str(credentials.file(name)) for name in ("ca.crt", "etcd.crt", "etcd.key"))
    return [
        str(binary),
        "--name=slicewright",
        f"--data-dir={data}",
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
