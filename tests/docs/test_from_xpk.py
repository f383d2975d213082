"""The page for people who come from xpk: no flag is missing, no field is made up, every finding is real."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.conftest import Repo
from tests.docs.xpk.page import (
    HERE,
    KINDS,
    PAGE,
    Row,
    blocks,
    commands,
    data,
    documents,
    named,
    paths,
    resolves,
    rows,
)

from slicewright.core.check.model import ObjectSet, Resource
from slicewright.core.check.quota_workload import pod_sets
from slicewright.core.kubernetes.quantity import amount
from slicewright.workspace.package import catalogue

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = data("flags.yaml")["flags"]
CHANGES = data("changes.yaml")
ROWS = list(rows())
SECTIONS = sorted({row.section for row in ROWS if "flag" in row.cells})


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a repository without a cluster and without a workload."""
    return Repo(tmp_path)


def flags_of(*of: str) -> set[str]:
    """Return the flags that any of these commands has, without those of every command."""
    return {flag["flag"] for flag in FLAGS if flag["commands"] != "every" and set(flag["commands"]) & set(of)}


def shown(section: str) -> list[str]:
    """Return the flags of the tables of a section, as often as they are there."""
    return [row.flag for row in ROWS if row.section == section and "flag" in row.cells]


@pytest.mark.parametrize("section", [section for section in SECTIONS if commands(section)])
def test_section_has_every_flag_of_its_commands_once(section: str) -> None:
    """The tables of a section hold each flag of the commands in its heading, once, and no other."""
    assert sorted(flags_of(*commands(section))) == sorted(shown(section))


def test_flags_of_every_command_have_a_section() -> None:
    """What all commands share is in one table."""
    assert sorted(flag["flag"] for flag in FLAGS if flag["commands"] == "every") == sorted(
        shown("Every command")
    )


def test_every_command_with_flags_is_in_a_heading() -> None:
    """No command of xpk is left out."""
    known = {command for flag in FLAGS if flag["commands"] != "every" for command in flag["commands"]}

    assert known <= {command for section in SECTIONS for command in commands(section)}


def test_keys_of_the_configuration_are_there() -> None:
    """`xpk config` knows some keys, and each has a row."""
    keys = [row.cells["key"].strip("`") for row in ROWS if "key" in row.cells]

    assert sorted(data("flags.yaml")["configKeys"]) == sorted(keys)


def test_short_forms_are_named() -> None:
    """Whoever knows only the short form of a flag finds it."""
    shorts = [short for flag in FLAGS for short in flag.get("short", []) if short.startswith("-t")]

    assert shorts == [short for short in shorts if f"`{short}`" in PAGE]
    assert shorts == ["-tgps"]


def test_flag_without_a_field_has_a_reason() -> None:
    """A dash says why."""
    silent = [row.flag for row in ROWS if "—" in row.cells.values() and not row.cells["to know"]]

    assert silent == []


@pytest.mark.parametrize(("kind", "path"), sorted(named()))
def test_field_is_in_the_schema(kind: str, path: str) -> None:
    """Every field that the page names stands in the JSON Schema of its kind."""
    assert [found for found in KINDS if kind in ("", found) and resolves(found, path)] != []


def test_field_that_is_made_up_is_found_out() -> None:
    """The walk through the schemas refuses what is not there, at any depth."""
    paths_of = (
        "spec.slice",
        "spec.tpu.chips",
        "spec.gcsFuse[].buckets",
        "spec.slices[]",
        "spec.podTemplate.spec.nodes",
    )

    assert [path for path in paths_of if resolves("TPUWorkload", path)] == []


def right(repo: Repo) -> None:
    """Render a repository and validate all of it; not a warning is left."""
    repo.run("render")
    assert repo.run("validate", "--strict", "-o", "json").json["problems"] == []


@pytest.mark.slow
def test_every_field_can_be_set(repo: Repo) -> None:
    """The fields of the tables are set together in files that render and validate without a warning."""
    shutil.copytree(HERE / "fields", repo.root, dirs_exist_ok=True)
    right(repo)

    found = documents("fields/clusters/every.yaml", "fields/workloads/every.yaml")
    have = {(document["kind"], path) for document in found for path in paths(document)}
    assert sorted({field for field in named() if field[0]} - have) == []


