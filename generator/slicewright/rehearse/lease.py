"""One rehearsal at a time on a cluster that is not ours alone: a Lease, which its holder renews."""

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.simulate import OWNER_LABEL
from slicewright.testbed.bed_error import BedError

LEASE = ("coordination.k8s.io/v1", "Lease")
NAME, NAMESPACE = "slicewright-rehearsal", "kube-system"
_LEFT = f"{OWNER_LABEL}-left"
"""The annotation with the owners of objects that may still be there."""
_RENEW_SECONDS = 2.0
_FORGET_SECONDS = 15
"""A rehearsal that has shown no sign of life for so long is taken for dead."""
_LOOK_SECONDS = 0.5


class Lease:
    """Holds a cluster from `with` to its end.

    The Lease goes at the end, unless objects with our label may be left. Then it stays, and the next
    rehearsal, which finds it without a sign of life, knows what to remove.
    """

    def __init__(self, access: Access, *, progress: Callable[[str], object] = lambda _: None) -> None:
        self.owner = secrets.token_hex(4)
        """The value of the owner label on all that this rehearsal makes."""
        self.left: tuple[str, ...] = ()
        """Those of rehearsals that ended without removing everything."""
        self.is_clear = True
        """Whether the cluster holds no object with one of these labels."""
        self._server = access.server
        self._api = Api(access)
        self._progress = progress
        self._lost = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        """Lease the cluster. Raises BedError where another rehearsal is using it."""
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
        """Let the cluster go."""
        self._ending.set()
        self._thread.join()
        if self.is_clear and not self._lost:
            with contextlib.suppress(ApiError, OSError):  # else it is forgotten after a while
                self._api.delete(self._lease())
        self._api.close()

    def check(self) -> None:
        """Raise BedError if somebody has taken the cluster from us."""
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
            else:  # refused where somebody has changed it since
                metadata = {**lease["metadata"], "resourceVersion": earlier["metadata"]["resourceVersion"]}
                self._api.patch(lease, {**lease, "metadata": metadata})
        except ApiError as error:
            if error.reason in ("AlreadyExists", "Conflict", "NotFound"):
                raise BedError(self._taken(self._holder())) from error
            raise

    def _outlive(self, earlier: Object) -> None:
        """Wait until a Lease has been without a sign of life for long enough. Raises BedError at the first.

        What counts is whether it changes, by our own clock: that of another machine may be a wrong one.
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
    """Return who holds it, in words that tell a person where to look."""
    return f"process {os.getpid()} on {socket.gethostname()}"
