"""Simulated nodes for a cluster that runs already, such as one of kind: KWOK and Pathways beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.testbed import kubeconfig, kwok, manifests, pathways, programs
from slicewright.testbed.api import Api, ApiError
from slicewright.testbed.bed import Bed
from slicewright.testbed.simulated_operator import PATHWAYSJOB

if TYPE_CHECKING:
    from pathlib import Path


class Attached(Bed):
    """A bed around the API server that a kubeconfig file names.

    JobSet and Kueue have to be installed there; the definitions of PathwaysJob and ProvisioningRequest are
    added where they are missing. What it adds to the cluster stays there.
    """

    def __init__(self, kubeconfig_file: Path, name: str = "", **options: Any) -> None:
        super().__init__(name, **options)
        self._file = kubeconfig_file

    @property
    def kubeconfig(self) -> Path:
        """Return the kubeconfig file that was given."""
        return self._file

    def _start(self) -> None:
        paths = programs.locate(("kwok",), self._environ)
        held = self._hold()
        self._api = Api(kubeconfig.read(self._file))
        held.start("kwok", kwok.command(paths["kwok"], self._file))
        for item in (*manifests.for_host(manifests.pathways()), *manifests.provisioning_requests()):
            if item["kind"] in ("CustomResourceDefinition", "Namespace"):
                self._add(item)
        self._wait("the definition of PathwaysJob", "kwok", lambda: self.api.resource(*PATHWAYSJOB))
        held.start("pathways", pathways.command(self._file, self._environ))
        held.note(operator=pathways.name(self._environ))

    def _add(self, item: dict[str, Any]) -> None:
        try:
            self.api.create(item)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
