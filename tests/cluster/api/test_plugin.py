"""Credential plugins: a program that a kubeconfig names says who asks, as gke-gcloud-auth-plugin does."""

import datetime as dt
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.testbed.kit import eventually

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import AccessError, ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.types import Object
from slicewright.testbed.credentials import Authority

from .stub import Answer, Server, serving

VERSION = "client.authentication.k8s.io/v1beta1"
"""What the kubeconfig of a GKE cluster says."""
PODS: Answer = (200, {"metadata": {"resourceVersion": "1"}, "items": []}, {})


@pytest.fixture
def server(authority: Authority, tmp_path: Path) -> Iterator[Server]:
    """Answer every request with a list of no pods."""
    with serving(authority, tmp_path) as running:
        running.answers.append(PODS)
        yield running


class Config:
    """A kubeconfig with a plugin, which prints what `answer` holds and notes its environment."""

    def __init__(self, folder: Path, server: str, authority: str) -> None:
        self.path, self.program, self.answer = folder / "config", folder / "plugin", folder / "answer"
        self._environ = folder / "environ"
        self.section: Object = {
            "apiVersion": VERSION,
            "command": str(self.program),
            "provideClusterInfo": True,
            "interactiveMode": "IfAvailable",
        }
        self._server, self._authority = server, authority
        self.script(f"cat {self.answer}")

    def script(self, line: str) -> None:
        """Let the plugin do something else."""
        self.program.write_text(f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" "$@" >> {self._environ}\n{line}\n')
        self.program.chmod(0o755)

    def status(self, **status: str) -> None:
        """Let the plugin print a credential."""
        self.answer.write_text(
            json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})
        )

    def token(self, text: str, **status: str) -> None:
        """Let the plugin print a token."""
        self.status(token=text, **status)

    def runs(self) -> list[str]:
        """Return what each run of the plugin was told."""
        return self._environ.read_text().splitlines() if self._environ.exists() else []

    def access(self, **cluster: object) -> Access:
        """Write the file and read it."""
        plain = Access(self._server, self._authority)
        document = yaml.safe_load(kubeconfig.write(self.path, plain, name="gke").read_text())
        document["users"][0]["user"] = {"exec": self.section}
        document["clusters"][0]["cluster"] |= cluster
        self.path.write_text(yaml.safe_dump(document))
        return kubeconfig.read(self.path, "gke")


@pytest.fixture
def config(server: Server, authority: Authority, tmp_path: Path) -> Config:
    """Return a kubeconfig for that server."""
    return Config(tmp_path, f"https://127.0.0.1:{server.server_port}", authority.pair.certificate)


def ask(api: Api) -> Object:
    """Ask for something."""
    return api.request("GET", "/api/v1/pods")


def test_token_of_a_plugin(config: Config, server: Server) -> None:
    """The token goes into each request, the plugin runs once for all clients of the access."""
    config.token("t1")
    access = config.access()
    with Api(access) as first, Api(access) as second:
        ask(first)
        ask(second)

    assert ["Bearer t1"] * 2 == server.users
    assert len(config.runs()) == 1


def test_plugin_runs_only_when_somebody_asks(config: Config) -> None:
    """Who reads a kubeconfig runs no program yet."""
    config.access()

    assert config.runs() == []


def test_client_certificate_of_a_plugin(config: Config, server: Server, authority: Authority) -> None:
    """A plugin may give a certificate and its key instead of a token."""
    pair = authority.client("ann")
    config.status(clientCertificateData=pair.certificate, clientKeyData=pair.key)
    with Api(config.access()) as api:
        ask(api)

    assert ["ann"] == server.users


def test_what_a_plugin_is_told(config: Config) -> None:
    """It gets its arguments, its variables, and where asked for the cluster with the configuration for it."""
    config.section |= {"args": ["--one", "a b; $c"], "env": [{"name": "REGION", "value": "us-west4"}]}
    config.script(f'echo "$REGION" >> {config.answer}.region; cat {config.answer}')
    config.token("t1")
    extension = {"name": kubeconfig.EXTENSION, "extension": {"audience": "tpu"}}
    access = config.access(extensions=[extension], **{"tls-server-name": "localhost"})
    with Api(access):
        (run,) = config.runs()

    text, _, arguments = run.partition("}}} ")
    spec = json.loads(text + "}}}")["spec"]
    assert "--one a b; $c" == arguments
    assert "us-west4\n" == config.answer.with_suffix(".region").read_text()
    assert (False, {"audience": "tpu"}) == (spec["interactive"], spec["cluster"].pop("config"))
    assert ["certificate-authority-data", "server", "tls-server-name"] == sorted(spec["cluster"])


