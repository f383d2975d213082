"""`slicewright init --upgrade`: bases and schemas come to this version, what people wrote and ran stays."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Repo
from tests.diff.kit import commit

from slicewright.project import new_files
from slicewright.version import __version__

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

JOBSET = "bases/jobset/jobset.yaml"
GONE = "bases/components/gone/jobset/kustomization.yaml"


class Team(Repo):
    """A repository made by init."""

    def __init__(self, root: Path) -> None:
        """Make it; nothing is rendered yet."""
        self.root = root
        self.run("init")
        self.run("render")

    def older(self, edit: dict[str, str]) -> None:
        """Make the copies those of an older version, which wrote some files in another way."""
        for path, text in edit.items():
            self.write(path, text)
        for folder in new_files.FOLDERS:
            path = f"{folder}/{new_files.RECORD}"
            record = json.loads(self.read(path))
            record["slicewright"] = "0.0.9"
            for name, text in edit.items():
                if name.startswith(f"{folder}/"):
                    record["files"][name.removeprefix(f"{folder}/")] = new_files.digest(text)
            self.write(path, json.dumps(record))

    def upgrade(self, *arguments: str, code: int = 0) -> Any:
        """Upgrade and return the JSON."""
        return self.run("init", "--upgrade", "-o", "json", *arguments, code=code).json


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """A repository as init makes it, rendered."""
    return Team(tmp_path)


def older_base(team: Team) -> str:
    """Return the text of a base of an older version, from which runs were rendered."""
    return team.read(JOBSET).replace("publishNotReadyAddresses: true", "publishNotReadyAddresses: false")


def ids(found: Any) -> list[tuple[str, str]]:
    """Return the problems of a result by id and file."""
    return [(problem["id"], problem["file"]) for problem in found["problems"]]


def test_same_version_has_nothing_to_do(team: Team) -> None:
    """No file is opened for writing."""
    before = team.stamps("bases") | team.stamps("schemas")

    found = team.upgrade()

    assert ([], [], [], [], []) == (
        found["written"],
        found["deleted"],
        found["kept"],
        found["outdated"],
        found["problems"],
    )
    assert before == team.stamps("bases") | team.stamps("schemas")


def test_older_copies_come_to_this_version_and_runs_stay(team: Team) -> None:
    """Files are replaced, added and deleted; the frozen run is not touched and is said to be outdated."""
    new = team.read(JOBSET)
    team.older({JOBSET: older_base(team), GONE: "kind: Component\n"})
    (team.root / "workloads/hello.yaml").unlink()
    team.workload("mine", "clusters: [sample]\ntpu: v5litepod-8\ncontainer: {image: x}")
    team.run("render")
    (team.root / "bases/README.md").unlink()
    commit(team)
    runs = team.stamps()

    found = team.upgrade()

    assert [JOBSET, "bases/.slicewright.json", "bases/README.md", "schemas/.slicewright.json"] == sorted(
        found["written"], key=lambda path: (path != JOBSET, path)
    )
    assert ([GONE], new) == (found["deleted"], team.read(JOBSET))
    assert not (team.root / "bases/components/gone").exists()
    assert ["default/mine"] == [run["workload"] for run in found["outdated"]]
    assert runs == team.stamps()
    assert json.loads(team.read("bases/.slicewright.json"))["slicewright"] == __version__
    assert team.run("outdated", "-o", "json").json == found["outdated"]


def test_words_of_an_upgrade_say_what_happened_and_what_comes_next(team: Team) -> None:
    """Files, outdated runs, and the commands that follow."""
    team.older({JOBSET: older_base(team), GONE: "kind: Component\n"})
    (run,) = team.runs("hello", "sample")
    path = f"overlays/sample/default/hello/{run}"
    (team.root / path).unlink()
    (team.root / "overlays/sample/default/hello/kustomization.yaml").unlink()
    team.run("render")

    out = team.run("init", "--upgrade").out

    assert [
        "  ~ bases/.slicewright.json",
        f"  ~ {JOBSET}",
        "  ~ schemas/.slicewright.json",
        f"  - {GONE}",
        f"bases and schemas are those of slicewright {__version__}: 3 files written, 1 deleted, 0 kept",
        f"  sample/default/hello: {run.removesuffix('.yaml')} would render differently today, and stays",
        "slicewright outdated shows the difference; slicewright rerun NAME starts the run again with it",
        "next: make render, for what is Fixed follows its base, and make diff",
    ] == out.splitlines()


def test_edited_copy_stops_the_upgrade(team: Team) -> None:
    """Nothing is written, neither over it nor beside it; the hint says where the change belongs."""
    team.older({JOBSET: older_base(team), GONE: "kind: Component\n"})
    edited = team.write("bases/job/job.yaml", team.read("bases/job/job.yaml") + "# mine\n")
    team.write(GONE, "kind: Component\nresources: []\n")
    before = team.tree("bases")

    found = team.upgrade(code=1)

    assert [("INIT001", GONE), ("INIT001", edited)] == ids(found)
    assert "custom/" in found["problems"][0]["hint"]
    assert before == team.tree("bases")


def test_edited_copy_is_kept_where_that_is_asked_for(team: Team) -> None:
    """The rest comes to this version, and the next upgrade still knows that it was edited."""
    new = team.read(JOBSET)
    team.older({JOBSET: older_base(team)})
    edited = team.write("bases/job/job.yaml", team.read("bases/job/job.yaml") + "# mine\n")

    found = team.upgrade("--keep")

    assert ([("INIT001", edited)], [edited]) == (ids(found), found["kept"])
    assert (new, True) == (team.read(JOBSET), team.read(edited).endswith("# mine\n"))
    assert [("INIT001", edited)] == ids(team.upgrade(code=1))


def test_copies_that_no_record_names_are_nobodys(team: Team) -> None:
    """Bases that were copied by hand are taken where they are as shipped, and else kept."""
    for record in ("", "[]", "{", '{"files": {"../slicewright.yaml": "x", "": "y", "/etc/hosts": "z"}}'):
        for folder in new_files.FOLDERS:
            team.write(f"{folder}/{new_files.RECORD}", record)
        assert ["bases/.slicewright.json", "schemas/.slicewright.json"] == team.upgrade()["written"]

    (team.root / "bases/.slicewright.json").unlink()
    edited = team.write("bases/job/job.yaml", team.read("bases/job/job.yaml") + "# mine\n")
    found = team.upgrade(code=1)

    assert [("INIT001", edited)] == ids(found)
    assert found["problems"][0]["message"] == "the version of the file is not known"


def test_ends_of_lines_are_no_edit(team: Team) -> None:
    """A checkout on Windows turns them."""
    path = team.root / JOBSET
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert [] == team.upgrade()["problems"]


def test_plan_that_fails_after_the_upgrade_is_said(team: Team) -> None:
    """The copies are new all the same; what stands against the workloads is shown."""
    team.older({JOBSET: older_base(team)})
    team.workload("mine", "clusters: [sample]\ntpu: v5litepod-7\ncontainer: {image: x}")

    found = team.upgrade(code=1)

    assert [("TPU005", "workloads/mine.yaml")] == ids(found)
    assert JOBSET in found["written"]
    assert "publishNotReadyAddresses: true" in team.read(JOBSET)


def test_upgrade_is_of_a_repository_and_a_requirement_of_a_new_one(team: Team, tmp_path: Path) -> None:
    """Exit 2: outside of one, for a version that may not render it, and for options without effect."""
    (tmp_path.parent / "alone").mkdir(exist_ok=True)
    assert (
        "no slicewright.yaml in" in team.run("init", str(tmp_path.parent / "alone"), "--upgrade", code=2).err
    )
    assert (
        "is for a new repository"
        in team.run("init", "--upgrade", "--slicewright-requirement", "x", code=2).err
    )
    team.write("slicewright.yaml", 'requires: ">=99"\n')
    assert "requires slicewright >=99" in team.run("init", "--upgrade", code=2).err


def test_releases_of_controllers_come_and_none_is_deleted(team: Team) -> None:
    """A cluster may name the release that an older version brought; a person deletes it."""
    old, new = "bases/controllers/kueue-v0.18.1", "bases/controllers/kueue-v0.19.2"
    team.older({f"{old}/manifests.yaml": "kind: List\n", f"{old}/kustomization.yaml": "resources: []\n"})
    shutil.rmtree(team.root / new)

    found = team.upgrade()

    assert [path for path in found["written"] if "controllers" in path] == [
        f"{new}/kustomization.yaml",
        f"{new}/manifests.yaml",
    ]
    assert found["deleted"] == []
    assert (team.root / old / "manifests.yaml").exists()


def test_a_release_that_a_person_brings_gets_its_digest(team: Team) -> None:
    """Then the version can be written; an edit of it is found afterwards."""
    folder = "bases/controllers/kueue-v0.18.1"
    other = team.read("bases/controllers/kueue-v0.19.2/manifests.yaml").replace(
        "/kueue:v0.19.2", "/kueue:v0.18.1"
    )
    team.write(f"{folder}/manifests.yaml", other)
    team.write("bases/controllers/other/manifests.yaml", "a: b\n")
    sample = team.read("clusters/sample.yaml")
    team.write("clusters/sample.yaml", sample + "  versions: {kueue: v0.18.1}\n")
    team.run("render", code=1)

    assert team.upgrade()["written"] == [f"{folder}/kustomization.yaml", "bases/.slicewright.json"][:1]
    team.run("render")
    team.run("validate")
    assert team.upgrade()["written"] == []
    team.write(f"{folder}/manifests.yaml", "edited\n")
    problems = team.run("render", "--check", "-o", "json", code=1).json["problems"]
    assert [(one["id"], one["file"]) for one in problems] == [("CTRL002", f"{folder}/manifests.yaml")]


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "CTRL006"), ("kind: Namespace\nmetadata: {name: kueue-system}\n", "CTRL004")]
)
def test_a_release_that_is_another_one_is_refused(team: Team, text: str | None, problem: str) -> None:
    """The manifests of v0.19.2 are not v0.18.1, nor is a Namespace: `render` and `validate` both say so."""
    file = "bases/controllers/kueue-v0.18.1/manifests.yaml"
    released = team.read("bases/controllers/kueue-v0.19.2/manifests.yaml")
    good = released.replace("/kueue:v0.19.2", "/kueue:v0.18.1")
    sample = team.read("clusters/sample.yaml")
    team.write("clusters/sample.yaml", sample + "  versions: {kueue: v0.18.1}\n  kueue: {}\n")
    team.write(file, good)
    team.upgrade()
    team.run("render")
    (team.root / file).with_name("kustomization.yaml").unlink()
    team.write(file, text or released)
    team.upgrade()

    for command in (("render",), ("validate",)):
        found = team.run(*command, "-o", "json", code=1).json["problems"]
        assert [(one["id"], one["file"]) for one in found if one["id"].startswith("CTRL")] == [
            (problem, file)
        ]


def test_copy_that_is_no_text_is_an_edited_one(team: Team) -> None:
    """Whatever bytes somebody put there, it is named, and stays."""
    (team.root / "bases/job/job.yaml").write_bytes(b"a: \xed\xa0\xbc\xff\n")
    found = team.upgrade(code=1)
    assert ["bases/job/job.yaml"] == [problem["file"] for problem in found["problems"]]
