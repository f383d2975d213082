"""What is reported of what was found: options, and rules that apply only where a GitOps tool is seen."""

from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, run, write

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:latest", command: null}]}}}
"""
"""A Job with the warnings GIT107, GIT120 and GIT123."""
APPLICATION_SET = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps}
spec:
  generators: [{git: {repoURL: url, revision: main, directories: [{path: apps/*}]}}]
  template:
    metadata: {name: "{{path.basename}}"}
    spec:
      project: p
      source: {repoURL: url, targetRevision: main, path: "{{path}}"}
      destination: {namespace: ns, server: srv}
"""
KUSTOMIZATION = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {interval: 1m, prune: true, path: ./apps, sourceRef: {kind: GitRepository, name: a}}
"""


def ids(folder: Path, *arguments: str) -> list[str]:
    """Return the ids that are reported, with their files."""
    found = run(folder, ".", *arguments, "-o", "json").json["problems"]
    return [f"{problem['file']} {problem['id']}" for problem in found]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--gitops"], ["GIT107", "GIT120", "GIT123"]),
        (["--gitops", "--disable", "GIT107,git123"], ["GIT120"]),
        (["--gitops", "--disable", "GIT107", "--disable", "GIT120"], ["GIT123"]),
        (["--gitops", "--disable", "GIT"], []),
        (["--gitops", "--only", "GIT120, KQ"], ["GIT120"]),
        (["--gitops", "--only", "GIT", "--disable", "GIT120"], ["GIT107", "GIT123"]),
        (["--gitops", "--min-severity", "error"], []),
    ],
)
def test_ids_and_families_are_chosen(tmp_path: Path, arguments: list[str], expected: list[str]) -> None:
    """Ids and families are left out or chosen, in lists with commas or repeated, in any case."""
    write(tmp_path, {"a.yaml": JOB})

    assert [f"a.yaml {ident}" for ident in expected] == ids(tmp_path, *arguments)


def test_exit_code_follows_what_is_reported(tmp_path: Path) -> None:
    """What is not reported does not fail a check, and is not counted."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    done = run(tmp_path, ".", "--disable", "SCHEMA003")

    assert (0, "1 object in 1 file or folder: 0 errors, 0 warnings\n") == (done.code, done.out)


def test_unreadable_file_is_reported_whatever_is_chosen(tmp_path: Path) -> None:
    """A check of chosen rules does not pass where they could not be applied."""
    write(tmp_path, {"a.yaml": "apiVersion: v1\nkind: [", "b.yaml": BAD_CONFIG_MAP})

    assert ["a.yaml YAML001"] == ids(tmp_path, "--only", "TPU")


@pytest.mark.parametrize(
    ("option", "word", "expected"),
    [
        ("--disable", "TPU91", "there is no rule 'TPU91'; did you mean 'TPU'?"),
        ("--only", "TPU119,SCHEMAS", "there is no rule 'SCHEMAS'; did you mean 'SCHEMA'?"),
        ("--only", "9", "there is no rule '9'; slicewright rule lists them"),
    ],
)
def test_unknown_rule_is_refused(tmp_path: Path, option: str, word: str, expected: str) -> None:
    """A misspelt id would hide nothing, or everything."""
    write(tmp_path, {"a.yaml": JOB})
    done = run(tmp_path, ".", option, word)

    assert (2, f"Error: {expected}\n") == (done.code, done.err)


def test_gitops_rules_are_silent_without_a_tool(tmp_path: Path) -> None:
    """Where nothing syncs the objects, nothing is said about syncs."""
    write(tmp_path, {"a.yaml": JOB})

    assert [] == ids(tmp_path)


@pytest.mark.parametrize("tool", [APPLICATION_SET, KUSTOMIZATION])
def test_gitops_rules_apply_to_what_the_tool_covers(tmp_path: Path, tool: str) -> None:
    """An ApplicationSet and a Flux Kustomization cover the folder that their path names, and no other."""
    write(tmp_path, {"argo/set.yaml": tool, "apps/a/job.yaml": JOB, "samples/job.yaml": JOB})

    assert ["GIT107", "GIT120", "GIT123"] == [
        said.partition(" ")[2] for said in ids(tmp_path) if not said.startswith("argo/")
    ]


def test_rules_of_flux_look_from_the_tool_to_the_folder_and_back(tmp_path: Path) -> None:
    """A run of another folder is found by the Kustomization that syncs it, and the other way around."""
    spec = "healthChecks: [{apiVersion: v1, kind: Job, name: trian}], postBuild: {substitute: {a: b}}"
    tool = KUSTOMIZATION.replace("spec: {", f"spec: {{{spec}, ")
    script = JOB.replace("command: null", 'command: [bash, -c, "echo ${X} ${a}"]')
    write(tmp_path, {"flux/k.yaml": tool, "apps/a/job.yaml": script, "samples/job.yaml": script})

    found = [said for said in ids(tmp_path) if said[-6:] in ("GIT135", "GIT137")]

    assert ["apps/a/job.yaml GIT135", "flux/k.yaml GIT137"] == found


def test_tool_without_a_path_covers_its_own_folder(tmp_path: Path) -> None:
    """Where it cannot be told what is synced, what is beside the tool's object and below it is."""
    project = "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: p}, spec: {}}\n"
    write(tmp_path, {"a/p.yaml": project, "a/b/job.yaml": JOB, "c/job.yaml": JOB})

    assert [f"a/b/job.yaml {ident}" for ident in ("GIT107", "GIT120", "GIT123")] == ids(tmp_path)


def test_object_with_marks_of_a_tool_is_synced(tmp_path: Path) -> None:
    """A sync wave is written for Argo CD alone."""
    marked = JOB.replace("name: train}", 'name: train, annotations: {argocd.argoproj.io/sync-wave: "1"}}')
    write(tmp_path, {"a.yaml": marked, "b.yaml": JOB})

    assert [f"a.yaml {ident}" for ident in ("GIT107", "GIT120", "GIT123")] == ids(tmp_path)


@pytest.mark.parametrize(("folder", "expected"), [("apps/a", ["argo/set.yaml GIT118"]), ("other", [])])
def test_application_set_without_runs_deletes_none(tmp_path: Path, folder: str, expected: list[str]) -> None:
    """GIT118 needs a run in a folder that the ApplicationSet covers."""
    write(tmp_path, {"argo/set.yaml": APPLICATION_SET, f"{folder}/job.yaml": JOB})

    assert expected == ids(tmp_path, "--only", "GIT118")


def test_duplicate_object_is_reported_without_a_tool(tmp_path: Path) -> None:
    """GIT124 is about kubectl as well. GIT111 is not: the API server drops the namespace."""
    queue = (
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: a, namespace: b}, spec: {}}\n"
    )
    write(tmp_path, {"a.yaml": f"{queue}---\n{queue}"})

    assert ["a.yaml GIT124"] == ids(tmp_path)
    assert ["a.yaml GIT111", "a.yaml GIT111", "a.yaml GIT124"] == sorted(ids(tmp_path, "--gitops"))