def test_renewal_of_a_token_that_expires(config: Config, server: Server) -> None:
    """After its expiry a credential is asked for anew, before that it is not."""
    now = dt.datetime.now(dt.UTC)
    config.token("t1", expirationTimestamp=(now + dt.timedelta(seconds=1.5)).isoformat())
    with Api(config.access()) as api:
        ask(api)
        config.token("t2", expirationTimestamp=(now + dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"))
        ask(api)
        time.sleep(1.6)
        ask(api)
        ask(api)

    assert ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"] == server.users


def test_renewal_of_a_certificate(config: Config, server: Server, authority: Authority) -> None:
    """A new certificate is shown on new connections."""
    one, two = authority.client("one"), authority.client("two")
    past = (dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)).isoformat()
    config.status(clientCertificateData=one.certificate, clientKeyData=one.key)
    access = config.access()
    with Api(access) as api:
        ask(api)
        config.status(clientCertificateData=two.certificate, clientKeyData=two.key, expirationTimestamp=past)
        access.forget(access.resolved())
        ask(api)

    assert ["one", "two"] == server.users


def test_token_that_the_server_refuses(config: Config, server: Server) -> None:
    """A token that is refused before its time is replaced, and the request is sent again."""
    config.token("t1")
    server.accepted = "Bearer t2"
    with Api(config.access()) as api:
        config.token("t2")

        assert PODS[1] == ask(api)
    assert ["Bearer t1", "Bearer t2"] == server.users


def test_plugin_whose_tokens_are_all_refused(config: Config, server: Server) -> None:
    """A server that knows none of its tokens is not asked without end."""
    config.token("t1")
    server.accepted = "Bearer t2"
    with Api(config.access()) as api, pytest.raises(ApiError, match=r"401 Unauthorized: who are you\?"):
        ask(api)

    assert (2, 2) == (len(server.users), len(config.runs()))


RUBBISH: dict[str, Any] = {
    "no JSON": "secret-1",
    "a list": "[]",
    "another kind": {"apiVersion": VERSION, "kind": "Pod", "status": {"token": "secret-1"}},
    "another version": {"apiVersion": "v1", "kind": "ExecCredential", "status": {"token": "secret-1"}},
    "no status": {"apiVersion": VERSION, "kind": "ExecCredential"},
    "no key": {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "status": {"clientCertificateData": "secret-1"},
    },
    "no date": {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "status": {"token": "secret-1", "expirationTimestamp": "soon"},
    },
}


@pytest.mark.parametrize("printed", RUBBISH.values(), ids=RUBBISH)
def test_plugin_that_prints_something_else(config: Config, printed: Any) -> None:
    """What is not a credential is refused, and not shown: it may hold a secret."""
    config.answer.write_text(printed if isinstance(printed, str) else json.dumps(printed))

    with pytest.raises(
        AccessError, match=r"BED009 the credential plugin .*/plugin printed no ExecCredential"
    ) as raised:
        Api(config.access())

    assert "secret-1" not in str(raised.value)


def test_certificate_that_is_none(config: Config) -> None:
    """A plugin that prints no PEM is a problem of the certificates."""
    config.status(clientCertificateData="secret-1", clientKeyData="secret-2")

    with pytest.raises(AccessError, match=r"BED004 the certificates for https://.* cannot be used") as raised:
        Api(config.access())

    assert "secret" not in str(raised.value)


def test_plugin_that_fails(config: Config) -> None:
    """The problem names the command and what it wrote to stderr; its arguments may be secret."""
    config.section["args"] = ["--client-secret=s1"]
    config.script("echo a >&2; echo b >&2; exit 7")

    with pytest.raises(AccessError) as raised:
        Api(config.access())

    assert raised.value.problem.text().splitlines() == [
        f"BED009 the credential plugin {config.program} failed with exit code 7: a | b",
        "  hint: log in again; kubectl get nodes with the same context runs it too",
    ]


def is_alive(pid: int) -> bool:
    """Tell whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_plugin_that_hangs(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin has a time limit, and nothing that it started lives on."""
    monkeypatch.setattr(kubeconfig, "_SECONDS", 1)
    config.script(f"sleep 300 & echo $! > {config.answer}; wait")

    with pytest.raises(AccessError, match=r"BED009 .* gave no credential within 1 s"):
        Api(config.access())

    eventually("what it started is gone", lambda: not is_alive(int(config.answer.read_text())))


def test_plugin_that_is_not_installed(config: Config) -> None:
    """The hint is the one that the kubeconfig gives."""
    config.section |= {"command": "no-such-plugin", "installHint": "install it for use with kubectl"}

    with pytest.raises(AccessError) as raised:
        Api(config.access())

    assert raised.value.problem.text().splitlines() == [
        "BED009 the credential plugin no-such-plugin cannot be started: No such file or directory",
        "  hint: install it for use with kubectl",
    ]


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "uses apiVersion .*v1alpha1"),
        ({"interactiveMode": "Always"}, "needs a terminal"),
    ],
)
def test_plugin_that_cannot_be_used(config: Config, section: Object, why: str) -> None:
    """What a rehearsal cannot give a plugin is said instead of tried."""
    config.section |= section

    with pytest.raises(AccessError, match=rf"BED009 .*{why}"):
        Api(config.access())

    assert config.runs() == []


