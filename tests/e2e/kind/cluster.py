"""A cluster of kind for one session of tests: its own name, its own kubeconfig file, and gone afterwards."""

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

from pytest_kind import KindCluster  # type: ignore[import-untyped]

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.client import Api
from slicewright.programs.find import cache_root
from slicewright.testbed import manifests, process_group, supervisor

from . import controllers
from .settings import Settings

PREFIX = "slicewright-e2e-"
LOGS = ".logs"


@contextmanager
def running(wanted: Settings) -> Iterator[KindCluster]:
    """Hold a cluster with JobSet and Kueue; kind's logs are kept when it does not get that far.

    What an earlier session had to leave behind, because it was killed, goes first.
    """
    paths = process_group.locate_programs(("kind", "kubectl"))
    with ExitStack() as stack:
        folder = stack.enter_context(_claimed(cache_root(os.environ) / "kind", paths["kind"]))
        with contextlib.chdir(folder):  # where KindCluster puts what it downloads; it is given all, though
            cluster = KindCluster(
                folder.name,
                folder / "kubeconfig",
                image=wanted.node_image,
                kind_path=paths["kind"],
                kubectl_path=paths["kubectl"],
            )
        stack.enter_context(_interrupted_by_signals())
        stack.callback(_delete, cluster)
        with ExitStack() as broken:
            broken.callback(export_logs, cluster)
            cluster.create(wanted.config)
            _fill(cluster, wanted)
            broken.pop_all()
        yield cluster


def export_logs(cluster: KindCluster) -> Path:
    """Keep the logs of nodes, pods and components, as far as there are any; return where they are."""
    target: Path = cluster.kubeconfig_path.parent.parent / LOGS / cluster.name
    _kind(cluster, "export", "logs", str(target), check=False)
    return target


def _delete(cluster: KindCluster) -> None:
    """Delete a cluster, and its folder once that is done: until then a later session can do it."""
    cluster.delete()
    shutil.rmtree(cluster.kubeconfig_path.parent)


def _fill(cluster: KindCluster, wanted: Settings) -> None:
    for archive in wanted.archives:
        _kind(cluster, "load", "image-archive", str(archive))
    with contextlib.closing(Api(kubeconfig.read(cluster.kubeconfig_path))) as api:
        controllers.keep_daemons_off(api)
        # Kueue asks once, when it starts, whether there are ProvisioningRequests, which GKE has built in.
        controllers.install(api, [*manifests.provisioning_requests(), *wanted.objects()], wanted.images)
        controllers.reserve(api)


def _kind(cluster: KindCluster, *arguments: str, check: bool = True) -> None:
    subprocess.run([cluster.kind_path, *arguments, f"--name={cluster.name}"], check=check)


@contextmanager
def _claimed(root: Path, kind: Path) -> Iterator[Path]:
    """Hold a folder that is called as the cluster is; its lock goes with this process, however that ends."""
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"{PREFIX}{secrets.token_hex(4)}"
    with supervisor.locked(root / ".lock"):
        _sweep(root, kind)
        folder.mkdir(mode=0o700)
        lock = (folder / "lock").open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
    with lock:
        yield folder


def _sweep(root: Path, kind: Path) -> None:
    for folder in root.glob(f"{PREFIX}*"):
        with (folder / "lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            config = f"--kubeconfig={folder / 'kubeconfig'}"
            subprocess.run([kind, "delete", "cluster", f"--name={folder.name}", config], check=True)
            shutil.rmtree(folder)


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Take a polite kill and a closed terminal for a Ctrl-C, after which everything is put away."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
