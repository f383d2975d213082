"""What happened in a rehearsal, one thing at a time, in the order in which it was seen."""

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
"""The reasons with which a pod ended that did its work, and one that was taken away; else it is `Failed`."""

NOT_IN_TREE = "NotInTree"
"""The reason of our own warning: a run needs what nobody has."""
RESTARTED = "ContainerRestarted"
"""The reason of our own warning: Kubernetes itself has no event for it."""

TIMED_OUT, CHECKED = "PodsReadyTimeout", "AdmissionCheck"
"""Why Kueue evicts a run whose pods are not ready in time, and one of which a check is to be made again."""

FINISHED, RECLAIMED = "Finished", "ReclaimablePods"
"""Why Kueue has quota back of a run that it did not evict: it is over, or some of its slices are."""


class Event(Struct, frozen=True):
    """One thing that happened.

    `at` is in seconds of the rehearsal's clock, which is real time multiplied by its speed. `run` is
    `namespace/name` of the run object, empty where a pool is meant. What does not apply is empty.
    """

    at: float
    kind: Kind
    run: str = ""
    reason: str = ""
    """The controller's word: `Preempted`, `Evicted`, ..."""
    text: str = ""
    """The controller's sentence."""
    queue: str = ""
    """The ClusterQueue that gave quota."""
    flavors: tuple[tuple[str, int], ...] = ()
    """Chips by flavor that were reserved; or that are still held where a part was released."""
    pod: str = ""
    node_pool: str = ""
    node: str = ""
    """The node of the pod; the record names its pool."""
    chips: int = 0
    """Chips of the pod; or of the nodes by which a pool grew or shrank."""
    job: str = ""
    """`replicatedJob/index` of the pod's Job, the slice of a TPU pod; empty in a Job of its own."""
    job_uid: str = ""
    """That Job itself: one that is made anew is another one."""
    attempt: int = 0
    """The number of restarts before it."""

    def record(self) -> dict[str, object]:
        """Return the JSON form, without what does not apply."""
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