@pytest.mark.parametrize(
    "section", [{"command": 1}, {"args": [1]}, {"env": [{"name": "a"}]}, {"apiVersion": None}]
)
def test_section_that_is_none(config: Config, section: Object) -> None:
    """A section with wrong values is a problem of the file."""
    config.section |= section

    with pytest.raises(AccessError, match=r"BED004 .* is not a usable kubeconfig"):
        config.access()


def test_renewal_that_fails(config: Config, server: Server) -> None:
    """Once it works, a plugin that fails is like a server that does not answer: who can wait tries again."""
    config.token("t1", expirationTimestamp="2020-01-01T00:00:00Z")
    with Api(config.access()) as api:
        config.script("exit 1")

        with pytest.raises(ConnectionError, match="failed with exit code 1"):
            ask(api)

    assert [] == server.users


def test_copy_for_the_programs_beside_a_cluster(config: Config, tmp_path: Path) -> None:
    """They get the context alone; the plugin is still the one beside the first file."""
    config.section["command"] = "./plugin"
    config.token("t1")
    config.access()
    (tmp_path / "other").mkdir()

    copied = kubeconfig.copy(config.path, "gke", tmp_path / "other" / "config")

    assert kubeconfig.read(copied).resolved().headers() == {"Authorization": "Bearer t1"}
    assert 0o600 == copied.stat().st_mode & 0o777


def test_server_with_another_name(authority: Authority, tmp_path: Path) -> None:
    """`tls-server-name` is the name that the certificate has to have."""
    with serving(authority, tmp_path) as server:
        server.answers.append(PODS)
        url = f"https://127.0.0.1:{server.server_port}"
        with Api(Access(url, authority.pair.certificate, server_name="localhost")) as api:
            ask(api)
        with (
            Api(Access(url, authority.pair.certificate, server_name="other.example")) as api,
            pytest.raises(OSError, match=r"CERTIFICATE_VERIFY_FAILED.*other\.example"),
        ):
            ask(api)


def test_server_that_is_not_verified(authority: Authority, tmp_path: Path) -> None:
    """With `insecure-skip-tls-verify` any certificate will do, without it none of an unknown authority."""
    with serving(authority, tmp_path) as server:
        server.answers.append(PODS)
        url = f"https://127.0.0.1:{server.server_port}"
        with Api(Access(url, insecure=True)) as api:
            ask(api)
        with Api(Access(url)) as api, pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(api)


def test_proxy(config: Config, server: Server) -> None:
    """`proxy-url` is where the connection goes; a SOCKS proxy is refused without its password."""
    config.token("t1")
    closed = "http://127.0.0.1:9"
    with Api(config.access(**{"proxy-url": closed})) as api, pytest.raises(ConnectionError):
        ask(api)
    assert [] == server.users

    with pytest.raises(
        AccessError, match="proxy-url is supported for http:// and https://, not socks5"
    ) as raised:
        config.access(**{"proxy-url": "socks5://ann:s3cret@127.0.0.1:9"})
    assert "s3cret" not in str(raised.value)
