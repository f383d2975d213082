"""Controllers of other projects beside a cluster of processes: each is a row of controllers.yaml."""

import json
import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from tests.e2e_rules.modules import folder

from slicewright.cluster.api import kubeconfig
from slicewright.kubernetes.types import Object
from slicewright.programs.find import find
from slicewright.testbed import manifests
from slicewright.testbed.bed_cluster import Cluster

ROWS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("controllers.yaml").read_text(encoding="utf-8")
)


_CERTIFICATES = Path("k8s-webhook-server", "serving-certs")
"""Where controller-runtime looks for certificates, below TMPDIR."""


def objects(row: dict[str, Any], scratch: Path) -> list[Object]:
    """Return what installs a controller: the module's own kustomizations, in its namespace."""
    home = folder(row["tool"], row["module"])
    resources = [os.path.relpath(home / name, scratch.resolve()) for name in row["resources"]]
    document = {"namespace": row["namespace"], "resources": resources}
    (scratch / "kustomization.yaml").write_text(json.dumps(document), encoding="utf-8")
    kustomize = find("kustomize")
    assert isinstance(kustomize, Path), kustomize
    built = subprocess.run([kustomize, "build", scratch], capture_output=True, check=True).stdout
    name = {"name": row["namespace"]}
    own = [item for item in manifests.parsed(built) if item["kind"] != "Namespace"]
    for item in own:
        if item["kind"] == "CustomResourceDefinition" and len(item["spec"]["versions"]) == 1:
            item["spec"].pop("conversion", None)  # nothing is converted, and the controller is not there yet
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": name}, *own]


def is_webhook(item: Object) -> bool:
    """Tell whether an object sends requests of the API server to a controller."""
    return bool(item["kind"].endswith("WebhookConfiguration"))


def start(cluster: Cluster, row: dict[str, Any], installed: list[Object]) -> None:
    """Start a controller with the rights of its service account, then let its webhooks be asked."""
    held = cluster.processes.folder / row["tool"]
    papers = cluster.processes.folder / "credentials" / "webhooks"
    (held / _CERTIFICATES).parent.mkdir(parents=True)
    (held / _CERTIFICATES).symlink_to(papers)
    port = _free_port()
    program = find(row["tool"])
    assert isinstance(program, Path), program
    arguments = row.get("arguments") or [f"--config={_configuration(held, row, port)}"]
    environ = {"KUBECONFIG": str(_kubeconfig(cluster, row, held)), "TMPDIR": str(held)}
    cluster.processes.start(row["tool"], [str(program), *arguments], **environ)
    hooks = [item for item in installed if is_webhook(item)]
    services = [hook["clientConfig"]["service"] for item in hooks for hook in item["webhooks"]]
    ports = {service["namespace"]: port for service in services}
    authority = (papers / "ca.crt").read_text(encoding="ascii")
    cluster.api.each(cluster.api.create, manifests.for_host(hooks, ports=ports, authority=authority))


def _configuration(held: Path, row: dict[str, Any], port: int) -> Path:
    certificates = {"certDir": str(held / _CERTIFICATES)} if row.get("certDir") else {}
    document = {
        **row["configuration"],
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": "127.0.0.1", "port": port, **certificates},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    file = held / "configuration.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def _kubeconfig(cluster: Cluster, row: dict[str, Any], held: Path) -> Path:
    path = f"/api/v1/namespaces/{row['namespace']}/serviceaccounts/{row['account']}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = cluster.api.request("POST", path, asked)["status"]["token"]
    own = replace(kubeconfig.read(cluster.kubeconfig), certificate="", key="", token=token)
    return kubeconfig.write(held / "kubeconfig", own, name=row["tool"])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
