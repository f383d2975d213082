"""A kustomization that does not build says why in one line, and its files are checked one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.words import places

from slicewright.workspace.kustomize import last_of_chain

if TYPE_CHECKING:
    from pathlib import Path

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
def test_templates_of_kustomizations_are_not_whole(tmp_path: Path) -> None:
    """What a kustomization in a folder of templates lacks is a note: a program writes it elsewhere."""
    write(
        tmp_path,
        {
            "new/templates/a/kustomization.yaml": "namePrefix: a-\nresources: [../base]\n",
            "new/templates/b/kustomization.yaml": "namePrefix: a-\n{% if x %}\nnameSuffix: -b\n{% endif %}\n",
            "other/kustomization.yaml": "namePrefix: a-\nresources: [../base]\n",
        },
    )
    said = places(run(tmp_path, ".", "--schemas-only").out).splitlines()

    assert [
        "new/templates/a/kustomization.yaml:2:13: note: KUS001",
        "new/templates/b/kustomization.yaml:2:2: note: YAML001",
        "other/kustomization.yaml:2:13: KUS001",
    ] == said[:-1]


@pytest.mark.tools
def test_what_a_kustomization_adds_is_a_note(tmp_path: Path) -> None:
    """Namespaces of subjects, and selectors that come with labels: the files of a build alone lack them."""
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
        "subjects: [{kind: ServiceAccount, name: a}]\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: b}\n"
    )
    write(tmp_path, {"kustomization.yaml": "resources: [binding.yaml, no.yaml]\n", "binding.yaml": binding})
    write(tmp_path, {"plain/binding.yaml": binding})

    found = run(tmp_path, ".", "--exclude", "plain", "-o", "json").json["problems"]

    assert ["note"] == [one["severity"] for one in found if one["id"] == "REF131"]
    assert ["REF131"] == run(tmp_path, "plain", "-o", "json").ids


@pytest.mark.tools
@pytest.mark.parametrize(
    ("missing", "severity"),
    [
        ("patches: [{path: env/patch.yaml}]", "note"),
        ("patchesStrategicMerge: [env/patch.yaml]", "note"),
        ("configMapGenerator: [{name: x, envs: [env/x.env]}]", "error"),
    ],
)
def test_a_patch_that_is_not_there_may_add_volumes(tmp_path: Path, missing: str, severity: str) -> None:
    """A volume that a pod lacks is a note where a setup step writes the patch of it, else an error."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec: {containers: [{name: a, image: b, volumeMounts: [{name: data, mountPath: /data}]}]}\n"
    )
    write(tmp_path, {"kustomization.yaml": f"resources: [pod.yaml]\n{missing}\n", "pod.yaml": pod})

    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [severity] == [one["severity"] for one in found if one["id"] == "JS125"]
    assert ["error"] == [one["severity"] for one in found if one["id"] == "KUS001"]


@pytest.mark.tools
def test_patches_without_objects_and_templates_wait_for_a_program(tmp_path: Path) -> None:
    """Fleet adds objects to patches alone, and a program fills in `{{word}}` of a patch: both are notes."""
    patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: {{given}}\n"
    write(
        tmp_path,
        {
            "alone/kustomization.yaml": "patchesStrategicMerge: [patch.yaml]\n",
            "alone/patch.yaml": CONFIG_MAP,
            "filled/kustomization.yaml": "resources: [cm.yaml]\npatches: [{path: patch.yaml}]\n",
            "filled/cm.yaml": CONFIG_MAP,
            "filled/patch.yaml": patch,
            "wrong/kustomization.yaml": "resources: [cm.yaml]\npatches: [{path: patch.yaml}]\n",
            "wrong/cm.yaml": CONFIG_MAP,
            "wrong/patch.yaml": CONFIG_MAP.replace("name: ", "name: other-"),
        },
    )
    found = run(tmp_path, ".", "--schemas-only", "-o", "json").json["problems"]
    builds = {one["file"]: (one["severity"], one["message"]) for one in found if one["id"] == "KUS011"}

    assert ("alone", "filled", "wrong") == tuple(sorted(builds))
    assert "note" == builds["alone"][0]
    message = "patch 'patch.yaml' has placeholders, so the kustomization does not build"
    assert ("note", message) == builds["filled"]
    assert "error" == builds["wrong"][0]


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
    ] == said[:-1]


@pytest.mark.tools
def test_folder_that_many_paths_need_is_told_once(tmp_path: Path) -> None:
    """A script fetches it: the folder is missing, whatever is to be in it."""
    paths = "[../made/v1/istio/base, ../made/v1/dex, ../cm.yaml]"
    write(tmp_path, {"one/kustomization.yaml": f"resources: {paths}\n", "cm.yaml": CONFIG_MAP})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ["'../made' is missing, so the kustomization does not build"] == [
        one["message"] for one in found if one["id"] == "KUS001"
    ]


@pytest.mark.parametrize("said", CHAINS)
def test_words_of_kustomize_are_short(said: str) -> None:
    """Of its chain of folders the end is shown, with paths from the folder that is built."""
    assert CHAINS[said] == last_of_chain(f"Error: {said}", "/k")