@pytest.fixture
def example(repo: Repo) -> Repo:
    """Return a repository with the files that the page shows, rendered."""
    for text in blocks("yaml"):
        document = yaml.safe_load(text)
        folder = {"TPUWorkload": "workloads", "TPUCluster": "clusters"}[document["kind"]]
        repo.write(f"{folder}/{document['metadata']['name']}.yaml", text)
    right(repo)
    return repo


def test_examples_render_and_validate(example: Repo) -> None:
    """The files of the page are the two kinds, and make what the text around them names."""
    assert ["TPUCluster", "TPUWorkload", "TPUWorkload"] == [
        yaml.safe_load(text)["kind"] for text in blocks("yaml")
    ]
    made = {path.name for path in (example.root / "provision" / "research").iterdir()}
    assert (
        set(re.findall(r"\b(\w[\w-]*\.sh)\b", PAGE))
        == {"cluster.sh", "node-pools.sh", "verify.sh", "destroy.sh"} & made
    )
    assert "--yes" in example.read("provision/research/destroy.sh")
    assert "--dry-run" in example.read("provision/research/cluster.sh")
    runs = {path.stem for path in (example.root / "overlays" / "research" / "default").glob("*/*-*.yaml")}
    assert set(re.findall(r"llama-[0-9a-f]{8}", PAGE)) == {run for run in runs if run.startswith("llama")}


def resources_of(queue: Any) -> dict[str, Fraction]:
    """Return what a ClusterQueue has of each resource; both tools have one flavor for each."""
    return {
        entry["name"]: amount(entry["nominalQuota"]) or Fraction(0)
        for group in queue["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for entry in flavor["resources"]
    }


def queue_of(example: Repo) -> Any:
    """Return the only ClusterQueue that the example renders."""
    objects = yaml.safe_load_all(example.read("overlays/research/_platform/queues.yaml"))
    return next(item for item in objects if item["kind"] == "ClusterQueue")


def test_queue_has_the_quota_of_xpks(example: Repo) -> None:
    """Both commands and both files make a queue of the same name, with the same chips, cpu and memory."""
    ours = queue_of(example)
    xpks = next(item for item in documents("manifests/queues.yaml") if item["kind"] == "ClusterQueue")

    assert (xpks["metadata"]["name"], resources_of(xpks)) == (ours["metadata"]["name"], resources_of(ours))
    assert xpks["spec"]["preemption"].items() <= ours["spec"]["preemption"].items()


@pytest.mark.slow
@pytest.mark.parametrize("quota", ["", ", nominalQuota: {cpu: 480, memory: 2T}"], ids=["all", "as xpk's"])
def test_heads_do_not_wait_for_each_other(example: Repo, quota: str) -> None:
    """One-slice copies of the Pathways run take all slices at once: quota of cpu grows as the nodes do."""
    text = example.read("clusters/research.yaml")
    text = re.sub(r"(pool: cpu-np), nominalQuota: {[^}]+}", rf"\1{quota}", text)
    example.write("clusters/research.yaml", text)
    example.write(
        "workloads/gemma.yaml", example.read("workloads/gemma.yaml").replace("slices: 2", "slices: 1")
    )
    example.run("render")
    [run] = (example.root / "overlays/research/default/gemma").glob("gemma-*.yaml")
    [jobset] = yaml.safe_load_all(run.read_text(encoding="utf-8"))
    asked: dict[str, Fraction] = {}
    for pods in pod_sets(Resource(jobset, ""), ObjectSet([], catalogue())):
        for name, value in pods.requests.items():
            asked[name] = asked.get(name, Fraction(0)) + value

    has = resources_of(queue_of(example))

    assert 4 * asked["google.com/tpu"] == has["google.com/tpu"]
    assert [] == [name for name, value in has.items() if value < 4 * asked[name]]


def test_folders_that_are_applied_are_made(example: Repo) -> None:
    """Every overlay that the page applies is a folder of the rendered example."""
    applied = set(re.findall(r"-k (overlays/[\w/-]+)", PAGE))

    assert applied == {path for path in applied if (example.root / path / "kustomization.yaml").is_file()}
    assert applied != set()


def test_command_lines_of_xpk_are_xpks() -> None:
    """The command lines of xpk name flags that their commands have."""
    for text in blocks("sh"):
        words = shlex.split(text)
        command = " ".join(words[1:3])
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        every = {flag["flag"] for flag in FLAGS if flag["commands"] == "every"}
        assert used <= flags_of(command) | every, command


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"`(?:make SLICEWRIGHT=)?slicewright ([a-z]+)", PAGE)))
)
def test_commands_exist(repo: Repo, command: str) -> None:
    """Every command of ours that the page names has a help page."""
    assert repo.run(command, "--help").code == 0


