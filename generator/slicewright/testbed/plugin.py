"""Credential plugins of kubeconfig files: programs that print who asks, such as gke-gcloud-auth-plugin."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from slicewright.core.problem import Problem
from slicewright.testbed.errors import BedError

_SECONDS = 60
"""A plugin may have to ask a server for a token, but nobody is there to answer its questions."""
_LINES = 10
_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))


class Credential(NamedTuple):
    """Who asks: a bearer token, or a client certificate with its key, as PEM texts."""

    certificate: str = ""
    key: str = ""
    token: str = ""


@dataclass(slots=True)
class Plugin:
    """The `exec` section of a user, what its program is told of the cluster, and what it has printed last."""

    section: dict[str, Any]
    cluster: dict[str, Any]
    _credential: Credential | None = field(default=None, compare=False)
    _expiry: dt.datetime | None = field(default=None, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    @classmethod
    def of(cls, section: Any, cluster: dict[str, Any]) -> Self:
        """Return the plugin of a section. Raises TypeError, KeyError where it is none."""
        texts = [section["apiVersion"], section["command"], *(section.get("args") or ())]
        texts += [entry[key] for entry in section.get("env") or () for key in ("name", "value")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("'exec' has a value that is not a text")
        return cls(section, cluster)

    def credential(self) -> Credential:
        """Return a credential that has not expired; the program runs only where a new one is needed.

        Raises BedError where it fails, takes too long or prints something else.
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
            raise self._failed("needs a terminal (interactiveMode: Always), and a rehearsal has none")
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
                printed, said = process.communicate(timeout=_SECONDS)
            except BaseException as error:  # a Ctrl-C too
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise self._failed(f"gave no credential within {_SECONDS} s") from None
        if process.returncode:
            lines = said.strip().splitlines()[-_LINES:] or ["it wrote nothing to stderr"]
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
        """Return our environment with what the section adds, and what the protocol tells of the cluster."""
        spec: dict[str, Any] = {"interactive": False}
        if self.section.get("provideClusterInfo"):
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.section["apiVersion"], "kind": "ExecCredential", "spec": spec}
        named = {entry["name"]: entry["value"] for entry in self.section.get("env") or ()}
        return {**os.environ, **named, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _failed(self, why: str, hint: str = "") -> BedError:
        hint = hint or "log in again; kubectl get nodes with the same context runs it too"
        return BedError(Problem("BED009", f"the credential plugin {self.section['command']} {why}", hint))
