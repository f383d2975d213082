"""New TPUWorkload files, planned as the next render would plan them, before they are written."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from slicewright.intent.source import SourceFile
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Problem, in_order
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.repository import Repository, identities, read_repository


class Beside(Struct, frozen=True):
    """A repository with further files, which take the place of files of the same paths."""

    files: tuple[SourceFile, ...]
    repository: Repository
    """The repository with their workloads last, and the problems of the files."""
    workloads: tuple[Workload, ...]
    """The workloads of the files."""

    def plan(self) -> tuple[tuple[Planned, ...], tuple[Problem, ...]]:
        """Return the runs of the files without a look at others, and their problems."""
        planned, problems = plan_all(replace(self.repository, workloads=self.workloads))
        return planned, self.own(problems)

    def own(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the problems in the files, without lines: the files do not exist yet."""
        paths = {file.path for file in self.files}
        return in_order(problem.without_place() for problem in problems if problem.file in paths)


def beside(known: Repository, *files: SourceFile) -> Beside:
    """Read further files of TPUWorkloads with the clusters and the defaults of a repository."""
    paths = {file.path for file in files}
    sources = [defaults.source for defaults in known.levels.documents]
    sources += [site.cluster.source for site in known.sites.values()]
    context = {source.file.path: source.file for source in sources}
    read = read_repository([*context.values(), *files], known.settings, known.package, known.read_text)
    workloads = tuple(workload for workload in read.workloads if workload.source.file.path in paths)
    others = (workload for workload in known.workloads if workload.source.file.path not in paths)
    everyone = (*others, *workloads)
    problems = (*read.problems, *identities(everyone))
    return Beside(files, replace(known, workloads=everyone, problems=problems), workloads)
