"""Kubeconfig files: write one for a client of our own cluster, read anybody's to reach a cluster."""

from __future__ import annotations

import base64
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from slicewright.core.problem import Problem
from slicewright.testbed.trouble import BedError


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach an API server and be somebody there. Certificates and keys are PEM texts."""

    server: str
    authority: str = ""
    certificate: str = ""
    key: str = ""
    token: str = ""

    def context(self) -> ssl.SSLContext:
        """Return how connections are made and trusted."""
        context = ssl.create_default_context(cadata=self.authority or None)
        if self.certificate:
            with tempfile.TemporaryDirectory() as folder:  # ssl reads client keys from files only
                certificate, key = Path(folder, "certificate"), Path(folder, "key")
                certificate.write_text(self.certificate, encoding="ascii")
                key.touch(0o600)
                key.write_text(self.key, encoding="ascii")
                context.load_cert_chain(certificate, key)
        return context

    def headers(self) -> dict[str, str]:
        """Return the headers that say who asks."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def write(path: Path, access: Access, *, name: str) -> Path:
    """Write a kubeconfig file with everything in it, readable for its owner only."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": access.server,
                    "certificate-authority-data": _encoded(access.authority),
                },
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _encoded(access.certificate),
                    "client-key-data": _encoded(access.key),
                    **({"token": access.token} if access.token else {}),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(0o600)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def read(path: Path, context: str = "") -> Access:
    """Return how a context of a kubeconfig file, else its current one, reaches its cluster.

    Certificates and tokens are understood, helper programs are not: a test bed has none. Raises BedError.
    """
    try:
        return _access(path, context)
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        message = f"{path} is no kubeconfig that can be used here: {error!r}"
        hint = "name a file with a current context, a server and a client certificate or a token"
        raise BedError(Problem("BED004", message, hint)) from error


def _access(path: Path, context: str) -> Access:
    document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    chosen = _named(document, "contexts", context or document["current-context"])["context"]
    cluster = _named(document, "clusters", chosen["cluster"])["cluster"]
    user = _named(document, "users", chosen["user"])["user"]
    access = Access(
        server=cluster["server"],
        authority=_text(cluster, "certificate-authority", path),
        certificate=_text(user, "client-certificate", path),
        key=_text(user, "client-key", path),
        token=user.get("token", ""),
    )
    if not (access.certificate or access.token):
        raise ValueError(f"user '{chosen['user']}' has neither a client certificate nor a token")
    return access


def _named(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    entries = {entry["name"]: entry for entry in document[section]}
    entry: dict[str, Any] = entries[name]
    return entry


def _text(section: dict[str, str], key: str, path: Path) -> str:
    """Return a PEM text that stands in the file, or in another one that it names."""
    if f"{key}-data" in section:
        return base64.b64decode(section[f"{key}-data"]).decode("ascii")
    return (path.parent / section[key]).read_text(encoding="ascii") if key in section else ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("ascii")).decode("ascii")
