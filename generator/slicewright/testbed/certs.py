"""Certificates of one cluster: an authority of its own, and what it signs. Nothing outlives the cluster."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=365)
_CLOCK_SKEW = dt.timedelta(hours=1)
_LOOPBACK = ipaddress.ip_address("127.0.0.1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM texts."""

    certificate: str
    key: str


class Authority:
    """A certificate authority.

    Its key is an RSA key in PKCS#1, and its name one of its DNS names, because Kueue's certificate manager
    asks for both; the keys that it signs are elliptic, which are made at once.
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
        """Return a certificate for a server on the loopback address, and its clients' side."""
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
