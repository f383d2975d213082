"""The credentials of a cluster's programs: files with certificates and keys, and a kubeconfig for each."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from slicewright.cluster.api.kubeconfig import Access, write

_LIFETIME = dt.timedelta(days=365)
_CLOCK_SKEW = dt.timedelta(hours=1)
_LOOPBACK = ipaddress.ip_address("127.0.0.1")


class Pair(Struct, frozen=True):
    """A certificate and its private key, as PEM texts."""

    certificate: str
    key: str


class Authority:
    """A certificate authority.

    Its key is an RSA key in PKCS#1, and its name one of its DNS names, because Kueue's certificate manager
    asks for both. The keys that it signs are elliptic, because these are fast to make.
    """

    def __init__(self, name: str) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._key_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._name = _name(name)
        builder = _certificate(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        builder = builder.add_extension(self._key_id, critical=False)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pair = Pair(_pem(self._certificate), _pem_key(self._key))

    def server(self, name: str, *dns: str) -> Pair:
        """Return a certificate for a server on the loopback address, which can also be a client."""
        names = [x509.DNSName(host) for host in ("localhost", *dns)]
        alternatives = x509.SubjectAlternativeName([x509.IPAddress(_LOOPBACK), *names])
        return self._sign(_name(name), alternatives)

    def client(self, user: str, *groups: str) -> Pair:
        """Return a certificate by which the API server knows a user and its groups."""
        return self._sign(_name(user, *groups), None)

    def _sign(self, subject: x509.Name, alternatives: x509.SubjectAlternativeName | None) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _certificate(subject, self._name, key.public_key())
        builder = builder.add_extension(_usage(signs=False), critical=True)
        authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._key_id)
        builder = builder.add_extension(authority, critical=False)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if alternatives is not None:
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(alternatives, critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        return Pair(_pem(builder.sign(self._key, hashes.SHA256())), _pem_key(key))


def signing_pair() -> Pair:
    """Return a public and a private key, for the tokens of service accounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Pair(public.decode("ascii"), _pem_key(key))


def _name(common: str, *organizations: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def _pem_key(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode("ascii")


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


class Credentials(Struct, frozen=True):
    """The paths of a cluster's files, and the credentials in its API."""

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
    """Create all certificates of a cluster, and write the files that its programs read."""
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
    credentials = Credentials(
        folder=folder,
        server=server,
        name=name,
        authority=authority.pair,
        webhook_authority=webhooks.pair,
        webhook_server=webhooks.server("webhooks", *webhook_hosts),
        clients={user: authority.client(*names) for user, names in _USERS.items()},
    )
    (folder / "webhooks").mkdir()
    _write(folder / "webhooks", "tls", credentials.webhook_server)
    (folder / "webhooks" / "ca.crt").write_text(webhooks.pair.certificate, encoding="ascii")
    for user in _USERS:
        write(credentials.kubeconfig(user), credentials.access(user), name=name)
    return credentials


def _write(folder: Path, name: str, pair: Pair) -> None:
    (folder / f"{name}.crt").write_text(pair.certificate, encoding="ascii")
    key = folder / f"{name}.key"
    key.touch(0o600)
    key.write_text(pair.key, encoding="ascii")
