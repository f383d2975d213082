"""A kustomization that does not build says why in one line, and its files are checked one by one."""

from pathlib import Path
from typing import Any

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.words import places

from slicewright.check.io.kustomizations import last_of_chain
from slicewright.rendering.header import live

MISSING = """namePrefix: a-
resources:
- ../base
- ../empty
- cm.yaml
- generated.yaml
configMapGenerator:
- name: x
  envs: [.env]
  files: [key=a.txt]
"""


@pytest.mark.tools
def test_missing_files_have_the_line_that_lists_them(tmp_path: Path) -> None:
    """Each missing file is a problem of its line, and what is there is checked, once."""
    write(
        tmp_path,
        {
            "one/kustomization.yaml": MISSING,
            "one/cm.yaml": BAD_CONFIG_MAP,
            "two/kustomization.yaml": "namePrefix: b-\nresources: [../base, no.yaml]\n",
            "base/kustomization.yaml": "resources: [cm.yaml]\n",
            "base/cm.yaml": BAD_CONFIG_MAP,
            "empty/notes.txt": "",
        },
    )
    said = places(run(tmp_path, ".", "--schemas-only").out).splitlines()

    end = "not built, and checked file by file: 2 kustomizations"
    assert [
        "base/cm.yaml:1:66: SCHEMA003",
        "one: note: KUS021",
        "one/cm.yaml:1:66: SCHEMA003",
        "one/kustomization.yaml:4:3: KUS001",
        "one/kustomization.yaml:6:3: KUS001",
        "one/kustomization.yaml:9:10: KUS001",
        "one/kustomization.yaml:10:11: KUS001",
        "two: note: KUS021",
        "two/kustomization.yaml:2:22: KUS001",
        f"2 objects in 4 files and folders: 7 errors, 0 warnings, 2 notes; {end}",
    ] == said


@pytest.mark.tools
def test_remote_bases_are_a_note(tmp_path: Path) -> None:
    """What needs the network is told at its line and fails nothing; the files beside it are checked."""
    write(
        tmp_path,
        {
            "kustomization.yaml": "resources:\n- cm.yaml\n- github.com/a/b?ref=0123abc\n",
            "cm.yaml": CONFIG_MAP,
        },
    )
    done = run(tmp_path, ".", "--schemas-only", "--strict")

    assert ["kustomization.yaml:3:3: note: KUS010", ".: note: KUS021"] == sorted(
        (line for line in places(done.out).splitlines() if "KUS0" in line), reverse=True
    )
    assert 0 == done.code


@pytest.mark.tools
@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("helmCharts: [{name: a}]\n", "--enable-helm"),
        ("generators: [policy.yaml]\n", "--enable-alpha-plugins"),
    ],
)
def test_kustomization_that_needs_an_option_is_a_note(tmp_path: Path, text: str, option: str) -> None:
    """Helm and plugins are programs that only an option runs: the note names it, and files are checked."""
    generator = (
        "apiVersion: policy.open-cluster-management.io/v1\nkind: PolicyGenerator\nmetadata: {name: a}\n"
    )
    write(
        tmp_path,
        {
            "kustomization.yaml": f"{text}resources: [cm.yaml]\n",
            "cm.yaml": CONFIG_MAP,
            "policy.yaml": generator,
        },
    )
    done = run(tmp_path, ".", "--exclude", "policy.yaml", "--schemas-only", "--strict", "-o", "json")
    problem = next(one for one in done.json["problems"] if one["id"] == "KUS011")

    assert (0, "note", True) == (done.code, problem["severity"], option in problem["hint"])


