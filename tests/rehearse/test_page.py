"""The HTML page of rehearsals, as text; tests/e2e_html looks at it in a browser."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.e2e_html.records import calm, eventful, large

from slicewright.cli.report.rehearsal_output import render_page as page
from slicewright.kubernetes.types import Object
from slicewright.rehearse.report.charts import OUTCOMES

_EMPTY = {"meta", "path", "rect", "circle", "line", "use"}


class _Reader(HTMLParser):
    """Reads a page: elements, ids, text by element; elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self.wrong.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.found if attribute in attrs]


def _text(*records: Object) -> str:
    return " ".join(" ".join(_Reader(page(records)).words).split())


def _cells(record: Object, title: str) -> list[list[str]]:
    (table,) = re.findall(rf"(?s)>{title}<span class=\"count\">.*?</table>", page([record]))
    rows = re.findall("(?s)<tr[^>]*>(.*?)</tr>", table)
    cells = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    return [[re.sub("<[^>]*>", "", cell) for cell in row] for row in cells]


def _loaded() -> Object:
    """Return a rehearsal with arrivals, and with chips that runs wait for."""
    record = calm()
    waits = {"p50WaitSeconds": 60.0, "p95WaitSeconds": 600.0, "maxWaitSeconds": None}
    row = {"profile": "evening", "seed": 7, "clusterQueue": "", "runs": 9, "finished": 8, "neverAdmitted": 1}
    record["measures"]["arrivals"] = [{**row, **waits}]
    record["measures"]["losses"] = [
        {"pool": "v5e", "rate": "8/d", "seed": 7, "losses": 3, "awaySeconds": 7200.0}
    ]
    record["queues"][0]["waiting"] = [{"flavors": ["v5e", "v6e"], "chips": [[60.0, 16], [600.0, 0]]}]
    return record


