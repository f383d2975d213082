"""Further files of TPUWorkloads beside a repository: planned as the next render would, before they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.problem import in_order
from slicewright.core.render.plans import Planned, plan_all
from slicewright.core.render.repository import Repository, identities, read_repository

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.intent.source import SourceFile
    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Problem


class Beside(Struct, frozen=True):
    """A repository with further files, which take the place of files of the same paths."""

    files: tuple[SourceFile, ...]
    repository: Repository
    """With their workloads, after those that are there, and the problems of the files."""
    workloads: tuple[Workload, ...]
    """Those of the files."""

    def plan(self) -> tuple[tuple[Planned, ...], tuple[Problem, ...]]:
        """Return the runs of the files without a look at others, and their problems."""
        planned, problems = plan_all(replace(self.repository, workloads=self.workloads))
        return planned, self.own(problems)

    def own(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the problems in the files; without a line, for nobody can look at it yet."""
        paths = {file.path for file in self.files}
        return in_order(problem.without_place() for problem in problems if problem.file in paths)


def beside(known: Repository, *files: SourceFile) -> Beside:
    """Read further files of TPUWorkloads with the clusters and the defaults of a repository."""
    paths = {file.path for file in files}
    sources = (
        *(one.source for one in known.levels.documents),
        *(site.cluster.source for site in known.sites.values()),
    )
    there = {source.file.path: source.file for source in sources}
    read = read_repository([*there.values(), *files], known.settings, known.package, known.read_text)
    workloads = tuple(one for one in read.workloads if one.source.file.path in paths)
    everyone = (*(one for one in known.workloads if one.source.file.path not in paths), *workloads)
    problems = (*read.problems, *identities(everyone))
    return Beside(files, replace(known, workloads=everyone, problems=problems), workloads)
