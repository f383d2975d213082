"""`validate --fix`: findings with a fix are mended in the files of people, and the rest is reported."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from slicewright.check.io import kustomizations as kustomize
from slicewright.cli import mending
from slicewright.kubernetes.problem import Problem
from slicewright.rendering import header
from slicewright.rendering.io.write import replace_file

from .kit import run

BROKEN = """\
# The queues.
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: a
spec:
  cohort: all   # shared
  namespaceSelector: {}
  queueingStrategy: BestEffortFiFo
  resourceGroups:
  - coveredResources: ["google.com/tpu"]
    flavors:
    - name: f
      resources:
      - name: "google.com/tpu"
        nominalQuotas: 4  # chips
  flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: TryNextFlavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
"""
FIXED = (
    BROKEN.replace("v1beta1", "v1beta2")
    .replace("cohort:", "cohortName:")
    .replace("FiFo", "FIFO")
    .replace("nominalQuotas", "nominalQuota")
    .replace("whenCanBorrow: Borrow", "whenCanBorrow: MayStopSearch")
)
_POD = (
    "{nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice, "
    "cloud.google.com/gke-tpu-topology: 4x4}, restartPolicy: Never, "
    "containers: [{name: a, image: 'a:1', resources: {limits: {google.com/tpu: 4}}}]}"
)
TWICE = (
    "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n  replicatedJobs:\n"
    "  - name: slice\n    replicas: 2\n    template:\n      spec: {parallelism: 2, completions: 2, "
    f"backoffLimit: 0, template: {{spec: {_POD}}}}}\n"
)
"""A fix of it brings a finding, which has a fix too."""
SET = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
GUESS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinary: {}\n"


def test_fix_changes_lines_and_reports_the_rest(tmp_path: Path) -> None:
    """Only lines with a finding change; stderr says how many were fixed, and the code is that of the rest."""
    (tmp_path / "a.yaml").write_text(BROKEN)

    done = run(tmp_path, "a.yaml", "--fix")

    assert FIXED == (tmp_path / "a.yaml").read_text()
    assert (0, "2 objects in 1 file or folder: 0 errors, 0 warnings\n") == (done.code, done.out)
    assert "fixed 4 of 4 findings in 1 file\n" == done.err


def test_a_fixed_file_stays(tmp_path: Path) -> None:
    """Where there is nothing to mend nothing is written, and the code is 0."""
    (tmp_path / "a.yaml").write_text(FIXED)
    before = (tmp_path / "a.yaml").stat().st_mtime_ns

    done = run(tmp_path, "a.yaml", "--fix")

    assert (0, before) == (done.code, (tmp_path / "a.yaml").stat().st_mtime_ns)
    assert (0, "") == (run(tmp_path, "a.yaml", "--diff").code, run(tmp_path, "a.yaml", "--diff").out)


def test_diff_writes_nothing(tmp_path: Path) -> None:
    """`--diff` prints what `--fix` would change, in every round, and exits 1."""
    (tmp_path / "a.yaml").write_text(BROKEN)

    done = run(tmp_path, "--diff", ".")

    assert (1, BROKEN) == (done.code, (tmp_path / "a.yaml").read_text())
    changed = [line for line in done.out.splitlines() if line[0] in "+-"]
    assert ["--- a/a.yaml", "+++ b/a.yaml", "-apiVersion: kueue.x-k8s.io/v1beta1"] == changed[:3]
    assert 2 + 2 * 5 == len(changed)
    assert "would fix 4 of 4 findings in 1 file\n" == done.err


def test_stdin_becomes_stdout(tmp_path: Path) -> None:
    """What is piped in comes out fixed, and the report goes to stderr."""
    done = run(tmp_path, "-", "--fix", stdin=BROKEN)

    assert (0, FIXED) == (done.code, done.out)
    assert "0 errors" in done.err


def test_unsafe_fixes_are_asked_for(tmp_path: Path) -> None:
    """A fix that guesses is applied only with `--unsafe`, which the summary names."""
    (tmp_path / "a.yaml").write_text(GUESS)

    first = run(tmp_path, "a.yaml", "--fix")
    assert (1, GUESS) == (first.code, (tmp_path / "a.yaml").read_text())
    assert "fixed 0 of 1 finding in 0 files; --unsafe would fix 1 more\n" == first.err

    assert 0 == run(tmp_path, "a.yaml", "--fix", "--unsafe").code
    assert GUESS.replace("binary:", "binaryData:") == (tmp_path / "a.yaml").read_text()


def test_unsafe_alone_is_refused(tmp_path: Path) -> None:
    """`--unsafe` without `--fix` or `--diff` would do nothing."""
    assert 2 == run(tmp_path, ".", "--unsafe").code


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_no_finding_stay(tmp_path: Path, mark: bytes) -> None:
    """CRLF, a byte order mark, permissions and a missing last newline are as they were."""
    file = tmp_path / "a.yaml"
    content = mark + BROKEN.rstrip().replace("\n", "\r\n").encode()
    file.write_bytes(content)
    file.chmod(0o640)

    run(tmp_path, "a.yaml", "--fix")

    assert mark + FIXED.rstrip().replace("\n", "\r\n").encode() == file.read_bytes()
    assert 0o640 == file.stat().st_mode & 0o777


def test_links_and_generated_files_stay(tmp_path: Path) -> None:
    """A file behind a link is not written, which is a problem; what slicewright generates is not mended."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "a.yaml").write_text(BROKEN)
    (tmp_path / "tree/link.yaml").symlink_to("../a.yaml")

    done = run(tmp_path, "tree", "--fix", "-o", "json")

    assert BROKEN == (tmp_path / "a.yaml").read_text()
    assert "FILE004" in done.ids
    assert (tmp_path / "tree/link.yaml").is_symlink()

    done = run(tmp_path, "tree", "--diff")
    assert "" == done.out
    assert "tree/link.yaml: FILE004 the path is a link, but must be a file" in done.err


