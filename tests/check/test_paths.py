"""What paths lead to: each file once, objects and no other files, lists and what they hold."""

import subprocess
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find


def test_words_that_kustomize_misreads_matter_in_manifests_only(tmp_path: Path) -> None:
    """The YAML of a documentation is passed by; a word that readers dispute counts in manifests."""
    since = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\nimmutable: on\n"
    write(tmp_path, {"docs/a.yaml": "released: 2024-01-01\n", "b.yaml": since})
    found = run(tmp_path, ".", "-o", "json").json

    assert {problem["file"] for problem in found["problems"]} == {"b.yaml"}
    assert "YAML007" in {problem["id"] for problem in found["problems"]}
    assert found["summary"]["withoutObject"] == ["docs/a.yaml"]
    assert run(tmp_path, "docs/a.yaml", "-o", "json").ids == ["SCHEMA002"]


def test_files_of_other_tools_are_passed_by(tmp_path: Path) -> None:
    """Helm's Chart.yaml has an apiVersion, others a kind; with metadata or a spec an object is meant."""
    write(tmp_path, {"a.yaml": "apiVersion: v2\nname: a\n", "b.yaml": "kind: pipeline\nname: a\n"})
    write(tmp_path, {"c.yaml": "apiVersion: v1\nmetadata: {name: a}\n", "d.yaml": "kind: Pod\nspec: {}\n"})
    found = run(tmp_path, ".", "-o", "json").json

    assert [(problem["file"], problem["id"]) for problem in found["problems"]] == [
        ("c.yaml", "SCHEMA002"),
        ("d.yaml", "SCHEMA002"),
    ]
    assert found["summary"]["withoutObject"] == ["a.yaml", "b.yaml"]


def test_file_is_checked_once(tmp_path: Path) -> None:
    """However many ways lead to a file; and it was named if one of them names it."""
    write(tmp_path, {"d/a.yaml": BAD_CONFIG_MAP, "d/e/v.yaml": "image: a\n"})
    several = ["d", "./d/a.yaml", "d/e/../a.yaml", str(tmp_path / "d"), "d/e/v.yaml"]
    found = run(tmp_path, *several, "-o", "json", "--schemas-only").json

    assert [(problem["file"], problem["id"]) for problem in found["problems"]] == [
        ("d/a.yaml", "SCHEMA003"),
        ("d/e/v.yaml", "SCHEMA002"),
    ]
    assert found["summary"]["read"] == 2


def test_steps_back_over_a_link_stay(tmp_path: Path) -> None:
    """`link/..` is the folder above the link's target, which is where the system looks."""
    write(tmp_path, {"x/y/z/a.yaml": CONFIG_MAP, "x/y/b.yaml": BAD_CONFIG_MAP, "b.yaml": CONFIG_MAP})
    (tmp_path / "link").symlink_to("x/y/z")

    assert run(tmp_path, "link/../b.yaml", "-o", "json", "--schemas-only").ids == ["SCHEMA003"]


def test_empty_path_is_no_path(tmp_path: Path) -> None:
    """A variable that is not set must not turn into the current folder."""
    write(tmp_path, {"a.yaml": CONFIG_MAP})
    done = run(tmp_path, "", "-o", "json")

    assert (done.ids, done.json["summary"]["read"]) == (["FILE001"], 0)


