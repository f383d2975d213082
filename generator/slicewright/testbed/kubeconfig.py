"""Kubeconfig files: write one for a client of our own cluster, read anybody's to reach a cluster."""

from __future__ import annotations

import base64
import ssl
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import urllib3
import yaml

from slicewright.core.problem import Problem
from slicewright.testbed.errors import BedError
from slicewright.testbed.plugin import Credential, Plugin

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object

EXTENSION = "client.authentication.k8s.io/exec"
_FILES = ("certificate-authority", "client-certificate", "client-key")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach an API server and be somebody there. Certificates and keys are PEM texts."""

    server: str
    authority: str = ""
    certificate: str = ""
    key: str = ""
    token: str = ""
    plugin: Plugin | None = None
    """The program that says who asks, instead of the three above."""
    server_name: str = ""
    """The name in the certificate of the server, where the URL has another one."""
    insecure: bool = False
    proxy: str = ""

    def resolved(self) -> Self:
        """Return the access with the credential that the plugin gives now. Raises BedError."""
        return replace(self, **self.plugin.credential()._asdict()) if self.plugin else self

    def forget(self, refused: Access) -> bool:
        """Tell whether another credential can be had than one that the server refused."""
        if self.plugin:
            self.plugin.forget(Credential(refused.certificate, refused.key, refused.token))
        return self.plugin is not None

    def context(self) -> ssl.SSLContext:
        """Return how connections are made and trusted. Raises BedError for a certificate that is none."""
        try:
            context = ssl.create_default_context(cadata=self.authority or None)
            if self.insecure:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if self.certificate:
                with tempfile.TemporaryDirectory() as folder:  # ssl reads client keys from files only
                    certificate, key = Path(folder, "certificate"), Path(folder, "key")
                    certificate.write_text(self.certificate, encoding="ascii")
                    key.touch(0o600)
                    key.write_text(self.key, encoding="ascii")
                    context.load_cert_chain(certificate, key)
        except (ssl.SSLError, UnicodeError) as error:
            message = f"the certificates for {self.server} cannot be used: {type(error).__name__}"
            raise BedError(Problem("BED004", message, "get the credentials of the cluster again")) from error
        return context

    def pool(self, size: int) -> urllib3.PoolManager:
        """Return connections, of which so many are kept."""
        options: Object = {"maxsize": size, "ssl_context": self.context()}
        if self.server_name:
            options["server_hostname"] = self.server_name
        if self.insecure:  # the kubeconfig says so
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if not self.proxy:
            return urllib3.PoolManager(**options)
        user = urllib3.util.parse_url(self.proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        return urllib3.ProxyManager(self.proxy, proxy_headers=headers, **options)

    def headers(self) -> dict[str, str]:
        """Return the headers that say who asks."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def write(path: Path, access: Access, *, name: str) -> Path:
    """Write a kubeconfig file with everything in it, readable for its owner only."""
    cluster = {"server": access.server, "certificate-authority-data": _encoded(access.authority)}
    user = {
        "client-certificate-data": _encoded(access.certificate),
        "client-key-data": _encoded(access.key),
        **({"token": access.token} if access.token else {}),
    }
    return _write(path, name, cluster, user)


def copy(source: Path, context: str, target: Path) -> Path:
    """Write what a context of a file that was read needs to another file, as its current context."""
    return _write(target, context, *_sections(source, context))


def read(path: Path, context: str = "") -> Access:
    """Return how a context of a kubeconfig file, else its current one, reaches its cluster.

    Raises BedError. No credential plugin runs yet.
    """
    try:
        return _access(*_sections(path, context))
    except (OSError, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        may_quote = isinstance(error, (UnicodeError, urllib3.exceptions.HTTPError))
        reason = type(error).__name__ if may_quote else repr(error)
        message = f"{path} is not a kubeconfig that can be used here: {reason}"
        hint = "name a file with a context, a server and a client certificate, a token or a credential plugin"
        raise BedError(Problem("BED004", message, hint)) from error


def _write(path: Path, name: str, cluster: Object, user: Object) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(0o600)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def _sections(path: Path, context: str) -> tuple[Object, Object]:
    """Return the cluster and the user of a context; what they name beside the file gets its whole path."""
    document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    chosen = _named(document, "contexts", context or document["current-context"])["context"]
    cluster = _named(document, "clusters", chosen["cluster"])["cluster"]
    user = _named(document, "users", chosen["user"])["user"]
    folder = path.absolute().parent
    for section in (cluster, user):
        section.update({key: str(folder / section[key]) for key in _FILES if key in section})
    if "/" in user.get("exec", {}).get("command", ""):
        user["exec"]["command"] = str(folder / user["exec"]["command"])
    return cluster, user


def _access(cluster: Object, user: Object) -> Access:
    access = Access(
        server=cluster["server"],
        authority=_text(cluster, "certificate-authority"),
        certificate=_text(user, "client-certificate"),
        key=_text(user, "client-key"),
        token=user.get("token", ""),
        server_name=cluster.get("tls-server-name", ""),
        insecure=cluster.get("insecure-skip-tls-verify", False),
        proxy=cluster.get("proxy-url", ""),
    )
    if access.proxy and urllib3.util.parse_url(access.proxy).scheme not in ("http", "https"):
        raise ValueError(
            f"proxy-url is supported for http:// and https://, not {access.proxy.partition(':')[0]}"
        )
    if access.certificate or access.token:
        return access
    if "exec" not in user:
        raise ValueError("its user has no client certificate, no token and no credential plugin")
    known = {key: value for key, value in cluster.items() if key not in (*_FILES, "extensions")}
    if access.authority:
        known["certificate-authority-data"] = _encoded(access.authority)
    for entry in cluster.get("extensions") or ():
        if entry["name"] == EXTENSION:
            known["config"] = entry["extension"]
    return replace(access, plugin=Plugin.of(user["exec"], known))


def _named(document: Object, section: str, name: str) -> Object:
    entries = {entry["name"]: entry for entry in document[section]}
    entry: Object = entries[name]
    return entry


def _text(section: Object, key: str) -> str:
    """Return a PEM text that is in the file, or in another one that it names."""
    if f"{key}-data" in section:
        return base64.b64decode(section[f"{key}-data"]).decode("ascii")
    return Path(section[key]).read_text(encoding="ascii") if key in section else ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("ascii")).decode("ascii")
