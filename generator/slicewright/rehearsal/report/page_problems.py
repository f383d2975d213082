"""What is wrong, on the page of a rehearsal: each problem once, and the runs that never ran without one."""

from collections.abc import Iterator, Mapping, Sequence

from slicewright.core.kubernetes.types import Object
from slicewright.rehearsal.report.charts import OUTCOMES, icon
from slicewright.rehearsal.report.markup import card
from slicewright.rehearsal.report.page_runs import Shown, of_workload

_FIRST = 3
"""Problems that are shown above the timeline; the others open."""
_SEVERITIES = ("error", "warning", "note")
_NEVER = ("waiting", "refused", "notSubmitted")
_SILENT = {
    "waiting": "Kueue gave no reason.",
    "refused": "The API server gave no reason.",
    "notSubmitted": "The rehearsal ended before it was its turn.",
}


class Problems:
    """The problems of a record, equal ones together, errors first."""

    def __init__(self, record: Object, runs: Mapping[str, Shown], key: str) -> None:
        self._records: list[Object] = record["workloads"]
        self._runs = runs
        self._key = key
        equal: dict[tuple[str, ...], list[Object]] = {}
        for problem in sorted(record["problems"], key=lambda problem: _SEVERITIES.index(problem["severity"])):
            alike = tuple(problem[field] for field in ("severity", "id", "message", "hint"))
            equal.setdefault(alike, []).append(problem)
        self._equal = list(equal.values())

    def card(self, level: int) -> str:
        """Return the problems, a line each, which opens; '' without one."""
        if not self._equal:
            return ""
        entries = [self._entry(number, alike) for number, alike in enumerate(self._equal)]
        first, others = "".join(entries[:_FIRST]), "".join(entries[_FIRST:])
        if others:
            rest = len(entries) - _FIRST
            first += f'<details class="rest"><summary>and {rest} more</summary>{others}</details>'
        return card(level, f'Problems<span class="count"> {len(entries)}</span>', first)

    def about(self, run: Object) -> str:
        """Return what a run has to do with problems, and why it is not where it should be.

        What a problem says is not said again: there is a link to the problem.
        """
        links = "".join(
            f'<p><a href="#{self._key}p{number}">{problem["severity"]} {problem["id"]}</a></p>'
            for number, problem in self._problems_of(run)
        )
        return links + (f"<p>{run['why']}</p>" if run["why"] and not self._says_why(run) else "")

    def never(self, level: int) -> str:
        """Return the runs that never ran, but for those of which a problem says why."""
        runs = [
            run
            for run in self._records
            if run["started"] is None and run["outcome"] in _NEVER and not self._says_why(run)
        ]
        entries = (
            f"<li{self._runs[run['run']].mark}>{icon(run['outcome'])}"
            f'<div><p><b class="name">{self._runs[run["run"]].link()}</b> {OUTCOMES[run["outcome"]]}</p>'
            f'<p class="dim">{run["why"] or _SILENT[run["outcome"]]}</p>'
            f'<p class="dim">{_foretold(run)}</p></div></li>'
            for run in runs
        )
        return card(level, "Never ran", f'<ul class="never">{"".join(entries)}</ul>') if runs else ""

    def _problems_of(self, run: Object) -> list[tuple[int, Object]]:
        """Return the problems of the workload of a run, with their numbers."""
        subject = f"TPUWorkload {run['workload']}"
        return [
            (number, problem)
            for number, alike in enumerate(self._equal)
            for problem in alike
            if problem["object"] == subject
        ]

    def _says_why(self, run: Object) -> bool:
        """Tell whether a problem says why a run is not where it should be."""
        texts = (f"{problem['message']} {problem['hint']}" for _, problem in self._problems_of(run))
        return bool(run["why"]) and any(run["why"] in text for text in texts)

    def _entry(self, number: int, alike: Sequence[Object]) -> str:
        """Return a problem; it is open from the start where it is the only one."""
        problem = alike[0]
        is_open = " open" if len(self._equal) == 1 else ""
        hint = f"<p>hint: {problem['hint']}</p>" if problem["hint"] else ""
        about = dict.fromkeys(
            shown for problem in alike for shown in of_workload(self._runs, self._records, problem["object"])
        )
        names = [shown.name for shown in about]
        subject = f"{names[0]}: " if len(names) == 1 and names[0] not in problem["message"] else ""
        teams = {shown.team for shown in about}
        mark = f' data-team="{teams.pop()}"' if len(teams) == 1 else ""
        links = f"<p>timeline: {', '.join(shown.link() for shown in about)}</p>" if about else ""
        return (
            f'<details class="problem {problem["severity"]}"{mark}{is_open}>'
            f"<summary><b>{problem['severity']} {problem['id']}</b> {subject}{problem['message']}</summary>"
            f'<div id="{self._key}p{number}">{hint}{"".join(_places(alike))}{links}</div></details>'
        )


def _places(problems: Sequence[Object]) -> Iterator[str]:
    for problem in problems:
        place = ":".join(str(part) for part in (problem["file"], problem["line"], problem["column"]) if part)
        parts = [part for part in (place if problem["file"] else "", problem["path"]) if part]
        if parts:
            yield f'<p class="place dim">{" ".join(parts)}</p>'


def _foretold(run: Object) -> str:
    if run["outcome"] == "waiting" and not run["quotaCheck"]:
        return "The offline quota check said that it fits, once others are done."
    return f"The offline quota check said the same: {run['quotaCheck']}" if run["quotaCheck"] else ""
