"""Kubeconfig files and certificates: who may reach which cluster."""

import base64
import ssl
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import AccessError
from slicewright.cluster.api.kubeconfig import Access
from slicewright.testbed import credentials
from slicewright.testbed.credentials import Authority


@pytest.fixture
def access(authority: Authority) -> Access:
    """Return an access with a client certificate."""
    pair = authority.client("ann", "system:masters")
    return Access("https://127.0.0.1:1", authority.pair.certificate, pair.certificate, pair.key)


def test_written_and_read(access: Access, tmp_path: Path) -> None:
    """What is written is read again, and only the owner may."""
    path = kubeconfig.write(tmp_path / "config", access, name="c")

    assert kubeconfig.read(path) == access
    assert path.stat().st_mode & 0o077 == 0


def test_files_beside_the_kubeconfig(access: Access, tmp_path: Path) -> None:
    """Certificates may stand in files of their own, named relative to the kubeconfig; tokens are read too."""
    document = yaml.safe_load(kubeconfig.write(tmp_path / "config", access, name="c").read_text())
    cluster = document["clusters"][0]["cluster"]
    (tmp_path / "ca.pem").write_bytes(base64.b64decode(cluster.pop("certificate-authority-data")))
    cluster["certificate-authority"] = "ca.pem"
    document["users"][0]["user"] = {"token": "secret"}
    (tmp_path / "config").write_text(yaml.safe_dump(document))

    found = kubeconfig.read(tmp_path / "config")

    assert found == Access(access.server, access.authority, token="secret")  # noqa: S106 - no secret
    assert found.headers() == {"Authorization": "Bearer secret"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{current-context: absent, contexts: []}", "{", "current-context: 1"]
)
def test_no_kubeconfig(text: str, tmp_path: Path) -> None:
    """A file that is none is refused with its name."""
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(AccessError, match=f"{path} is not a usable kubeconfig"):
        kubeconfig.read(path)


def test_kubeconfig_without_credentials(access: Access, tmp_path: Path) -> None:
    """A user who is nobody is refused here, not by the API server."""
    path = kubeconfig.write(tmp_path / "config", access, name="c")
    document = yaml.safe_load(path.read_text())
    document["users"][0]["user"] = {"auth-provider": {"name": "gcp"}}
    path.write_text(yaml.safe_dump(document))

    with pytest.raises(AccessError, match="no client certificate, no token and no credential plugin"):
        kubeconfig.read(path)


def test_missing_kubeconfig(tmp_path: Path) -> None:
    """A file that is not there is refused with its name."""
    with pytest.raises(AccessError, match="is not a usable kubeconfig"):
        kubeconfig.read(tmp_path / "absent")


def test_context_takes_the_pair(access: Access) -> None:
    """The client certificate is one that TLS accepts, and it checks its server against the authority."""
    context = access.context()

    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.cert_store_stats()["x509_ca"] == 1


def test_names_in_certificates(access: Access) -> None:
    """A user and its groups stand where the API server reads them."""
    subject = x509.load_pem_x509_certificate(access.certificate.encode()).subject

    assert subject.rfc4514_string() == "CN=ann,O=system:masters"


def test_files_of_a_cluster(tmp_path: Path) -> None:
    """Every program has a kubeconfig, every key is its owner's alone."""
    papers = credentials.issue(tmp_path / "c", "https://127.0.0.1:1", "lab", ("hook.example.svc",))

    users = {path.stem for path in papers.folder.glob("*.kubeconfig")}
    assert users == {
        "admin",
        "jobset",
        "kube-controller-manager",
        "kube-scheduler",
        "kueue",
        "kwok",
        "pathways",
    }
    secret = [*papers.folder.rglob("*.key"), *papers.folder.rglob("*.kubeconfig")]
    assert [path for path in secret if path.stat().st_mode & 0o077] == []
    served = x509.load_pem_x509_certificate((papers.file("webhooks") / "tls.crt").read_bytes())
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "hook.example.svc"]
