"""Reads kubeconfig files to reach a cluster, and writes one for the test bed.

The user of a context may name a credential plugin: a program that prints a token or a certificate, such as
gke-gcloud-auth-plugin.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import os
import signal
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import urllib3
import yaml

from slicewright.cluster.api.api_error import AccessError
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object

_SECONDS = 60
"""Seconds for a plugin: it may ask a server for a token, but it cannot ask the user."""
_LINES = 10
_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))


class Credential(NamedTuple):
    """A bearer token, or a client certificate with its key, as PEM texts."""

    certificate: str = ""
    key: str = ""
    token: str = ""


@dataclass(slots=True)
class Plugin:
    """The `exec` section of a user, the cluster data for its program, and the program's last output."""

    section: dict[str, Any]
    cluster: dict[str, Any]
    _credential: Credential | None = field(default=None, compare=False)
    _expiry: dt.datetime | None = field(default=None, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    @classmethod
    def of(cls, section: Any, cluster: dict[str, Any]) -> Self:
        """Return the plugin of a section. Raises TypeError or KeyError if the section is invalid."""
        texts = [section["apiVersion"], section["command"], *(section.get("args") or ())]
        texts += [entry[key] for entry in section.get("env") or () for key in ("name", "value")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("'exec' has a value that is not a text")
        return cls(section, cluster)

    def credential(self) -> Credential:
        """Return a credential that has not expired; the program runs only where a new one is needed.

        Raises AccessError if it fails, takes too long or prints something else.
        """
        with self._lock:
            if self._credential is None or (self._expiry and self._expiry <= dt.datetime.now(dt.UTC)):
                self._credential, self._expiry = self._parsed(self._run())
            return self._credential

    def forget(self, refused: Credential) -> None:
        """Run the program again for the next request: the server has refused a credential."""
        with self._lock:
            if self._credential == refused:
                self._credential = None

    def _run(self) -> str:
        """Return what the program prints. It is alone in its process group, so that no child survives it."""
        if self.section.get("apiVersion") not in _VERSIONS:
            raise self._failed(f"uses apiVersion {self.section.get('apiVersion')}, not {_VERSIONS[0]}")
        if self.section.get("interactiveMode") == "Always":
            raise self._failed("needs a terminal (interactiveMode: Always), and gets none")
        try:
            process = subprocess.Popen(
                [self.section["command"], *(self.section.get("args") or ())],
                env=self._environ(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                process_group=0,
            )
        except OSError as error:
            hint = self.section.get("installHint") or "install it, or correct 'command' in the kubeconfig"
            raise self._failed(f"cannot be started: {error.strerror}", hint) from error
        with process:
            try:
                printed, stderr = process.communicate(timeout=_SECONDS)
            except BaseException as error:  # a Ctrl-C too
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise self._failed(f"gave no credential within {_SECONDS} s") from None
        if process.returncode:
            lines = stderr.strip().splitlines()[-_LINES:] or ["it wrote nothing to stderr"]
            raise self._failed(f"failed with exit code {process.returncode}: {' | '.join(lines)}")
        return printed

    def _parsed(self, printed: str) -> tuple[Credential, dt.datetime | None]:
        """Return the credential of an answer, and when it ends. It may hold a secret: no message shows it."""
        version = self.section["apiVersion"]
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            answer = json.loads(printed)
            if (answer["kind"], answer["apiVersion"]) == ("ExecCredential", version):
                status = answer["status"]
                token = str(status.get("token") or "")
                pair = (status.get("clientCertificateData") or "", status.get("clientKeyData") or "")
                ends = status.get("expirationTimestamp")
                expiry = dt.datetime.fromisoformat(ends).astimezone(dt.UTC) if ends else None
                if token or all(pair):
                    return Credential(*pair, token), expiry
        raise self._failed(f"printed no ExecCredential of {version} with a token or a client certificate")

    def _environ(self) -> dict[str, str]:
        """Return our environment with the variables of the section and those of the plugin protocol."""
        spec: dict[str, Any] = {"interactive": False}
        if self.section.get("provideClusterInfo"):
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.section["apiVersion"], "kind": "ExecCredential", "spec": spec}
        named = {entry["name"]: entry["value"] for entry in self.section.get("env") or ()}
        return {**os.environ, **named, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _failed(self, why: str, hint: str = "") -> AccessError:
        hint = hint or "log in again; kubectl get nodes with the same context runs it too"
        return AccessError(Problem("BED009", f"the credential plugin {self.section['command']} {why}", hint))


EXTENSION = "client.authentication.k8s.io/exec"
_FILES = ("certificate-authority", "client-certificate", "client-key")


@dataclass(frozen=True, slots=True)
class Access:
    """The address and the credentials of an API server. Certificates and keys are PEM texts."""

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
        """Return the access with the credential that the plugin gives now. Raises AccessError."""
        return replace(self, **self.plugin.credential()._asdict()) if self.plugin else self

    def forget(self, refused: Access) -> bool:
        """Tell whether there is another credential than the one that the server refused."""
        if self.plugin:
            self.plugin.forget(Credential(refused.certificate, refused.key, refused.token))
        return self.plugin is not None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of connections. Raises AccessError for an invalid certificate."""
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
            hint = "get the credentials of the cluster again"
            raise AccessError(Problem("BED004", message, hint)) from error
        return context

    def pool(self, size: int) -> urllib3.PoolManager:
        """Return a pool of connections, which keeps up to a number of them open."""
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

    Raises AccessError. No credential plugin runs yet.
    """
    with _read_errors(path):
        return _access(*_sections(path, context))


@contextlib.contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Raise the errors of a kubeconfig file as AccessError."""
    try:
        yield
    except (OSError, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        may_quote = isinstance(error, (UnicodeError, urllib3.exceptions.HTTPError))
        reason = type(error).__name__ if may_quote else repr(error)
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        message = f"{path} is not a usable kubeconfig: {reason}"
        hint = (
            "name a file with a context, a server and a client certificate, a token or a credential plugin; "
        )
        hint += "gcloud container clusters get-credentials NAME writes one"
        raise AccessError(Problem("BED004", message, hint)) from error


def contexts(path: Path) -> list[str]:
    """Return the names of the contexts of a kubeconfig file. Raises AccessError."""
    with _read_errors(path):
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return [str(entry["name"]) for entry in document["contexts"] or ()]


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
    """Return the cluster and the user of a context; paths relative to the file become absolute."""
    document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    chosen = _entry(document, "contexts", context or document["current-context"])["context"]
    cluster = _entry(document, "clusters", chosen["cluster"])["cluster"]
    user = _entry(document, "users", chosen["user"])["user"]
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


def _entry(document: Object, section: str, name: str) -> Object:
    entries: dict[str, Object] = {entry["name"]: entry for entry in document[section]}
    return entries[name]


def _text(section: Object, key: str) -> str:
    """Return a PEM text that is in the file, or in another one that it names."""
    if f"{key}-data" in section:
        return base64.b64decode(section[f"{key}-data"]).decode("ascii")
    return Path(section[key]).read_text(encoding="ascii") if key in section else ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("ascii")).decode("ascii")
