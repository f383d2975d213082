"""How the page of a rehearsal calls its runs, where it has them, and whose they are; records are escaped."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from slicewright.core.kubernetes.types import Object


class Shown(Struct, frozen=True):
    """A run on the page."""

    run: str
    name: str
    """Its workload, which is the run without its id; the run itself where the workload has several."""
    anchor: str
    """The id of what happened to it: a link to it opens its row. It is the same on all pages."""
    team: int
    """The number of its team among those of the page."""

    @property
    def mark(self) -> str:
        """Return the attribute that makes an element one of a team."""
        return f' data-team="{self.team}"'

    def link(self) -> str:
        """Return its name as a link to what happened to it."""
        return f'<a href="#{self.anchor}" title="{self.run}">{self.name}</a>'


def shown_runs(record: Object) -> dict[str, Shown]:
    """Return the runs of a record by their names."""
    runs: list[Object] = record["workloads"]
    several = Counter(run["workload"] for run in runs)
    numbers = {team: number for number, team in enumerate(teams(record))}
    return {
        run["run"]: Shown(
            run["run"],
            run["workload"] if several[run["workload"]] == 1 else run["run"],
            f"{record['cluster']}/{run['run']}",
            numbers[_team(run)],
        )
        for run in runs
    }


def teams(record: Object) -> list[str]:
    """Return the teams that have runs, by name; a namespace without a team in the TPUCluster is one."""
    return sorted({_team(run) for run in record["workloads"]})


def _team(run: Object) -> str:
    namespace: str = run["run"].partition("/")[0]
    return run["team"] or namespace


def team_filter(names: Sequence[str], key: str) -> str:
    """Return what a reader chooses a team with; '' where there are not several."""
    if len(names) < 2:  # noqa: PLR2004 - several
        return ""
    choices = "".join(f'<option value="{number}">{team}</option>' for number, team in enumerate(names))
    return f'<label class="filter">Team <select id="{key}f"><option>all</option>{choices}</select></label>'


def filter_rules(names: Sequence[str], key: str) -> str:
    """Return the style rules by which the choice of a team hides what others have: no script is needed."""
    if len(names) < 2:  # noqa: PLR2004 - several
        return ""
    return "".join(
        f'#{key}:has(#{key}f [value="{number}"]:checked) [data-team]:not([data-team="{number}"])'
        "{display:none}\n"
        for number in range(len(names))
    )


def of_workload(runs: Mapping[str, Shown], records: Sequence[Object], subject: str) -> list[Shown]:
    """Return the runs of the workload that a problem names as its object: `TPUWorkload namespace/name`."""
    return [runs[run["run"]] for run in records if subject == f"TPUWorkload {run['workload']}"]
