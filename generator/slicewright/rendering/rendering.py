"""What a render does, as data: files to write and delete, runs that start and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from slicewright.kubernetes.problem import Problem, counted, errors
from slicewright.rendering.folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.rendering.plans import Planned
    from slicewright.rendering.platform_tree import PlatformChange

Effect = Literal["starts", "ends", "changes"]
MOST_NAMED = 3
"""Most runs of a sweep that are listed one by one; above it only the sweep is named."""


class RunChange(Struct, frozen=True):
    """One run that a render starts, ends, or (Fixed only) changes."""

    effect: Effect
    cluster: str
    namespace: str
    workload: str
    name: str
    """Name of the run object, or of a Fixed workload."""
    reason: str
    sweep: str = ""
    """The sweep of which it is an entry, or ''."""

    @property
    def folder(self) -> str:
        """The folder of the workload."""
        return RunFolder(self.cluster, self.namespace, self.workload).path


class Rendering(Struct, frozen=True):
    """The files that the tree should have, compared with those that it has."""

    writes: dict[str, str] = field(default_factory=dict)
    """Files to write, by path: new ones and changed ones, runs before the lists that name them."""
    deletes: tuple[str, ...] = ()
    unchanged: int = 0
    """Generated files that stay as they are."""
    runs: tuple[RunChange, ...] = ()
    platform: tuple[PlatformChange, ...] = ()
    """What happens to the files of platforms, which are live."""
    problems: tuple[Problem, ...] = ()
    planned: tuple[Planned, ...] = ()
    staying: tuple[str, ...] = ()
    """The files of frozen runs that stay as they are."""
    begun: frozenset[str] = frozenset()
    """The runs that start or change, or would without an error elsewhere: folder of the workload and name."""
    untainted: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    """Flavors whose taint waits, by cluster, with the files of the runs that it waits for."""

    @property
    def ended(self) -> tuple[RunChange, ...]:
        """The runs that this render ends."""
        return tuple(run for run in self.runs if run.effect == "ends")

    @property
    def is_current(self) -> bool:
        """Whether the tree already holds what it should."""
        return not self.writes and not self.deletes and not errors(self.problems)

    def over_limit(self, most: int) -> Problem | None:
        """Return the problem of a render that ends more runs than it may; a sweep counts as one."""
        ended = len({(run.cluster, run.namespace, run.sweep or (run.name,)) for run in self.ended})
        if ended <= most:
            return None
        once = " (a sweep counts as one)" if any(run.sweep for run in self.ended) else ""
        message = (
            f"this render would end {counted(ended, 'run')}{once}, but the limit is {most:,} in one render"
        )
        return Problem("RUN004", message, f"if this is correct: slicewright render --end-runs {ended}")