@pytest.mark.slow  # git is another process
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_git_applies_the_difference(tmp_path: Path, mark: bytes) -> None:
    """The patch makes the file that --fix writes, also after a byte order mark."""
    file = tmp_path / "a b.yaml"
    file.write_bytes(mark + BROKEN.partition("\n")[2].encode())
    patch = run(tmp_path, ".", "--diff").out
    subprocess.run(["git", "apply"], cwd=tmp_path, input=patch.encode(), check=True)

    assert mark + FIXED.partition("\n")[2].encode() == file.read_bytes()


def test_generated_files_stay(tmp_path: Path) -> None:
    """What slicewright generates changes with its input, not by hand."""
    text = header.live("workloads/a.yaml", BROKEN)
    (tmp_path / "a.yaml").write_text(text)

    assert 1 == run(tmp_path, "a.yaml", "--fix").code
    assert text == (tmp_path / "a.yaml").read_text()


def test_builds_are_not_mended(tmp_path: Path) -> None:
    """A finding in an object that kustomize composes has no fix: its place is not in one file."""
    (tmp_path / "a.yaml").write_text(BROKEN)
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")

    done = run(tmp_path, ".", "--fix", "-o", "json")

    assert BROKEN == (tmp_path / "a.yaml").read_text()
    assert all("fixes" not in problem for problem in done.json["problems"])


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_lists_are_mended(tmp_path: Path, indent: int | str | None) -> None:
    """An object inside of a List is changed where it is written."""
    text = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [{**SET, "datas": {}}, SET]}, indent=indent
    )
    (tmp_path / "a.json").write_text(text)

    done = run(tmp_path, "a.json", "--fix", "--schemas-only")

    assert (0, text.replace("datas", "data")) == (done.code, (tmp_path / "a.json").read_text())


def test_json_and_sarif_carry_fixes(tmp_path: Path) -> None:
    """Programs get each fix as edits, and in SARIF as the lines that it replaces."""
    (tmp_path / "a.yaml").write_text(GUESS)

    (problem,) = run(tmp_path, "a.yaml", "-o", "json").json["problems"]
    (result,) = json.loads(run(tmp_path, "a.yaml", "-o", "sarif").out)["runs"][0]["results"]

    edit = {"op": "move", "from": "/binary", "path": "/binaryData"}
    title = "Rename 'binary' to 'binaryData'"
    assert [{"title": title, "safe": False, "document": 0, "edits": [edit]}] == problem["fixes"]
    region = {"startLine": 4, "startColumn": 1, "endLine": 5, "endColumn": 1}
    replaced = {"deletedRegion": region, "insertedContent": {"text": "binaryData: {}\n"}}
    change = {"artifactLocation": {"uri": "a.yaml"}, "replacements": [replaced]}
    assert [{"description": {"text": title}, "artifactChanges": [change]}] == result["fixes"]