def validated(repo: Repo, path: str, code: int = 0) -> list[dict[str, Any]]:
    """Return what `slicewright validate` finds below a path, and expect its exit code."""
    found: list[dict[str, Any]] = repo.run("validate", "--gitops", path, "-o", "json", code=code).json[
        "problems"
    ]
    return found


def test_report_is_what_validate_prints(repo: Repo) -> None:
    """The report on the page is printed for the manifests of this folder, to the letter."""
    shutil.copytree(HERE / "manifests", repo.root / "manifests")
    [report] = blocks("console")
    command, _, output = report.removeprefix("$ slicewright ").partition("\n")
    done = repo.run(*shlex.split(command))

    assert (0, output) == (done.code, done.out)


def test_table_of_findings_counts_them(repo: Repo) -> None:
    """Each rule that finds something has a row with the number of its findings, and a reason."""
    shutil.copytree(HERE / "manifests", repo.root / "manifests")
    table = {row.cells["rule"].strip("`"): row.cells for row in ROWS if "rule" in row.cells}

    assert {rule: int(cells["found"]) for rule, cells in table.items()} == Counter(
        problem["id"] for problem in validated(repo, "manifests")
    )
    assert [rule for rule, cells in table.items() if not cells["why it matters"]] == []


def changed(change: dict[str, Any]) -> list[Any]:
    """Return the queues and one workload, as a flag changes them."""
    queues = documents("manifests/queues.yaml")
    [target] = documents(f"manifests/{change['of']['file']}")
    for pointer, value in change["set"].items():
        *way, last = [key.replace("~1", "/") for key in pointer.split("/")[1:]]
        place: Any = target
        for key in way:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[last] = value
    if "flavor" in change:
        queues[0]["spec"]["nodeLabels"] = change["flavor"]
    if "quota" in change:
        queue = next(document for document in queues if document["kind"] == "ClusterQueue")
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = change["quota"]
    return [*queues, target]


def said(repo: Repo, objects: list[Any], name: str, code: int = 0) -> Counter[str]:
    """Return what `slicewright validate` says of objects, as rule and message."""
    repo.write(f"{name}/all.yaml", yaml.safe_dump_all(objects, sort_keys=False))
    return Counter(f"{problem['id']} {problem['message']}" for problem in validated(repo, name, code))


def row_of(flags: str) -> Row:
    """Return the row of the page for some flags."""
    return next(row for row in ROWS if row.cells.get("flags", "").replace("`", "") == flags)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["flags"])
def test_flag_that_makes_what_cannot_run_is_found(repo: Repo, change: dict[str, Any]) -> None:
    """What the flag adds to the findings is what the page says, to the letter."""
    before = said(repo, changed({"of": change["of"], "set": {}}), "before")
    after = said(repo, changed(change), "after", change["exit"])
    row = row_of(change["flags"])
    name = change["set"].get("/metadata/name", "gemma")
    before = Counter({text.replace("'gemma'", f"'{name}'"): many for text, many in before.items()})

    assert sorted(after - before) == row.cells["validate says"].split("<br>")
    assert row.cells["because"] != ""


def test_rows_of_such_flags_are_all_tested() -> None:
    """The table has no row that is not tried."""
    assert sorted(change["flags"] for change in CHANGES) == sorted(
        row.cells["flags"].replace("`", "") for row in ROWS if "flags" in row.cells
    )


def test_source_of_every_flag_is_named() -> None:
    """The list of flags says from which release it is, and where each flag is declared."""
    assert "xpk " + data("flags.yaml")["xpk"]["version"] in PAGE
    assert [flag["flag"] for flag in FLAGS if not flag["source"].startswith("src/xpk/parser/")] == []
