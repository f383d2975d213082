"""JobSet, Kueue and the operator of PathwaysJobs, outside of the cluster that they serve.

With its own certificate manager off, Kueue reads /etc/kueue/metrics/certs, which takes root to make. So the
manager stays on and finds its work done: the Secret holds a certificate that is valid for it, the webhooks
trust its authority already, and the files lie where it looks for them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slicewright.cluster.api.client import Api
from slicewright.kubernetes import kinds
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.kueue_configuration import config_map
from slicewright.testbed.bed_error import BedError
from slicewright.testbed.control_plane import BURST, QPS
from slicewright.testbed.credentials import Credentials

_KUEUE_NAMESPACE = "kueue-system"
_KUEUE_SERVICE = "kueue-webhook-service"
_KUEUE_SECRET = "kueue-webhook-server-cert"  # noqa: S105 - a name
KUEUE_HOST = f"{_KUEUE_SERVICE}.{_KUEUE_NAMESPACE}.svc"
"""The name that the certificate of the webhooks needs, apart from the loopback address."""


_FRAMEWORKS = ("batch/job", f"{kinds.JOBSET_GROUP}/jobset")
_POD_WEBHOOKS = frozenset({"mpod.kb.io", "vpod.kb.io"})
_CONFIGURATIONS = "kueue-"
"""How the names of Kueue's webhook configurations begin."""


def kueue_frameworks(settings: dict[str, Any]) -> list[str]:
    """Return the integrations that Kueue's settings turn on; without a word Jobs and JobSets."""
    frameworks: list[str] = settings.get("integrations", {}).get("frameworks", list(_FRAMEWORKS))
    return frameworks


def without_idle_webhooks(items: list[dict[str, Any]], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return objects without Kueue's webhooks for plain pods, unless its settings have that integration.

    They would be asked about each pod, twice, to say nothing. JobSet's for pods have the same names.
    """
    if "pod" in kueue_frameworks(settings):
        return items
    for item in items:
        if "webhooks" in item and item["metadata"]["name"].startswith(_CONFIGURATIONS):
            item["webhooks"] = [hook for hook in item["webhooks"] if hook["name"] not in _POD_WEBHOOKS]
    return items


def kueue_secret(credentials: Credentials) -> dict[str, Any]:
    """Return the Secret in which Kueue looks for its certificates."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _KUEUE_SECRET, "namespace": _KUEUE_NAMESPACE},
        "stringData": {
            "ca.crt": credentials.webhook_authority.certificate,
            "ca.key": credentials.webhook_authority.key,
            "tls.crt": credentials.webhook_server.certificate,
            "tls.key": credentials.webhook_server.key,
        },
    }


def kueue_command(
    binary: Path, credentials: Credentials, webhook_port: int, settings: dict[str, Any]
) -> list[str]:
    """Write the configuration of the controller and return its command line.

    `settings` are the fields of Kueue's own Configuration that a cluster sets; what belongs to the test bed
    (addresses, certificates) is not theirs to change.
    """
    own = {
        **settings,
        "apiVersion": kinds.KUEUE_CONFIGURATION_VERSION,
        "integrations": {**settings.get("integrations", {}), "frameworks": kueue_frameworks(settings)},
        "namespace": _KUEUE_NAMESPACE,
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": _KUEUE_SERVICE,
            "webhookSecretName": _KUEUE_SECRET,
        },
        "featureGates": {**settings.get("featureGates", {}), "VisibilityOnDemand": False},
    }
    return _command("kueue", binary, credentials, webhook_port, own)


def jobset_command(binary: Path, credentials: Credentials, webhook_port: int) -> list[str]:
    """Write the configuration of the controller and return its command line."""
    own = {"apiVersion": f"config.{kinds.JOBSET_GROUP}/v1alpha1", "internalCertManagement": {"enable": False}}
    return _command("jobset", binary, credentials, webhook_port, own)


def _command(user: str, binary: Path, credentials: Credentials, webhook_port: int, own: Object) -> list[str]:
    """Write the configuration of a controller, its own fields and those of the test bed."""
    document = {
        **own,
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": QPS, "burst": BURST},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(credentials.file("webhooks"))},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    config = _file(credentials, user)
    config.write_text(json.dumps(document), encoding="utf-8")
    return [str(binary), f"--config={config}", f"--kubeconfig={credentials.kubeconfig(user)}"]


def _file(credentials: Credentials, user: str) -> Path:
    return credentials.folder.with_name(f"{user}.json")


def kueue_config_map(credentials: Credentials) -> Object:
    """Return the ConfigMap with the configuration that Kueue was started with, as a cluster has it."""
    return config_map(_file(credentials, "kueue").read_text(encoding="utf-8"))


OPERATOR_VARIABLE = "SLICEWRIGHT_PATHWAYS_CONTROLLER"
"""Names the real controller's binary; it cannot be built from a package registry."""

SIMULATED_OPERATOR = "simulated operator"
"""What results call the operator when it is ours."""


def operator_name(environ: Mapping[str, str]) -> str:
    """Return what results call the operator that an environment asks for."""
    return "PathwaysJob controller" if environ.get(OPERATOR_VARIABLE) else SIMULATED_OPERATOR


def operator_command(kubeconfig: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the operator. Raises BedError where the variable names no program."""
    binary = environ.get(OPERATOR_VARIABLE, "")
    if not binary:
        module = "slicewright.testbed.simulated_operator"
        return [sys.executable, "-m", module, str(kubeconfig), str(Path.cwd())]
    if not Path(binary).is_file():
        message = f"{OPERATOR_VARIABLE} names {binary}, which is not a file"
        raise BedError(Problem("BED005", message, "name the controller's binary, or unset the variable"))
    return [
        str(Path(binary).absolute()),
        f"--kubeconfig={kubeconfig}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
    ]


def jobset_answers(api: Api) -> bool:
    """Return true once a dry run has passed through JobSet's webhooks. Raises ApiError while it does not."""
    return _accepted(api, _JOBSET)


def kueue_answers(api: Api) -> bool:
    """Return true once dry runs have passed through Kueue's webhooks and its conversion. Raises ApiError."""
    return all(_accepted(api, item) for item in _CLUSTER_QUEUES)


def _accepted(api: Api, item: Object) -> bool:
    return bool(api.create(item, dryRun="All"))


_POD: Object = {"containers": [{"name": "a", "image": "probe"}]}
_JOBSET: Object = {
    "apiVersion": kinds.JOBSET_VERSION,
    "kind": "JobSet",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": _POD}}}}]},
}
_CLUSTER_QUEUES: tuple[Object, ...] = tuple(
    {
        "apiVersion": f"{kinds.KUEUE_GROUP}/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "probe"},
        "spec": {"namespaceSelector": {}},
    }
    for version in ("v1beta2", "v1beta1")
)
"""Both versions: the older one is converted by Kueue on its way in."""
