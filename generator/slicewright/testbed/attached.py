"""Simulated nodes for a cluster that runs already, such as one of kind: KWOK and Pathways beside it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import RUN_VERSIONS
from slicewright.testbed import kubeconfig, kwok, manifests, pathways
from slicewright.testbed.bed import Bed, Connection, ControlPlane
from slicewright.testbed.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slicewright.core.kubernetes.types import Object
    from slicewright.testbed.api import Api
    from slicewright.testbed.bed import BootContext


class Attached(Bed):
    """A bed around the API server that a kubeconfig file names in its current context, or in another one.

    JobSet and Kueue have to be installed there; the definitions of PathwaysJob and ProvisioningRequest are
    added where they are missing. What it adds to the cluster stays there.

    Its KWOK plays the nodes whose annotation `kwok.x-k8s.io/node` has the value `plays`. Two that play the
    same nodes disturb each other: where there is a KWOK already, another bed needs a value of its own.
    """

    def __init__(
        self,
        kubeconfig_file: Path,
        name: str | None = None,
        *,
        context: str = "",
        plays: str = kwok.KWOK_NODES,
        **options: Any,
    ) -> None:
        connect = partial(_connect, kubeconfig_file, context, plays)
        super().__init__(ControlPlane(("kwok",), 0, connect, plays), name, **options)


def _connect(file: Path, context: str, plays: str, boot: BootContext) -> Connection:
    access = kubeconfig.read(file, context)
    if context:  # the programs beside the cluster know the current context only
        file = kubeconfig.copy(file, context, boot.processes.folder / "kubeconfig")
    # A credential plugin may read more of the environment than other programs, such as CLOUDSDK_CONFIG.
    environ = {key: value for key, value in boot.environ.items() if access.plugin and key != "KUBECONFIG"}
    return Connection(access, file, partial(_install_controllers, boot, file, plays, environ))


def _install_controllers(
    boot: BootContext, file: Path, plays: str, environ: Mapping[str, str], api: Api
) -> None:
    processes = boot.processes
    command = kwok.kwok_command(boot.paths["kwok"], file, plays=plays, heartbeats=True)
    processes.start("kwok", command, **environ)
    for item in (*manifests.for_host(manifests.pathways()), *manifests.provisioning_requests()):
        if item["kind"] == "CustomResourceDefinition":
            _add(api, item)
    boot.wait("the definition of PathwaysJob", "kwok", lambda: api.resource(*RUN_VERSIONS["PathwaysJob"]))
    processes.start("pathways", pathways.operator_command(file, boot.environ), **environ)
    processes.note(operator=pathways.operator_name(boot.environ))


def _add(api: Api, item: Object) -> None:
    try:
        api.create(item)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