FROM = "accumulation err='accumulating resources from 'b': '/k/b' must resolve to a file': "
CHAINS = {
    "accumulation err='merging resources from 'c2.yaml': may not add resource with an already registered id: "
    "ConfigMap/a': must build at directory: '/k/c2.yaml': file is not directory": (
        "c2.yaml: may not add resource with an already registered id: ConfigMap/a"
    ),
    f"{FROM}expected kind != 'Component' for path '/k/b/c'": "expected kind != 'Component' for path 'b/c'",
    f"{FROM}recursed accumulation of path '/k/b': accumulating resources: accumulating resources from "
    "'x.yaml': MalformedYAMLError: yaml: line 1": "x.yaml: MalformedYAMLError: yaml: line 1",
    "`: must specify --enable-helm": "must specify --enable-helm",
    "merging from generator &{0x2d0e61aca680 <nil>}: id a does not exist; cannot merge or replace": (
        "merging from generator: id a does not exist; cannot merge or replace"
    ),
}


@pytest.mark.tools
def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """Beside a file that is not YAML the others of a kustomization are checked; tags are built."""
    write(
        tmp_path,
        {
            "one/kustomization.yaml": "resources: [cm.yaml, broken.yaml]\n",
            "one/cm.yaml": BAD_CONFIG_MAP,
            "one/broken.yaml": "a: [\n",
            "two/kustomization.yaml": "resources: [cm.yaml]\n",
            "two/cm.yaml": f"{CONFIG_MAP.rstrip()}\n---\n"
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: !!int 2}}\n",
        },
    )
    said = places(run(tmp_path, ".", "--schemas-only").out).splitlines()

    assert [
        "one: note: KUS021",
        "one/broken.yaml:2:1: YAML001",
        "one/cm.yaml:1:66: SCHEMA003",
        "two: ConfigMap b data.a: SCHEMA003",
    ] == said[:-2]


@pytest.mark.tools
def test_folder_that_many_paths_need_is_told_once(tmp_path: Path) -> None:
    """A script fetches it: the folder is missing, whatever is to be in it."""
    paths = "[../made/v1/istio/base, ../made/v1/dex, ../cm.yaml]"
    write(tmp_path, {"one/kustomization.yaml": f"resources: {paths}\n", "cm.yaml": CONFIG_MAP})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ["'../made' is missing, so the kustomization does not build"] == [
        one["message"] for one in found if one["id"] == "KUS001"
    ]


@pytest.mark.tools
@pytest.mark.parametrize("edited", ["", "namePrefix: a-\n"])
def test_missing_file_of_render_is_written_by_render(tmp_path: Path, edited: str) -> None:
    """The hint names the command, whether kustomize or slicewright builds the folder."""
    write(tmp_path, {"one/kustomization.yaml": live("a", f"{edited}resources: [queues.yaml]\n")})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ["run slicewright render, or restore the file from git"] == [one["hint"] for one in found]


@pytest.mark.parametrize("said", CHAINS)
def test_words_of_kustomize_are_short(said: str) -> None:
    """Of its chain of folders the end is shown, with paths from the folder that is built."""
    assert CHAINS[said] == last_of_chain(f"Error: {said}", "/k")


@pytest.mark.tools
def test_path_that_somebody_fills_in_is_a_note(tmp_path: Path) -> None:
    """A sample of a kustomization names the file of the reader."""
    generator = "configMapGenerator: [{name: a, files: ['%s']}]\n"
    write(tmp_path, {"a/kustomization.yaml": generator % "<YOUR_FILE>"})
    write(tmp_path, {"b/kustomization.yaml": generator % "none.txt"})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [
        ("a/kustomization.yaml", "KUS001", "note"),
        ("b/kustomization.yaml", "KUS001", "error"),
    ] == _severities(problems)


@pytest.mark.parametrize(("name", "expected"), [("${A/./-}", []), ("a/b", ["KUS008", "KUS021"])])
def test_name_that_flux_fills_in_is_one(tmp_path: Path, name: str, expected: list[str]) -> None:
    """Flux substitutes `${A/./-}` after the build; what it becomes has no slash."""
    write(tmp_path, {"kustomization.yaml": "resources: [a.yaml]\n"})
    write(tmp_path, {"a.yaml": CONFIG_MAP.replace("name: a", f"name: '{name}'")})

    assert expected == sorted(one for one in run(tmp_path, ".", "-o", "json").ids if one.startswith("KUS"))


def _severities(problems: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(problem["file"], problem["id"], problem["severity"]) for problem in problems]
