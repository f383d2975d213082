"""Every version of the objects of some kinds, as the API server showed them."""

import http.client
import threading
from collections.abc import Callable
from typing import Any, Self

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

Kind = tuple[str, str]

_JOIN_SECONDS = 10


class Journal:
    """Watches kinds from `with` to its end: no state is missed, however short it lasts."""

    def __init__(self, bed: Bed, *kinds: Kind) -> None:
        self._bed = bed
        self._api = Api(kubeconfig.read(bed.kubeconfig))
        self._versions: list[Object] = []
        self._ending = threading.Event()
        self._threads = [self._thread(*kind) for kind in kinds]

    def __enter__(self) -> Self:
        """Start to watch."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop: reads that wait are cut off."""
        self._ending.set()
        self._api.hang_up()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self._api.close()

    def first(
        self, kind: Kind, name: str, is_it: Callable[[Object], Any], *, after: Object | None = None
    ) -> Object:
        """Wait for the first version of an object that is wanted, of those that came after another one.

        `name` is the object's own, or, of a Workload, its owner's.
        """

        def found() -> Object | None:
            versions = list(self._versions)
            since = versions[versions.index(after) + 1 :] if after else versions
            return next((item for item in since if _is(item, kind, name) and is_it(item)), None)

        return self._bed.until(f"the wanted state of {kind[1]} {name}", found)

    def _thread(self, api_version: str, kind: str) -> threading.Thread:
        """Return the thread of a kind, which begins where the kind is now."""
        path = self._api.resource(api_version, kind).path()
        version = self._api.request("GET", path)["metadata"]["resourceVersion"]
        return threading.Thread(target=self._follow, args=(path, version, api_version, kind), daemon=True)

    def _follow(self, path: str, version: str, api_version: str, kind: str) -> None:
        try:
            for verb, item in self._api._changes(path, version):
                if verb != "DELETED":
                    self._versions.append({**item, "apiVersion": api_version, "kind": kind})
        except (OSError, http.client.HTTPException, ValueError):
            if not self._ending.is_set():
                raise


def _is(item: Object, kind: Kind, name: str) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    names = {owner["name"] for owner in owners} if kind[1] == "Workload" else {item["metadata"]["name"]}
    return (item["apiVersion"], item["kind"]) == kind and name in names
