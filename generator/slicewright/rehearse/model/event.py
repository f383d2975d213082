"""One event of a rehearsal. Events are kept in the order in which they were seen."""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "submitted",
    "refused",
    "waiting",
    "reserved",
    "released",
    "admitted",
    "evicted",
    "podStarted",
    "podEnded",
    "restarted",
    "warned",
    "finished",
    "failed",
    "fault",
    "poolGrew",
    "poolShrank",
]
"""`waiting`, `reserved`, `released`, `admitted`, `evicted`: what Kueue says in the conditions of the
Workload. `restarted`, `finished`, `failed`: what JobSet or the Job controller says. `submitted`, `refused`,
`fault`, `poolGrew`, `poolShrank`: what the rehearsal itself did, and the API server's answer to it."""

SUCCEEDED, DELETED = "Succeeded", "Deleted"
"""Reasons of `podEnded`: the pod did its work, or it was deleted. Any other reason is `Failed`."""

NOT_IN_TREE = "NotInTree"
"""Reason of our own warning that an object which a run needs is missing."""
RESTARTED = "ContainerRestarted"
"""Reason of our own warning that a container restarted; Kubernetes has no event for it."""

TIMED_OUT, CHECKED = "PodsReadyTimeout", "AdmissionCheck"
"""Kueue's reasons for an eviction: pods were not ready in time, or an admission check is retried."""

FINISHED, RECLAIMED = "Finished", "ReclaimablePods"
"""Reasons of `released` without an eviction: the run is over, or some of its slices are."""


class Event(Struct, frozen=True):
    """One event.

    `at` is in seconds of the rehearsal's clock, which is real time multiplied by its speed. `run` is
    `namespace/name` of the run object, or empty for an event of a pool. Fields that do not apply are empty.
    """

    at: float
    kind: Kind
    run: str = ""
    reason: str = ""
    """The reason that the controller gives: `Preempted`, `Evicted`, ..."""
    text: str = ""
    """The message that the controller gives."""
    queue: str = ""
    """The ClusterQueue that gave quota."""
    flavors: tuple[tuple[str, int], ...] = ()
    """Chips by flavor: reserved ones, or those that a run still holds after it released a part."""
    pod: str = ""
    node_pool: str = ""
    node: str = ""
    """The node of the pod; the record names its pool."""
    chips: int = 0
    """Chips of the pod; or of the nodes by which a pool grew or shrank."""
    job: str = ""
    """`replicatedJob/index` of the pod's Job, which is the slice of a TPU pod; empty outside a JobSet."""
    job_uid: str = ""
    """UID of that Job; a recreated Job has a new one."""
    attempt: int = 0
    """The number of restarts before this event."""

    def record(self) -> dict[str, object]:
        """Return the JSON form, without empty fields."""
        fields: dict[str, object] = {
            "run": self.run,
            "reason": self.reason,
            "message": self.text,
            "clusterQueue": self.queue,
            "flavors": dict(self.flavors),
            "pod": self.pod,
            "nodePool": self.node_pool,
            "chips": self.chips,
            "job": self.job,
            "attempt": self.attempt,
        }
        applying = {name: value for name, value in fields.items() if value}
        return {"at": round(self.at, 2), "kind": self.kind, **applying}