@pytest.mark.tools
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Makefile", "a:\n\tkustomize build --load-restrictor LoadRestrictionsNone a\n"),
        ("hack/build.sh", "kustomize build --load_restrictor none a\n"),
        (".github/workflows/a.yml", "run: kustomize build --load-restrictor=LoadRestrictionsNone a\n"),
        ("argocd-cm.yaml", "data: {kustomize.buildOptions: --load-restrictor LoadRestrictionsNone}\n"),
        ("skaffold.yaml", 'buildArgs: ["--load-restrictor", "none"]\n'),
        ("flux.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\n"),
    ],
)
def test_files_of_other_folders_are_a_note_where_the_restriction_is_lifted(
    tmp_path: Path, file: str, text: str
) -> None:
    """Who builds without the load restriction may name files of other folders in all kustomizations."""
    other = {
        "b.yaml": CONFIG_MAP,
        "a/kustomization.yaml": "resources: [../b.yaml]\n",
        "c/kustomization.yaml": "namePrefix: c-\nresources: [../b.yaml]\n",
        "d/kustomization.yaml": "resources: [none.yaml]\npatches: [{path: ../b.yaml}]\n",
    }
    write(tmp_path, other)
    before = run(tmp_path, ".", "-o", "json").json["problems"]
    write(tmp_path, {file: text, ".git/HEAD": ""})
    after = run(tmp_path, ".", "-o", "json").json["problems"]
    # The repository is all that is below its `.git`, also if one folder of it is checked.
    of_folder = run(tmp_path / "a", ".", "-o", "json").json["problems"]

    assert [
        ("a/kustomization.yaml", "KUS004", "error"),
        ("c", "KUS011", "error"),
        ("d/kustomization.yaml", "KUS001", "error"),
        ("d/kustomization.yaml", "KUS114", "error"),
    ] == _severities(before)
    assert [
        ("a/kustomization.yaml", "KUS004", "note"),
        ("c", "KUS011", "note"),
        ("d/kustomization.yaml", "KUS001", "error"),
    ] == _severities(after)
    assert [("kustomization.yaml", "KUS004", "note")] == _severities(of_folder)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("kustomization", "severity"),
    [
        ("path: ./apps/a, components: [../../component]", "note"),
        ("path: ./apps/b, components: [../../component]", "error"),
        ("path: ./apps/a", "error"),
    ],
)
def test_patch_of_what_a_component_of_flux_has_is_a_note(
    tmp_path: Path, kustomization: str, severity: str
) -> None:
    """Flux adds the components that its own Kustomization names, and then builds the folder."""
    patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-component}\ndata: {a: b}\n"
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
    write(
        tmp_path,
        {
            ".git/HEAD": "",
            "flux/a.yaml": f"{flux}spec: {{{kustomization}, interval: 1h, prune: true}}\n",
            "flux/empty.yaml": "# components: kustomize.toolkit.fluxcd.io/\n---\nnone\n",
            "apps/a/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: patch.yaml}]\n",
            "apps/a/a.yaml": CONFIG_MAP,
            "apps/a/patch.yaml": patch,
        },
    )
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [("apps/a", "KUS011", severity)] == [one for one in _severities(problems) if one[1] == "KUS011"]


@pytest.mark.tools
def test_other_mistakes_of_a_build_that_flux_completes_are_errors(tmp_path: Path) -> None:
    """A component brings no file that the kustomization itself names."""
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
    spec = "spec: {path: a, components: [../b], interval: 1h, prune: true}\n"
    write(tmp_path, {".git/HEAD": "", "flux.yaml": flux + spec})
    write(tmp_path, {"a/kustomization.yaml": "resources: [none.yaml]\n"})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ("a/kustomization.yaml", "KUS001", "error") in _severities(problems)


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


def test_parent_of_flux_adds_required_fields(tmp_path: Path) -> None:
    """One Flux Kustomization patches those that it applies; what no patch has is missing all the same."""
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s}\nspec:\n"
    source = "  sourceRef: {kind: GitRepository, name: a}\n"
    parent = "  interval: 1h\n  path: a\n  prune: true\n" + source
    patch = "  patches:\n  - patch: |\n      spec:\n        prune: true\n    target: {kind: %s}\n"
    own = "  interval: 1h\n  path: b\n"
    write(tmp_path, {"a.yaml": flux % "a" + parent + patch % "Kustomization", "b.yaml": flux % "b" + own})
    done = run(tmp_path, ".", "-o", "json").json["problems"]
    write(tmp_path, {"a.yaml": flux % "a" + parent + patch % "HelmRelease"})
    of_others = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [("'prune' is missing", "note"), ("'sourceRef' is missing", "error")] == _missing(done)
    assert [("'prune' is missing", "error"), ("'sourceRef' is missing", "error")] == _missing(of_others)


def _missing(problems: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted(
        (problem["message"], problem["severity"]) for problem in problems if problem["id"] == "SCHEMA005"
    )


def _severities(problems: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(problem["file"], problem["id"], problem["severity"]) for problem in problems]
