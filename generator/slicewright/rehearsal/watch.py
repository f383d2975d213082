"""One thread a kind, which tells the event log whatever changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from slicewright.core.kubernetes.kinds import KUEUE_VERSION, RUN_VERSIONS
from slicewright.core.problem import Problem
from slicewright.testbed.api import Api
from slicewright.testbed.errors import ApiError, BedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.rehearsal.event_log import EventLog
    from slicewright.testbed.kubeconfig import Access

KINDS = (
    ("v1", "Node"),
    (KUEUE_VERSION, "Workload"),
    RUN_VERSIONS["JobSet"],
    RUN_VERSIONS["Job"],
    ("v1", "Pod"),
    ("v1", "Event"),
)
_RETRY_SECONDS = 0.2
_JOIN_SECONDS = 10


class Watch:
    """Follows a cluster from `with` to its end."""

    def __init__(self, access: Access, event_log: EventLog) -> None:
        self._access = access
        self._event_log = event_log
        self._ending = threading.Event()
        self._apis: list[Api] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Start to follow."""
        for kind in KINDS:
            api = Api(self._access)
            self._apis.append(api)
            self._threads.append(threading.Thread(target=self._follow, args=(api, *kind), daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop: reads that wait are cut off."""
        self._ending.set()
        for api in self._apis:
            api.hang_up()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        for api in self._apis:
            api.close()

    def check(self) -> None:
        """Raise BedError if one of its threads has ended: what happens would not be seen any more."""
        alive(self._threads, "what follows the cluster")

    def _follow(self, api: Api, api_version: str, kind: str) -> None:
        known: dict[str, dict[str, Any]] = {}  # what goes while the server cannot be reached has gone too
        while not self._ending.is_set():
            try:
                for verb, item in api.watch(api_version, kind, known):
                    if self._ending.is_set():
                        return
                    self._event_log.see(verb, item)
            except (ApiError, OSError):
                self._ending.wait(_RETRY_SECONDS)


def alive(threads: Iterable[threading.Thread], what: str) -> None:
    """Raise BedError if one of some threads has ended, which only a mistake in it does."""
    if not all(thread.is_alive() for thread in threads):
        message = f"{what} has ended"
        raise BedError(Problem("REH009", message, "please report it, with the traceback on stderr"))
