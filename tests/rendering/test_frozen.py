"""A hashed run is frozen, a Fixed overlay is live: what a change of everything else does to them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.conftest import Repo
from tests.words import places

import slicewright
from slicewright.catalogue.parse import FILES, read_catalogue
from slicewright.project import repository_reader
from slicewright.rendering.build import run_objects as objects
from slicewright.rendering.io.package_data import package

FIXED = """
    clusters: [c1]
    naming: Fixed
    tpu: v5litepod-8
    container: {image: python:3.12, script: python train.py}
"""


@pytest.fixture
def both(repo: Repo) -> Repo:
    """A rendered repository with a hashed workload `a` and a Fixed one, `live`, of the same content."""
    repo.workload("live", FIXED)
    repo.run("render")
    return repo


def change_base(repo: Repo, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Change what every JobSet stands on."""
    text = repo.read("bases/jobset/jobset.yaml")
    repo.write("bases/jobset/jobset.yaml", text.replace("restartPolicy: Never", "restartPolicy: OnFailure"))


def change_catalogue(_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring a catalogue along in which an accelerator is called otherwise."""
    folder = Path(slicewright.__file__).parent / "catalog"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in FILES}
    changed = {
        name: yaml.safe_load(text.replace("tpu-v5-lite-podslice", "tpu-v5e-slice"))
        for name, text in texts.items()
    }
    known = read_catalogue(changed)
    monkeypatch.setattr(repository_reader, "catalogue_of", lambda *_: known)


def change_cluster(repo: Repo, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the cluster one that refuses privileges."""
    repo.cluster("c1", "mode: Autopilot\npools: [{name: tpus, tpu: v5litepod-8}]")


def change_tool(_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run another version of the tool, whose builder writes something else."""
    build = objects.normalize

    def normalize_otherwise(item: dict[str, Any]) -> None:
        build(item)
        item["metadata"]["labels"]["new"] = "yes"

    monkeypatch.setattr(objects, "normalize", normalize_otherwise)
    tool = replace(package(), version="0.1.9")
    monkeypatch.setattr(repository_reader, "package", lambda: tool)


CHANGES: dict[str, Callable[[Repo, pytest.MonkeyPatch], None]] = {
    "base": change_base,
    "catalogue": change_catalogue,
    "cluster": change_cluster,
    "tool": change_tool,
}


@pytest.mark.slow
@pytest.mark.parametrize("changed", [change for change in CHANGES if change != "base"])
def test_no_frozen_file_changes_and_fixed_overlays_follow(
    both: Repo, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Whatever changes but the workload: no frozen run is opened for writing, Fixed overlays follow."""
    both.workload("a", "privileged: true\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    both.workload("live", "privileged: true\n" + FIXED.replace("    ", ""))
    both.run("render")
    before = both.stamps("overlays/c1/default/a")
    live = both.tree("overlays/c1/default/live")

    CHANGES[changed](both, monkeypatch)

    assert "+++ b/overlays/c1/default/live/" in both.run("render", "--check", code=1).out
    assert both.effects() == ["changes c1/default/live: its overlay is live"]
    assert before == both.stamps("overlays/c1/default/a")
    assert live != both.tree("overlays/c1/default/live")
    assert "0 to end; 0 files would be written" in both.run("render", "--check").out


def test_changed_base_reaches_a_fixed_overlay_without_a_render(both: Repo) -> None:
    """The overlay refers to the base; no file of it holds a digest in which two branches would conflict."""
    before = both.tree("overlays")

    change_base(both, pytest.MonkeyPatch())

    assert "0 to end; 0 files would be written" in both.run("render", "--check").out
    assert before == both.tree("overlays")


@pytest.mark.parametrize("changed", CHANGES)
def test_outdated_names_each_run_with_its_diff(
    both: Repo, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """`outdated` shows what today's tool would write, and changes nothing."""
    both.workload("a", "privileged: true\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    both.run("render")
    before = both.stamps()
    line = {
        "base": "+            restartPolicy: OnFailure",
        "catalogue": "+              cloud.google.com/gke-tpu-accelerator: tpu-v5e-slice",
        "cluster": "-                privileged: true",
        "tool": '+    new: "yes"',
    }

    CHANGES[changed](both, monkeypatch)
    (entry,) = both.run("outdated", "-o", "json").json
    text = both.run("outdated").out

    assert (entry["workload"], entry["cluster"], entry["tool"]) == ("default/a", "c1", "0.1.0")
    assert line[changed] in entry["diff"].splitlines()
    assert entry["diff"] in text
    assert f"  c1/default/a: {entry['name']}, rendered by slicewright 0.1.0\n" in text
    assert text.endswith(
        "1 run would render differently today; "
        "start one again with slicewright rerun NAME, or all with rerun --outdated\n"
    )
    assert before == both.stamps()


def test_outdated_is_empty_after_a_rerun(both: Repo) -> None:
    """`rerun` adopts the difference by choice: the next run is rendered as of today."""
    change_base(both, pytest.MonkeyPatch())
    both.run("rerun", "a")

    effects = both.effects("a")

    assert [effect.split()[0] for effect in effects] == ["ends", "starts"]
    assert both.run("outdated", "-o", "json").json == []
    assert both.run("outdated").out.endswith("0 runs would render differently today\n")


def test_outdated_looks_at_what_is_named_and_may_fail_a_job(both: Repo) -> None:
    """Names limit it, and `--exit-code` makes it a check."""
    both.workload("other")
    both.run("render")
    change_base(both, pytest.MonkeyPatch())

    assert [entry["workload"] for entry in both.run("outdated", "other", "-o", "json").json] == [
        "default/other"
    ]
    assert len(both.run("outdated", "--exit-code", "-o", "json", code=1).json) == 2


def test_outdated_does_not_compare_what_was_edited(both: Repo) -> None:
    """The difference of a run that somebody edited would be theirs, not the tool's."""
    (path,) = [path for path in both.tree("overlays/c1/default/a") if "a-" in path]
    both.write(path, both.read(path).replace("python train.py", "python other.py"))

    done = both.run("outdated", code=1)

    assert done.out == "0 runs would render differently today\n"
    assert re.match(rf"{path}:\d+: RUN001 .* it had '- python train.py' here$", done.err, re.MULTILINE)


@pytest.mark.parametrize(
    ("broken", "ident"), [("", "TREE001"), ("link in", "TREE001"), ("link out", "RUN005"), (None, "RUN005")]
)
def test_a_run_without_its_file_is_not_up_to_date(both: Repo, broken: str | None, ident: str) -> None:
    """A frozen file that is emptied, deleted or replaced by a link is an error of outdated and of rerun."""
    (path,) = [path for path in both.tree("overlays/c1/default/a") if "a-" in path]
    file = both.root / path
    file.unlink()
    if broken == "":
        file.write_text("")
    elif broken:
        both.write("custom/other.yaml", "a: b\n")
        outside = both.root.parent / "other.yaml"
        outside.write_text("a: b\n")
        file.symlink_to(outside if broken == "link out" else both.root / "custom/other.yaml")

    shown = both.run("outdated", code=1)
    done = both.run("rerun", "--outdated", code=1)

    assert places(shown.err).startswith(f"{path}: {ident}")
    assert places(done.err).startswith(f"{path}: {ident}")


def test_outdated_shows_what_cannot_be_rendered_any_more(both: Repo) -> None:
    """A base that is gone is a problem of its own, and so is a workload that cannot be planned."""
    (both.root / "bases/jobset/jobset.yaml").unlink()
    gone = both.run("outdated", code=1)
    both.workload("a", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")

    assert "KUS001" in places(gone.err)
    assert "TPU005" in both.run("outdated", code=1).err


def test_header_of_a_run_names_its_inputs_and_the_digest_of_its_intent(both: Repo) -> None:
    """The second line says what a file was made from; a comment in an input changes nothing."""
    head = re.compile(
        r"# Code generated by slicewright; DO NOT EDIT\.\n"
        r"# inputs: workloads/a\.yaml, cluster c1, bases/jobset, catalog v5e 2x4 on ct5lp-hightpu-4t; "
        r"intent sha256:[0-9a-f]{64}; frozen by slicewright 0\.1\.0; content sha256:[0-9a-f]{64}\n"
    )
    (name,) = both.runs()
    live = both.read("overlays/c1/default/live/kustomization.yaml")

    both.write("workloads/live.yaml", "# a comment\n" + both.read("workloads/live.yaml"))

    assert head.match(both.read(f"overlays/c1/default/a/{name}"))
    assert both.effects() == []
    assert live == both.read("overlays/c1/default/live/kustomization.yaml")


def test_lists_carry_no_digest(both: Repo) -> None:
    """Two changes side by side meet in no line of a list."""
    (name,) = both.runs()

    expected = """\
# Code generated by slicewright; DO NOT EDIT.
# inputs: the live runs in this folder
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- {}
"""
    assert expected.format(name) == both.read("overlays/c1/default/a/kustomization.yaml")
    expected = expected.replace("live runs", "workloads").format("a\n- live")
    assert expected == both.read("overlays/c1/default/kustomization.yaml")
