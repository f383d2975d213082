"""Argo CD beside a bed: redis, the repo-server and the application-controller."""

import gzip
import http.client
import os
import secrets
import shutil
from pathlib import Path

import yaml

from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.programs.find import find
from slicewright.programs.pins import versions
from slicewright.testbed import supervisor
from slicewright.testbed.bed import Bed
from slicewright.testbed.manifests import for_host

NAMESPACE = "argocd"
DEFINITIONS = Path(__file__).with_name("crds")

_REDIS, _REPO, _REPO_METRICS, _CONTROLLER_METRICS = 16379, 18081, 18084, 18082
"""Nobody else is in the network namespace; the bed's ports begin higher."""

_OK = 200
_LOG_LINES, _LOG_CHARACTERS = 20, 300
_PART_OF = {"app.kubernetes.io/part-of": "argocd"}
"""Label by which Argo CD finds its own settings."""

_SETTINGS = {
    "application.resourceTrackingMethod": "annotation",
    "timeout.reconciliation": "1h",  # the tests say when Argo CD is to look
    "timeout.reconciliation.jitter": "0s",
    # As in Argo CD's own manifests: what an Application notes of itself is not a news to the one above it.
    "resource.customizations.ignoreResourceUpdates.all": "jsonPointers: [/status]\n",
    "resource.customizations.ignoreResourceUpdates.argoproj.io_Application": (
        """jqPathExpressions: ['.metadata.annotations."argocd.argoproj.io/refresh"', .operation]\n"""
    ),
}


def start(bed: Bed) -> None:
    """Define Argo CD's kinds, write its settings, start its programs and wait until they answer."""
    for item in _objects():
        bed.api.create(item)
    folder = bed.processes.folder / NAMESPACE
    programs = _program_folder(folder)
    shared = _environ(folder)
    bed.processes.start("redis", _redis(folder))
    bed.processes.start("repo-server", _repo_server(programs / "argocd-repo-server"), **shared)
    bed.processes.start(
        "application-controller",
        _controller(programs / "argocd-application-controller"),
        **shared,
        KUBECONFIG=str(bed.kubeconfig),
        # The destination https://kubernetes.default.svc is then the cluster of the kubeconfig.
        ARGOCD_FAKE_IN_CLUSTER="true",
        # One that heals itself waits for longer and longer; that it heals again is what a test looks for.
        ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_CAP_SECONDS="2",
    )
    bed.until("Argo CD's repo-server", lambda: _healthy(_REPO_METRICS))
    bed.until("Argo CD's application-controller", lambda: _healthy(_CONTROLLER_METRICS))


def log_end(bed: Bed) -> str:
    """Return the last lines of the log of Argo CD's controller."""
    log = bed.processes.folder / supervisor.LOGS / "application-controller.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
    return "\n".join(line[:_LOG_CHARACTERS] for line in lines)


def redis_server() -> str:
    """Return the path of redis, which has to be installed."""
    found = shutil.which("redis-server")
    assert found, "redis-server is missing: install it (Debian: apt-get install redis-server)"
    return found


def definitions() -> list[Object]:
    """Return the definitions of Application and AppProject, without descriptions.

    They are manifests/crds of Argo CD's Go module, packed with gzip.
    """
    release = versions()["argoCDTested"]
    texts = [
        gzip.decompress((DEFINITIONS / f"{name}-{release}.yaml.gz").read_bytes())
        for name in ("application", "appproject")
    ]
    return for_host(yaml.load(text, Loader=yaml.CSafeLoader) for text in texts)


def _objects() -> list[Object]:
    return [
        *definitions(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _setting("ConfigMap", "argocd-cm", data=_SETTINGS),
        _setting("ConfigMap", "argocd-rbac-cm"),
        _setting("ConfigMap", "argocd-gpg-keys-cm"),
        _setting("ConfigMap", "argocd-tls-certs-cm"),
        _setting("ConfigMap", "argocd-ssh-known-hosts-cm", data={"ssh_known_hosts": ""}),
        _setting("Secret", "argocd-secret", stringData={"server.secretkey": secrets.token_hex(16)}),
    ]


def _setting(kind: str, name: str, **fields: Object) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": _PART_OF}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def _program_folder(folder: Path) -> Path:
    """Make a folder for PATH: Argo CD under the names that it goes by, and the pinned kustomize."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name, tool in (
        ("argocd-repo-server", "argocd"),
        ("argocd-application-controller", "argocd"),
        ("kustomize", "kustomize"),
    ):
        found = find(tool)
        assert not isinstance(found, Problem), found.text()
        (programs / name).symlink_to(found)
    return programs


def _environ(folder: Path) -> dict[str, str]:
    """Return what keeps Argo CD in its folder; by default it has an image of its own."""
    places = {
        "HOME": folder / "home",
        "TMPDIR": folder / "tmp",
        "ARGOCD_TLS_DATA_PATH": folder / "tls",
        "ARGOCD_SSH_DATA_PATH": folder / "ssh",
        "ARGOCD_GNUPGHOME": folder / "gpg" / "keys",
        "ARGOCD_GPG_DATA_PATH": folder / "gpg" / "source",
        "ARGOCD_PLUGINSOCKFILEPATH": folder / "plugins",
    }
    for place in places.values():
        place.mkdir(parents=True)
    return {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_ASK_PASS_SOCK": str(folder / "ask-pass"),
        **{name: str(place) for name, place in places.items()},
    }


def _redis(folder: Path) -> list[str]:
    listen = ["--bind", "127.0.0.1", "--port", str(_REDIS)]
    return [redis_server(), *listen, "--save", "", "--appendonly", "no", "--dir", str(folder)]


def _repo_server(program: Path) -> list[str]:
    return [
        str(program),
        "--address=127.0.0.1",
        f"--port={_REPO}",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={_REPO_METRICS}",
        "--disable-tls",
        f"--redis=127.0.0.1:{_REDIS}",
        "--logformat=text",
    ]


def _controller(program: Path) -> list[str]:
    return [
        str(program),
        f"--namespace={NAMESPACE}",
        f"--metrics-port={_CONTROLLER_METRICS}",
        f"--repo-server=127.0.0.1:{_REPO}",
        "--repo-server-plaintext",
        f"--redis=127.0.0.1:{_REDIS}",
        "--app-resync=3600",
        "--app-resync-jitter=0",
        # So that an Application says the health of each of its objects, and not of all together only.
        "--persist-resource-health",
        "--logformat=text",
    ]


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == _OK
    finally:
        connection.close()