PAGES = {
    "eventful": [eventful()],
    "loaded": [_loaded()],
    "several": [eventful(), calm()],
    "large": [large()],
    "nothing": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_well_formed(name: str) -> None:
    """Every element is closed in order, no id stands twice, and every reference to one leads somewhere."""
    read = _Reader(page(PAGES[name]))
    ids = read.all("id")
    named = [
        word for words in read.all("aria-labelledby") + read.all("aria-describedby") for word in words.split()
    ]
    linked = [link.removeprefix("#") for link in read.all("href")]

    assert ([], []) == (read.wrong, read.open)
    assert len(set(ids)) == len(ids)
    assert set() == {*named, *linked} - set(ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_and_nothing_runs(name: str) -> None:
    """No script, no address, no inline style; the policy allows the one style sheet and nothing else."""
    text = page(PAGES[name])
    read = _Reader(text)
    sheet = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(sheet[0].encode()).digest()).decode()
    policy = [attrs["content"] for _, attrs in read.found if "http-equiv" in attrs]

    assert [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"] == policy
    assert [] == [tag for tag, _ in read.found if tag in ("script", "link", "img", "iframe", "object")]
    assert [] == [key for _, attrs in read.found for key in attrs if key == "style" or key.startswith("on")]
    assert [] == [link for link in (*read.all("href"), *read.all("src")) if not link.startswith("#")]
    assert [] == re.findall(r"https?:|//[a-z]|@import|url\((?!#)", text)


def test_what_people_wrote_stays_text_wherever_it_stands() -> None:
    """A name or a controller's message with markup in it is shown as it is, in every field of the record."""
    evil = "\"><script>alert(1)</script>'&\x1b\x85\ud800\uffff\u202e\u2066"

    def poisoned(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            changed = {name: poisoned(inner, name) for name, inner in value.items()}
            return {evil: 8} if key == "flavors" else changed
        if isinstance(value, list):
            return [poisoned(inner, key) for inner in value]
        kept = key in ("outcome", "verdict", "state", "kind", "severity")
        return value + evil if isinstance(value, str) and not kept else value

    read = _Reader(page([poisoned(eventful()), poisoned(_loaded())]))

    assert [] == [tag for tag, _ in read.found if tag == "script"]
    assert ([], []) == (read.wrong, read.open)
    assert set() == {key for _, attrs in read.found for key in attrs} - {
        key for _, attrs in _Reader(page([eventful(), _loaded()])).found for key in attrs
    }
    told = "research/base-model\"><script>alert(1)</script>'&" + "\ufffd" * 6
    assert told in "".join(read.words)


def test_equal_records_give_equal_bytes() -> None:
    """The page depends on the records alone, also after a way through a JSON file."""
    again = json.loads(json.dumps([eventful(), calm()]))

    assert page([eventful(), calm()]).encode() == page(again).encode()


@pytest.mark.slow
def test_a_large_rehearsal_is_a_page_below_a_megabyte() -> None:
    """100 workloads with 4,000 events and more are told in less than 1,000,000 bytes."""
    record = large()

    assert (True, True) == (len(record["events"]) >= 4000, len(page([record]).encode()) < 1_000_000)


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([calm()], "passed: rehearsal of calm"),
        ([calm(), eventful()], "failed: rehearsal of calm, teams"),
        ([{**calm(), "verdict": "interrupted"}, eventful()], "interrupted: rehearsal of calm, teams"),
        ([], "passed: rehearsal of nothing"),
    ],
)
def test_the_verdict_stands_in_the_title(records: list[Object], title: str) -> None:
    """The tab of the browser says how it went; of several clusters the worst counts."""
    assert [title] == re.findall("<head>.*?<title>(.*?)</title>", page(records), re.DOTALL)


def test_the_head_says_how_it_was_played() -> None:
    """Time, speed, and who simulated what."""
    told = _text(eventful())

    assert "Simulated 34m00s in 34s, at 60 times the speed on the real JobSet, Kueue and scheduler" in told
    assert "Its time resolution is 1m00s, a second of the controllers' own time." in told
    assert "PathwaysJobs were reconciled by the simulated operator of the test bed." in told
    assert "Simulated 2m00s on the real JobSet" in _text(calm())
    assert "on the real JobSet and Kueue, without pods" in _text({**calm(), "pods": False})
    need = {"kind": "Secret", "namespace": "team", "name": "token"}
    assert "Stand-ins for what exists on the cluster: Secret team/token." in _text(
        {**calm(), "standIns": [need]}
    )


def test_the_tiles_say_what_matters_first() -> None:
    """How many finished, the longest wait, evictions with their reasons, restarts, chips at work."""
    told = _text(eventful())

    assert "Finished 3 of 7 1 failed, 1 refused, 1 still waiting at the end, 1 not submitted" in told
    assert "Longest wait 7m20s prod/flex Evictions 1 1 Preempted Restarts 1 Chips at work" in told


def test_problems_come_with_place_and_hint() -> None:
    """Each problem says where it is and what to do, and its severity in words."""
    told = _text(eventful())

    assert "error REH001 research/too-big was still waiting at the end hint: Kueue: couldn't assign" in told
    assert "workloads/too-big.yaml:4:9 metadata.name" in told
    assert "warning REH004 'late' did not start spec.rehearsal" in told
    assert "Problems" not in _text(calm())


def test_what_a_problem_says_of_a_run_stands_there_once() -> None:
    """Two cards with the same text push the timeline out of sight."""
    record = eventful()
    never = _text(record).partition("Never ran")[2].partition("Quota in use")[0]
    row = _row(record, "research/too-big")

    assert ["research/too-big" in never, "prod/late" in never] == [False, True]
    assert 1 == _text(record).count(f"hint: {record['problems'][0]['hint']}")
    assert '<a href="#c0p0">error REH001</a>' in row
    assert "couldn't assign flavors" not in row.partition("<ol")[0]
    record["problems"][0]["hint"] = "another"
    assert "couldn&#39;t assign flavors" in _row(record, "research/too-big").partition("<ol")[0]


def test_equal_problems_are_one_with_several_places() -> None:
    """Errors come before warnings, whatever the order of the record; of many the first three are in sight."""
    record = eventful()
    late = record["problems"].pop()
    record["problems"] = [late, *record["problems"], {**late, "file": "workloads/b.yaml"}]
    problems = page([record]).partition("Problems<")[2].partition("Timeline<")[0]

    assert 'class="count"> 4<' in problems
    assert ["error", "error", "error", "warning"] == re.findall(r'class="problem (\w+)"', problems)
    assert ["spec.rehearsal", "workloads/b.yaml spec.rehearsal"] == re.findall(
        r'place dim">([^<]*)<', problems.partition("and 1 more")[2]
    )


def test_a_problem_names_its_workload() -> None:
    """A line that says `it waited` has the name before it, and one that has it does not have it twice."""
    record = eventful()
    record["problems"][0]["message"] = "it waited"
    told = _text(record)

    assert "error REH001 research/too-big: it waited hint:" in told
    assert "error REH001 prod/nightly failed" in told


def test_the_only_problem_is_open() -> None:
    """Several are a line each, so that the timeline is in sight."""
    record = eventful()
    several = page([record])
    record["problems"] = record["problems"][:1]

    assert [0, 1] == [
        len(re.findall('class="problem[^>]* open>', text)) for text in (several, page([record]))
    ]


def test_a_run_has_its_name_without_its_id_and_an_address() -> None:
    """The whole name is its title and in its row; where a workload has two runs, their names are whole."""
    record = eventful()
    name, run = "research/sweep", "research/sweep-r01"
    row = _row(record, run)

    assert f'<span class="name" title="{run}">{name}</span>' in row
    assert f'<div class="more" id="teams/{run}"><p class="dim">run <a href="#teams/{run}">{run}</a>' in row
    assert f'<a href="#teams/{run}" title="{run}">{name}</a><small> run {run}</small>' in page([record])
    record["workloads"][0]["workload"] = name
    assert f'<span class="name">{run}</span>' in _row(record, run)


def test_a_problem_leads_to_its_run() -> None:
    """To what happened to it, which then opens."""
    found = page([eventful()]).partition('id="c0p2"')[2].partition("</details>")[0]

    assert '<a href="#teams/prod/nightly" title="prod/nightly">prod/nightly</a>' in found


def test_a_team_is_what_the_cluster_calls_its_namespace() -> None:
    """Two namespaces are two teams to choose from; of one there is nothing to choose."""
    record = eventful()
    assert ["all", "prod", "research"] == _choices(record)
    for run in record["workloads"]:
        if run["run"].startswith("prod/"):
            run["team"] = "vision"
    assert ["all", "research", "vision"] == _choices(record)
    assert '#c0:has(#c0f [value="1"]:checked) [data-team]:not([data-team="1"]){display:none}' in page(
        [record]
    )
    assert '<details class="row" data-team="1"' in _row(record, "prod/nightly")
    assert [] == _choices(calm())
    assert ":checked" not in page([calm()])


def _choices(record: Object) -> list[str]:
    return re.findall("<option[^>]*>(.*?)</option>", page([record]))


def _row(record: Object, run: str) -> str:
    """Return the row of a run in the timeline."""
    rows = page([record]).split('<details class="row"')[1:]
    (row,) = [row.partition("</details>")[0] for row in rows if f'id="{record["cluster"]}/{run}"' in row]
    return f'<details class="row"{row}'


def test_expectations_have_a_tile() -> None:
    """How many passed, and of how many nobody can tell."""
    record = calm()
    record["workloads"][0]["expectations"] = [
        {"kind": "waitBelow", "result": result, "message": ""}
        for result in ("passed", "cannotTell", "failed")
    ]

    assert "Expectations passed 1 of 3 1 could not be judged" in _text(record)
    assert "Expectations" not in _text(calm())


def test_what_never_ran_says_why_and_what_was_known_before() -> None:
    """Kueue's reason and that of the offline check stand together; without a reason that is said."""
    record = eventful()
    told = _text(record)

    assert "research/too-big" not in told.partition("Never ran")[2].partition("Quota in use")[0]
    assert "prod/late not submitted The rehearsal ended before it was its turn." in told
    record["problems"] = []
    told = _text(record)
    assert "research/too-big still waiting at the end Kueue: couldn't assign flavors" in told
    assert "The offline quota check said the same: FIT102 32 chips are asked" in told
    assert "Never ran" not in _text(calm())
    for run in record["workloads"]:
        run["quotaCheck"] = run["why"] = ""
    told = _text(record)
    assert "Kueue gave no reason. The offline quota check said that it fits, once others are done." in told
    assert "prod/bad-name refused The API server gave no reason." in told


def test_every_run_has_a_row_that_opens() -> None:
    """A row shows how it ended and how long it waited, and opens to all that happened to it."""
    told = _text(eventful())

    assert "prod/nightly failed at 18m30s, waited 2m20s, 1 restart" in told
    assert "research/base-model finished at 33m10s, 1 eviction" in told, (
        "12s is less than the time resolution"
    )
    assert "12m15s restarted by JobSet : attempt 1" in told
    assert "nothing happened to it" in told
    assert "Skip the 7 rows of the timeline" in told


def test_the_table_of_runs_has_every_moment() -> None:
    """Submitted, admitted, started, ended, wait, restarts, and evictions in Kueue's own words."""
    rows = _cells(eventful(), "Runs")
    text = "Preempted to accommodate a workload (UID: 7c1e) due to reclamation within the cohort"
    evicted = f"7m00s Preempted: {text}"

    assert [
        ["Run", "Outcome", "Submitted", "Admitted", "Started", "Ended", "Wait", "Restarts", "Evictions"],
        [
            *("research/base-model", "finished", "0.0s", "12s", "1m02s", "33m10s", "less than 1m00s", "0"),
            evicted,
        ],
        ["prod/nightly", "failed", "5m00s", "7m20s", "8m12s", "18m30s", "2m20s", "1", "none"],
    ] == rows[:3]
    assert ["research/sweep run research/sweep-r01", OUTCOMES["finished"]] == rows[3][:2]
    assert ["prod/late", "not submitted", "-", "-", "-", "-", "-", "0", "none"] == rows[7]


def test_the_table_of_slices_has_the_node_pools() -> None:
    """Each slice of each attempt, where it was and whether it was alone there; what was not is marked."""
    record = eventful()
    pieces = record["workloads"][0]["slices"]
    pieces[0] |= {"nodePools": ["v5e1", "v5e2"], "exclusive": False, "job": ""}
    rows = _cells(record, "Slices")

    name = "research/base-model"
    assert ["Run", "Slice", "Attempt", "Node pools", "Pods", "From", "To", "Exclusive"] == rows[0]
    assert [name, "all pods", "0", "split over 2: v5e1, v5e2", "2", "1m00s", "7m10s", "no, shared"] == rows[1]
    assert 1 == rows.count([name, "slice/1", "0", "v5e2", "2", "1m00s", "7m10s", "yes"])
    assert 1 == rows.count(["prod/nightly", "slice/1", "1", "v5e2", "2", "13m20s", "18m21s", "yes"])


def test_queues_and_pools_have_utilisation_and_borrowing() -> None:
    """Quota, share in use, peak, and how much was borrowed for how long."""
    assert [
        ["Queue", "Quota", "Utilisation", "Peak", "Borrowed up to", "Borrowed for"],
        ["research-cq", "24", "115%", "32", "8", "v5e-2x4 48% of the time"],
        ["prod-cq", "16", "59%", "24", "8", "v5e-2x4 31% of the time"],
    ] == _cells(eventful(), "Queues")
    assert [["queue", "8", "98%", "8", "nothing", "-"]] == _cells(calm(), "Queues")[1:]
    assert [["Pool", "Chips", "Utilisation", "Peak"], ["nodepool", "8", "91%", "8"]] == _cells(
        calm(), "Pools"
    )


def test_chips_that_runs_wait_for_are_a_chart_by_flavor() -> None:
    """Where runs waited; it has no limit, and no legend."""
    charts = re.findall(r'<svg class="steps".*?<title[^>]*>(.*?)</title><desc[^>]*>(.*?)<', page([_loaded()]))

    assert ("queue: v5e or v6e: chips that runs wait for", "up to 16 chips") in charts
    assert "Chips that runs wait for" not in _text(eventful())


def test_what_concerns_no_run_is_told_beside() -> None:
    """Pools that grow and shrink have their own list, where there are any."""
    assert "15m00s pool grew : flex1, +8 chips, 2 nodes" in _text(eventful())
    assert "Nodes and the rehearsal itself" not in _text(calm())


@pytest.mark.slow
def test_long_tables_are_closed_at_first() -> None:
    """A table of more than thirty rows does not push the rest away."""
    tables = re.findall('<details class="table"( open)?>.*?<h2[^>]*>(.*?)<', page([large()]))

    assert [
        ("", "Runs"),
        ("", "Slices"),
        (" open", "Queues"),
        (" open", "Pools"),
        (" open", "Chip-hours"),
    ] == tables


def test_several_clusters_are_listed_first_and_each_has_its_part() -> None:
    """Links with the verdict lead to each cluster, whose headings are one level lower."""
    text = page([eventful(), calm()])

    assert ["#c0", "#c1"] == re.findall('<a href="(#c[0-9]+)">', text)
    assert ["teams: failed", "calm: passed"] == re.findall(r"</svg>(\w+: \w+)</a>", text)
    assert ["teams", "calm"] == re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert 1 == text.count("<h1>")


def test_a_rehearsal_without_anything_is_a_page_too() -> None:
    """A rehearsal in which nothing was played, has no queue and no pool, and took no time, is still told."""
    summary = dict.fromkeys(eventful()["summary"], 0)
    empty = {"workloads": [], "queues": [], "pools": [], "events": [], "problems": [], "seconds": 0.0}
    told = _text({**calm(), **empty, "summary": summary})

    assert "No workload ran." in told
    assert [] == [word for word in ("Longest wait", "Chips at work", "Timeline") if word in told]


def test_arrivals_have_a_table() -> None:
    """A row for each profile and queue, beside the rows of their runs."""
    told = _text(_loaded())

    assert "Profile Seed Queue Finished Median wait 95 % below Longest wait" in told
    assert "evening 7 - 8 of 9 1m00s 10m00s never" in told
