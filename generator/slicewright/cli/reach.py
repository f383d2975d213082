"""The live clusters that a command reads: which context each has, and what its runs do."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.checkout import cluster_named, workloads_named
from slicewright.cli.command import BROKEN
from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import AccessError, ApiError
from slicewright.cluster.api.read_only import ReadOnly, read_inventory, read_runs
from slicewright.cluster.status.run_status import Status, status
from slicewright.diff.io import git
from slicewright.diff.object_changes import read_one
from slicewright.diff.tree_version import Objects
from slicewright.environ import home
from slicewright.kubernetes.problem import Problem, did_you_mean
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import Checkout
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_FEW = 5
"""Up to this many contexts are named in a hint."""


class Place(Struct, frozen=True):
    """A cluster of the repository, and how it is reached."""

    cluster: str
    context: str
    api: ReadOnly


class Reader:
    """Reads the runs of clusters, once or repeatedly; it reads the tree only once."""

    def __init__(self, checkout: Checkout, places: Iterable[Place]) -> None:
        """Take the repository, and the clusters."""
        self._catalogue = checkout.repository.package.catalogue
        self._tree: Objects
        self._tree, self.problems = read_one(git.read_worktree(checkout.root))
        self.places = tuple(places)

    def read(self) -> list[Status]:
        """Return what runs in each cluster. Raises OSError, ApiError."""
        statuses = []
        for place in self.places:
            namespaces = {key[3] for key in self._tree if key[0] == place.cluster and key[3]}
            inventory = read_inventory(place.api, sorted(namespaces))
            statuses.append(status(place.cluster, place.context, self._tree, inventory, self._catalogue))
        return statuses

    def first(self) -> list[Status]:
        """Return the runs of each cluster at the first reading, or end the command."""
        with unreadable_shown(*(place.context for place in self.places)):
            return self.read()


@contextmanager
def unreadable_shown(*contexts: str) -> Iterator[None]:
    """End the command if a cluster of these contexts does not answer."""
    try:
        yield
    except (OSError, ApiError) as error:
        hint = "try kubectl get jobsets with the same context, and log in again"
        message = f"the cluster of context {', '.join(contexts)} cannot be read: {error}"
        show.stop((Problem("STA001", message, hint),), BROKEN)


def warnings(statuses: Iterable[Status]) -> list[Problem]:
    """Return what could not be read of some clusters."""
    return [problem for each in statuses for problem in _not_listed(each.cluster, each.unread)]


def _not_listed(cluster: str, unread: Mapping[str, str]) -> Iterator[Problem]:
    hint = "ask for the role of https://slicewright.dev/docs/how-to/see-what-runs/, "
    hint += "or correct the skipped objects"
    for kind, why in unread.items():
        message = f"not every {kind} on {cluster} can be read: {why}"
        yield Problem("STA002", message, hint, severity="warning")


def living_runs(
    cluster: str, checkout: Checkout, context: str | None, file: Path | None
) -> tuple[list[Object], list[Problem]]:
    """Return the runs of a cluster, and the kinds that may not be listed, or end the command."""
    (place,) = reach([cluster], checkout, context, file)
    with unreadable_shown(place.context):
        namespaces = {workload.namespace for workload in checkout.repository.workloads}
        inventory = read_runs(place.api, sorted(namespaces | {"default"}))
    runs = [item for items in inventory.objects.values() for item in items]
    return runs, list(_not_listed(cluster, inventory.unread))


def clusters_of(
    name: str | None, cluster: str | None, checkout: Checkout
) -> tuple[list[str], frozenset[str]]:
    """Return the clusters to read, and the workloads that are meant, as `namespace/name`; none for all.

    A name is that of a TPUCluster, else of a TPUWorkload, a sweep or an entry of one. Raises Refused.
    """
    repository = checkout.repository
    workloads, sites = repository.workloads, repository.sites
    names = {text for each in workloads for text in (each.name, each.declared.rpartition("/")[2])}
    if name in sites and name in names:
        raise show.unknown(f"'{name}' is a cluster and a workload", "write namespace/name of the workload")
    if cluster is not None:
        cluster_named(cluster, repository)
    if name is None or name in sites:
        return [cluster] if cluster else [name] if name else sorted(sites), frozenset()
    keys = workloads_named([name], repository) or frozenset()
    clusters = {each for workload in workloads if workload.key in keys for each in workload.clusters}
    if cluster is not None and cluster not in clusters:
        raise show.unknown(
            f"{name} does not run on '{cluster}'", f"write one of: {', '.join(sorted(clusters))}"
        )
    return ([cluster] if cluster else sorted(clusters & sites.keys())), keys


def reach(names: Iterable[str], checkout: Checkout, context: str | None, file: Path | None) -> list[Place]:
    """Return the connections to some clusters; end the command if one fails. Raises Refused."""
    clusters = list(names)
    if not clusters:
        hint = "slicewright import cluster writes one from a live cluster"
        raise show.Refused("USE004", "the repository has no TPUCluster to read", hint)
    if context is not None and len(clusters) > 1:
        message = f"--context names one cluster, but the command is about {', '.join(clusters)}"
        raise show.Refused("USE001", message, "name one of them")
    return [_reach(checkout.repository.sites[name], context, file) for name in clusters]


def _reach(site: ResolvedCluster, context: str | None, file: Path | None) -> Place:
    name, spec = site.cluster.name, site.cluster.spec
    if context is None and not (spec.get("project") and spec.get("location")):
        hint = "add --context, or write project and location into its file"
        raise show.Refused("USE001", f"the context of cluster '{name}' is not known", hint)
    # gcloud names the contexts of clusters like this.
    chosen = context or f"gke_{spec['project']}_{spec['location']}_{name}"
    login = f"gcloud container clusters get-credentials {name}"
    login += f" --project={spec.get('project', 'PROJECT')}"
    login += f" --location={spec.get('location', 'LOCATION')}"
    return Place(name, chosen, connect(chosen, file, login, is_named=context is not None))


def connect(context: str, file: Path | None, login: str, *, is_named: bool = True) -> ReadOnly:
    """Return a client for a context of the kubeconfig files; the command ends if they cannot be used.

    `login` is the command that writes the context. A context that the user named may be misspelt: then the
    hint has the nearest one. Raises Refused if no file has the context.
    """
    try:
        files = [file] if file else _files()
        known = {entry: kubeconfig.contexts(entry) for entry in files}
        holder = next((entry for entry, names in known.items() if context in names), None)
        if holder is None:
            near = did_you_mean(context, chain.from_iterable(known.values())) if is_named else ""
            others = sorted(set(chain.from_iterable(known.values())))
            which = f" ({', '.join(others)})" if 0 < len(others) <= _FEW else ""
            hint = near or f"name another{which} with --context, or run {login}"
            listed = ", ".join(map(str, files))
            raise show.unknown(f"there is no context '{context}' in {listed}", hint)
        return ReadOnly(kubeconfig.read(holder, context))
    except AccessError as error:
        hint = f"run {login}, or name another kubeconfig with --kubeconfig FILE or the variable KUBECONFIG"
        of_file = error.problem.id == "BED004"
        show.stop((replace(error.problem, hint=hint) if of_file else error.problem,), BROKEN)


def _files() -> list[Path]:
    """Return the kubeconfig files that kubectl reads: of several, those that exist."""
    named = [Path(entry) for entry in os.environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    existing = [path for path in named if path.exists()]
    return existing or named or [home(os.environ) / ".kube/config"]
