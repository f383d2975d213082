"""A rehearsal on an existing cluster: only if it is marked as a test cluster, and one at a time."""

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.documentation import page
from slicewright.kubernetes.kinds import JOBSET_VERSION, KUEUE_VERSION
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.surroundings import OWNER_LABEL
from slicewright.testbed.waiting import BedError

MARK = "slicewright.dev/test-cluster"
"""The label of the namespace kube-system that marks a test cluster."""
_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
_NEEDED = {"JobSet": (JOBSET_VERSION, "JobSet"), "Kueue": (KUEUE_VERSION, "ClusterQueue")}


def admit(access: Access, *, mark: bool) -> None:
    """Return if the cluster has the mark and the controllers; set the mark only with `mark`.

    Raises BedError otherwise, and then has changed nothing.
    """
    with Api(access) as api:
        try:
            namespace = api.get("v1", "Namespace", "kube-system")
            _has_controllers(api)
            if namespace["metadata"].get("labels", {}).get(MARK) == "true":
                return
            if not mark:
                message = f"{access.server} is not marked as a test cluster"
                hint = "a rehearsal creates nodes, queues and pods in the cluster; "
                hint += "add --mark if it is a test cluster"
                raise BedError(Problem("REH008", message, hint))
            api.patch(_NAMESPACE, {"metadata": {"labels": {MARK: "true"}}})
        except (ApiError, OSError) as error:
            hint = "check the context, and that the cluster runs"
            raise BedError(Problem("REH009", f"{access.server} cannot be used: {error}", hint)) from error


def _has_controllers(api: Api) -> None:
    for name, kind in _NEEDED.items():
        with Ignored("NotFound"):
            api.resource(*kind)
            continue
        message = f"the cluster has no {name} ({kind[0]})"
        raise BedError(Problem("REH009", message, f"install it, as {page('explanation/testbed')} says"))


LEASE = ("coordination.k8s.io/v1", "Lease")
NAME, NAMESPACE = "slicewright-rehearsal", "kube-system"
_LEFT = f"{OWNER_LABEL}-left"
"""The annotation with the owners of objects that may still be there."""
_RENEW_SECONDS = 2.0
_FORGET_SECONDS = 15
"""Seconds without a renewal after which a rehearsal counts as dead."""
_LOOK_SECONDS = 0.5


class Lease:
    """Holds a cluster from `with` to its end.

    The Lease is deleted at the end, unless objects with our label may be left. Then it stays: the next
    rehearsal finds in it which objects to remove.
    """

    def __init__(self, access: Access, *, progress: Callable[[str], object] = lambda _: None) -> None:
        self.owner = secrets.token_hex(4)
        """The value of the owner label on all that this rehearsal makes."""
        self.left: tuple[str, ...] = ()
        """The owner labels of rehearsals that ended without removing everything."""
        self.is_clear = True
        """Whether the cluster holds no object with one of these labels."""
        self._server = access.server
        self._api = Api(access)
        self._progress = progress
        self._lost = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        """Lease the cluster. Raises BedError if another rehearsal is using it."""
        try:
            self._take()
        except (ApiError, OSError) as error:
            self._api.close()
            raise BedError(self._unusable(f"it cannot be leased: {error}")) from error
        except BaseException:
            self._api.close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the cluster."""
        self._ending.set()
        self._thread.join()
        if self.is_clear and not self._lost:
            with contextlib.suppress(ApiError, OSError):  # else it is forgotten after a while
                self._api.delete(self._lease())
        self._api.close()

    def check(self) -> None:
        """Raise BedError if another rehearsal has taken the cluster over."""
        if self._lost:
            raise BedError(self._unusable(self._lost))

    def _take(self) -> None:
        earlier = self._api.find(*LEASE, NAME, NAMESPACE)
        if earlier is not None:
            self._outlive(earlier)
            owners = earlier["metadata"].get("annotations", {}).get(_LEFT, "")
            self.left = tuple(owner for owner in owners.split(",") if owner)
            self.is_clear = not self.left
        lease = self._lease()
        try:
            if earlier is None:
                self._api.create(lease)
            else:  # refused if it has changed since
                metadata = {**lease["metadata"], "resourceVersion": earlier["metadata"]["resourceVersion"]}
                self._api.patch(lease, {**lease, "metadata": metadata})
        except ApiError as error:
            if error.reason in ("AlreadyExists", "Conflict", "NotFound"):
                raise BedError(self._taken(self._holder())) from error
            raise

    def _outlive(self, earlier: Object) -> None:
        """Wait until a Lease has not been renewed for long enough. Raises BedError when it is renewed.

        Only a change of the Lease counts, by our own clock: the clock of another machine may be wrong.
        """
        holder = earlier["spec"].get("holderIdentity", "")
        self._progress(
            f"waiting up to {_FORGET_SECONDS} s to see whether the rehearsal of {holder} still lives"
        )
        until = time.monotonic() + _FORGET_SECONDS
        while time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
            now = self._api.find(*LEASE, NAME, NAMESPACE)
            if now is None or now["metadata"]["resourceVersion"] != earlier["metadata"]["resourceVersion"]:
                raise BedError(self._taken(holder))

    def _renew(self) -> None:
        seen = time.monotonic()
        while not self._ending.wait(_RENEW_SECONDS):
            try:
                if self._holder() != _identity():
                    self._lost = f"the rehearsal of {self._holder()} has taken it over"
                    return
                self._api.patch(self._lease(), self._lease())
                seen = time.monotonic()
            except (ApiError, OSError) as error:
                if time.monotonic() - seen > _FORGET_SECONDS:
                    self._lost = f"it does not answer: {error}"
                    return

    def _holder(self) -> str:
        lease = self._api.find(*LEASE, NAME, NAMESPACE)
        return str(lease["spec"].get("holderIdentity", "")) if lease else ""

    def _lease(self) -> Object:
        return {
            "apiVersion": LEASE[0],
            "kind": LEASE[1],
            "metadata": {
                "name": NAME,
                "namespace": NAMESPACE,
                "labels": {OWNER_LABEL: self.owner},
                "annotations": {_LEFT: ",".join((*self.left, self.owner))},
            },
            "spec": {
                "holderIdentity": _identity(),
                "leaseDurationSeconds": _FORGET_SECONDS,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }

    def _taken(self, holder: str) -> Problem:
        hint = f"wait for its end; if it was killed, start again after {_FORGET_SECONDS} s"
        message = f"another rehearsal is using {self._server}: {holder or 'it has just begun'}"
        return Problem("REH009", message, hint)

    def _unusable(self, why: str) -> Problem:
        return Problem("REH009", f"{self._server} cannot be used: {why}", "start the rehearsal again")


def _identity() -> str:
    """Return the name of this process for the holder of the Lease."""
    return f"process {os.getpid()} on {socket.gethostname()}"