def test_our_own_input_is_mended(tmp_path: Path) -> None:
    """A misspelt key of a TPUWorkload is renamed as any other."""
    text = (
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\nmetadata: {name: a}\n"
        "spec:\n  clusters: [c]\n  tpu: v6e-4\n  container: {image: 'x@sha256:1'}\n  slcies: 2\n"
    )
    (tmp_path / "a.yaml").write_text(text)

    run(tmp_path, "a.yaml", "--fix")

    assert text.replace("slcies", "slices") == (tmp_path / "a.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("nope.yaml", "nope.yaml: FILE001"), ("bad.yaml", "bad.yaml:3"), (".", "bad.yaml:3")],
)
def test_difference_is_no_pass_for_what_cannot_be_read(tmp_path: Path, path: str, expected: str) -> None:
    """A check in CI by `--diff` must not pass where nothing was checked."""
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: [\n")

    done = run(tmp_path, path, "--diff")

    assert (1, "", True) == (done.code, done.out, expected in done.err)


def test_difference_without_kustomize_has_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a missing tool, the exit code is that of a check without `--diff`."""
    missing = Problem("TOOL001", "kustomize v5 is missing", "run 'make tools'")
    monkeypatch.setattr(kustomize, "binary", lambda: missing)
    (tmp_path / "kustomization.yaml").write_text("resources: []\nnamePrefix: a\n")

    done = run(tmp_path, ".", "--diff")

    assert (3, "", True) == (done.code, done.out, "kustomize v5 is missing" in done.err)


def test_difference_is_the_only_form(tmp_path: Path) -> None:
    """A patch inside of a report in JSON would be neither."""
    done = run(tmp_path, ".", "--diff", "-o", "json")

    assert (2, True) == (done.code, "--diff prints a patch, not a report: leave out -o json" in done.err)


def test_findings_that_a_fix_brings_are_counted_and_named(tmp_path: Path) -> None:
    """A fix that causes another problem, such as slices that share a node pool, names this problem."""
    (tmp_path / "a.yaml").write_text(TWICE)

    done = run(tmp_path, "a.yaml", "--diff")

    expected = [
        "would fix 2 of 2 findings and 1 that a fix caused, in 1 file",
        "  caused: a.yaml:6:5: warning: TPU113",
    ]
    lines = done.err.splitlines()
    assert expected == [lines[0], lines[1].partition(" 2 slices")[0]]


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_read_only_file_stays(tmp_path: Path, option: str) -> None:
    """Somebody protected it: the others are mended, and it is a problem."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(BROKEN)
    (tmp_path / "a.yaml").chmod(0o444)

    done = run(tmp_path, ".", option)

    assert (True, True) == (bool(done.code), "a.yaml: FILE003 is read-only" in done.out + done.err)
    assert (BROKEN, FIXED if option == "--fix" else BROKEN) == (
        (tmp_path / "a.yaml").read_text(),
        (tmp_path / "b.yaml").read_text(),
    )


def test_killed_run_leaves_no_file_of_an_earlier_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds mend a file, and each file is written once: as it was, or as it becomes."""
    for name in ("a.yaml", "b.yaml", "whole/a.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TWICE)
    run(tmp_path / "whole", "a.yaml", "--fix")
    writes: list[str] = []

    def killed(path: Path, text: str) -> tuple[Problem, ...]:
        writes.append(path.name)
        if path.name == "b.yaml":
            raise KeyboardInterrupt
        return replace_file(path, text)

    monkeypatch.setattr(mending, "replace_file", killed)
    with suppress(KeyboardInterrupt):
        run(tmp_path, "a.yaml", "b.yaml", "--fix")

    whole = (tmp_path / "whole" / "a.yaml").read_text()
    assert ["a.yaml", "b.yaml"] == writes
    assert [whole, TWICE] == [(tmp_path / name).read_text() for name in writes]
    assert "exclusive-topology" in whole