def test_nothing_to_check_is_said_of_the_path(tmp_path: Path) -> None:
    """Of one path the problem names it; of several it can name none."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()

    assert run(tmp_path, "empty").out.startswith("empty: warning: FILE006 ")
    assert run(tmp_path, "-", stdin="").out.startswith("stdin: FILE006 ")
    assert run(tmp_path, "empty", "other").out.startswith("warning: FILE006 ")


def test_list_of_a_kind_need_not_repeat_it(tmp_path: Path) -> None:
    """Kubectl gives elements of a ConfigMapList without apiVersion and kind those of the list."""
    elements = "- metadata: {name: a}\n  dat: {}\n- kind: ConfigMap\n  metadata: {name: b}\n- 3\n"
    write(tmp_path, {"a.yaml": f"apiVersion: v1\nkind: ConfigMapList\nitems:\n{elements}"})
    found = run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").json["problems"]

    assert [(problem["line"], problem["id"], problem["message"]) for problem in found] == [
        (5, "SCHEMA004", "unknown key 'dat'"),
        (6, "SCHEMA002", "'apiVersion' is missing"),
        (8, "SCHEMA002", "an element of a List must be a mapping with apiVersion and kind"),
    ]


@pytest.mark.parametrize(
    ("items", "message"), [("", "'items' is missing"), ("items: null\n", "'items' must be a list")]
)
def test_list_without_items_is_no_list(tmp_path: Path, items: str, message: str) -> None:
    """A List is nothing but its items; another kind whose name ends so is an object."""
    other = f"apiVersion: example.test/v1\nkind: AllowList\nmetadata: {{name: a}}\n{items}"
    write(tmp_path, {"a.yaml": f"apiVersion: v1\nkind: List\n{items}", "b.yaml": other})
    found = run(tmp_path, ".", "-o", "json", "--schemas-only").json["problems"]

    assert [(problem["file"], problem["id"]) for problem in found] == [
        ("a.yaml", "SCHEMA002"),
        ("b.yaml", "SCHEMA001"),
    ]
    assert found[0]["message"] == message


@pytest.mark.parametrize("path", ["kustomize", "."])
def test_kustomization_in_the_current_folder_is_one_like_others(tmp_path: Path, path: str) -> None:
    """A rule finds what a kustomization builds, also where its folder is called `.`."""
    patch = '"- {op: remove, path: /data}"'
    text = f"resources: [a.yaml]\npatches:\n- target: {{kind: Typo}}\n  patch: {patch}\n"
    write(tmp_path, {"kustomize/a.yaml": CONFIG_MAP, "kustomize/kustomization.yaml": text})
    root = tmp_path / "kustomize" if path == "." else tmp_path

    assert "KUS105" in run(root, path, "-o", "json").ids


def test_clusters_of_a_tree_are_apart(tmp_path: Path) -> None:
    """Paths below overlays/ of a repository count for their cluster: one's queue is not another's."""
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: a}\n"
    queue += "spec: {clusterQueue: cq, stopPolicy: None}\n"
    missing = queue.replace("name: q", "name: r").replace("cq", "absent")
    both = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\nspec: {}\n"
    listed = "resources: [a.yaml]\n"
    for cluster, text in {"one": f"{queue}---\n{both}", "two": missing}.items():
        folder = f"overlays/{cluster}/_platform"
        write(tmp_path, {f"{folder}/a.yaml": text, f"{folder}/kustomization.yaml": listed})
    together = [problem["file"] for problem in _dangling(tmp_path, "--one-cluster")]
    (tmp_path / "slicewright.yaml").touch()

    assert ["overlays/two/_platform"] == together
    assert [] == _dangling(tmp_path, "--one-cluster")


def _dangling(folder: Path, *options: str) -> list[dict[str, str]]:
    found = run(folder, "overlays", "-o", "json", *options).json
    return [problem for problem in found["problems"] if problem["id"] == "REF102"]


@pytest.mark.parametrize("pattern", ["site", "site/", "./site", "./site/", "s*e", "{here}/site"])
def test_path_is_excluded_however_it_is_written(tmp_path: Path, pattern: str) -> None:
    """A slash at the end, a dot before it and an absolute path mean the same folder."""
    write(tmp_path, {"site/a.yaml": BAD_CONFIG_MAP, "b.yaml": CONFIG_MAP})

    done = run(tmp_path, ".", "--exclude", pattern.format(here=tmp_path), "-o", "json")
    assert (0, []) == (done.code, done.ids)


def test_pattern_that_excludes_nothing_is_reported(tmp_path: Path) -> None:
    """A misspelt name would be checked without a word; of files that are named nothing is said."""
    write(tmp_path, {"site/a.yaml": CONFIG_MAP, ".github/b.yaml": CONFIG_MAP})

    assert ["IGN105"] == run(tmp_path, ".", "--exclude", "sitee", "--exclude", ".github", "-o", "json").ids
    assert [] == run(tmp_path, "site/a.yaml", "--exclude", "sitee", "-o", "json").ids


_LIST = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"


@pytest.mark.tools
@pytest.mark.parametrize(("text", "line", "objects"), [(_LIST, 1, 0), (f"{CONFIG_MAP}---\n\n{_LIST}", 4, 1)])
def test_list_of_objects_is_refused_as_kubectl_refuses_it(
    tmp_path: Path, text: str, line: int, objects: int
) -> None:
    """A document that is a list has no kind: nobody applies what is in it, alone or behind an object."""
    write(tmp_path, {"list.yaml": text})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json
    kubectl = find("kubectl")
    assert not isinstance(kubectl, Problem), kubectl.text()
    command: list[str | Path] = [kubectl, "label", "--local", "-f", tmp_path / "list.yaml", "a=b"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [("SCHEMA002", "list.yaml", line)] == [
        (problem["id"], problem["file"], problem["line"]) for problem in done["problems"]
    ]
    assert (objects, []) == (done["summary"]["objects"], done["summary"]["passedBy"])
    assert (1, True) == (said.returncode, "cannot unmarshal array" in said.stderr)
