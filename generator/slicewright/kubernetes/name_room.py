"""Names that controllers derive from ours, and the room that they leave (jobset webhook, Job controller)."""

import hashlib

from msgspec import Struct

MAX_LABEL = 63
"""Characters of a DNS label and of a label value (RFC 1123, Kubernetes)."""
_POD_SUFFIX = 6
"""A hyphen and the five characters that a Job controller appends to a pod's name."""
PATHWAYS_HEAD = "pathways-head"
"""The replicated job that runs the program of a Pathways run."""
_COORDINATOR = len(f"-{PATHWAYS_HEAD}-0-0.")
"""What is between a JobSet's name and its subdomain in the coordinator's address."""


class Room(Struct, frozen=True):
    """How long the name of a run object may be, and what takes the rest."""

    length: int
    because: str


def subdomain(namespace: str, name: str) -> str:
    """Return the subdomain of a Pathways JobSet: 11 characters, its own within the namespace."""
    return "pw-" + hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:8]


def room_in_jobset(replicated_jobs: dict[str, tuple[int, int]], *, coordinator_subdomain: str = "") -> Room:
    """Return the room for a JobSet's name.

    `replicated_jobs` maps a name to (replicas, completions). The JobSet webhook builds the longest pod name
    `<jobset>-<replicatedJob>-<job index>-<pod index>-abcde` and refuses it above 63 characters; with a
    coordinator its address `<jobset>-<replicatedJob>-0-0.<subdomain>` must be a label value.
    """
    rooms = [
        _room_before(f"-{name}-{replicas - 1}-{completions - 1}", "JobSet")
        for name, (replicas, completions) in replicated_jobs.items()
    ]
    if coordinator_subdomain:
        address = f"the coordinator's address '<name>-{PATHWAYS_HEAD}-0-0.{coordinator_subdomain}'"
        length = MAX_LABEL - _COORDINATOR - len(coordinator_subdomain)
        rooms.append(Room(length, f"{address} is a label value of at most 63 characters"))
    return min(rooms, key=lambda room: room.length)


def _room_before(end: str, maker: str) -> Room:
    """Return the room for a name in names of pods, which have this end and random letters."""
    because = f"{maker} names pods '<name>{end}-xxxxx', with at most 63 characters"
    return Room(MAX_LABEL - len(end) - _POD_SUFFIX, because)


def room_in_pathwaysjob() -> Room:
    """Return the room for a PathwaysJob's name: its controller makes a JobSet of that name and subdomain."""
    return Room(
        (MAX_LABEL - _COORDINATOR) // 2,
        f"the controller of PathwaysJob puts '<name>-{PATHWAYS_HEAD}-0-0.<name>' into a label of at most 63 "
        "characters",
    )


def room_in_job(completions: int) -> Room:
    """Return the room for a Job's name; an indexed pod's host name is `<name>-<index>`."""
    return _room_before("" if completions == 1 else f"-{completions - 1}", "a Job")
