"""What a cluster's own tree says of its controllers, as far as a test cluster can have it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slicewright.core.compose.kustomization import compose
from slicewright.core.document.read import read_documents
from slicewright.core.platform import controllers
from slicewright.core.platform.kueue_configuration import played
from slicewright.core.platform.release import CONTROLLERS
from slicewright.testbed.manifests import pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.compose.spec import ReadText
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


@dataclass(frozen=True, slots=True)
class Installation:
    """The objects of controllers, and Kueue's settings."""

    objects: tuple[Object, ...] = ()
    """As kustomize builds them; none where the test bed takes the releases that it brings along."""
    settings: dict[str, Any] = field(default_factory=dict)


def installation(site: ResolvedCluster, read_text: ReadText) -> tuple[Installation, tuple[Problem, ...]]:
    """Return what the folder of a cluster's controllers installs, and what stands against playing it.

    Where the file has no `kueue`, Kueue looks after Jobs and JobSets; its release looks after pods too, which
    are asked about one by one. Another release than the test bed has the programs of is not installed.
    """
    others = tuple(_others(site))
    found = controllers.installed(controllers.folder(site.cluster.name), read_text)
    if found is None or others or not site.cluster.installs:
        return Installation(settings=played(site)), others
    composed = compose(controllers.folder(site.cluster.name), read_text)
    documents, _ = read_documents(found.configuration, "")
    settings = documents[0].data if documents else {}
    return Installation(composed.objects, settings), composed.problems


def _others(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of each release that is not the one that is played."""
    written = site.cluster.spec.get("versions", {})
    for controller in CONTROLLERS:
        ours = pinned(controller)
        theirs = written.get(controller.field, ours.version)
        if theirs != ours.version:
            message = (
                f"cluster '{site.cluster.name}' has {controller.title} {theirs}, and the test cluster has "
                f"{ours.version}: what differs between the two is not rehearsed"
            )
            hint = "rehearse with --kubeconfig on a cluster that has this release"
            at = ("spec", "versions", controller.field)
            yield site.cluster.source.problem("CTRL005", at, message, hint, warning=True)
