"""Who is who in a cluster: the files with certificates and keys, and a kubeconfig for each program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.testbed.certs import Authority, Pair, signing_pair
from slicewright.testbed.kubeconfig import Access, write

if TYPE_CHECKING:
    from pathlib import Path

WEBHOOK_AUTHORITY = "kueue-ca"
"""The name that Kueue's certificate manager expects of the authority in its Secret."""

_USERS: dict[str, tuple[str, ...]] = {
    "admin": ("slicewright", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", "system:masters"),
    "kube-scheduler": ("system:kube-scheduler",),
    "jobset": ("system:serviceaccount:jobset-system:jobset-controller-manager", "system:serviceaccounts"),
    "kueue": ("system:serviceaccount:kueue-system:kueue-controller-manager", "system:serviceaccounts"),
    "kwok": ("kwok", "system:masters"),
    "pathways": ("pathways-operator", "system:masters"),
}
"""User and groups of each program: JobSet and Kueue have the rights of their release manifests only."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the files of a cluster lie, and what goes into the API."""

    folder: Path
    server: str
    name: str
    authority: Pair
    webhook_authority: Pair
    webhook_server: Pair
    clients: dict[str, Pair]

    def file(self, name: str) -> Path:
        """Return a file of the folder, such as `ca.crt` or `apiserver.key`."""
        return self.folder / name

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a program, or of `admin`."""
        return self.folder / f"{user}.kubeconfig"

    def access(self, user: str) -> Access:
        """Return how a user reaches the API server."""
        pair = self.clients[user]
        return Access(self.server, self.authority.certificate, pair.certificate, pair.key)


def issue(folder: Path, server: str, name: str, webhook_hosts: tuple[str, ...]) -> Credentials:
    """Make all certificates of a cluster and write what its programs read."""
    folder.mkdir(mode=0o700)
    authority, webhooks = Authority("slicewright-ca"), Authority(WEBHOOK_AUTHORITY)
    (folder / "ca.crt").write_text(authority.pair.certificate, encoding="ascii")
    pairs = {
        "etcd": authority.server("etcd"),
        "etcd-client": authority.client("kube-apiserver"),
        "apiserver": authority.server("kube-apiserver", "kubernetes.default.svc"),
        "service-accounts": signing_pair(),
    }
    for file, pair in pairs.items():
        _write(folder, file, pair)
    made = Credentials(
        folder=folder,
        server=server,
        name=name,
        authority=authority.pair,
        webhook_authority=webhooks.pair,
        webhook_server=webhooks.server("webhooks", *webhook_hosts),
        clients={user: authority.client(*names) for user, names in _USERS.items()},
    )
    (folder / "webhooks").mkdir()
    _write(folder / "webhooks", "tls", made.webhook_server)
    (folder / "webhooks" / "ca.crt").write_text(webhooks.pair.certificate, encoding="ascii")
    for user in _USERS:
        write(made.kubeconfig(user), made.access(user), name=name)
    return made


def _write(folder: Path, name: str, pair: Pair) -> None:
    (folder / f"{name}.crt").write_text(pair.certificate, encoding="ascii")
    key = folder / f"{name}.key"
    key.touch(0o600)
    key.write_text(pair.key, encoding="ascii")
