"""Whatever files and answers say: a report, no traceback, and nothing written that was not asked for."""

import copy
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.api.served import Served
from tests.cluster.importing.kit import TPU, flavor, queue, slice_nodes
from tests.cluster.importing.served import answers
from tests.conftest import PROJECT
from tests.files import git, write
from tests.properties import share

from slicewright.cli import reach
from slicewright.cli.main import cli

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.untraced]

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""What a terminal or a log obeys."""
FORMS = ("text", "json", "junit", "sarif", "github")
EVIL = "x\n::stop-commands::y\r\n ~~~\n```\u202e\x1b[31m##[error]"
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(
            None,
            True,
            0,
            -1,
            2**31,
            2**63,
            2**64,
            1.5,
            1e300,
            "",
            "a",
            "yes",
            "012",
            "1" * 5000,
            "a" * 300,
            EVIL,
        ),
        *(
            "1.5Gi",
            "16x16",
            "v5litepod-8",
            "tpu7x-64",
            "Spot",
            "Fixed",
            "../../../etc/passwd",
            "$(id)",
            "{{ x }}",
        ),
        *("http://127.0.0.1:9/x", "git@127.0.0.1:a/b", "(a|a)*b", "(?=a)", "0" * 30_000, "{{" * 30_000),
        *([], {}, [[]], [None], {"a": {}}, {"name": "a"}, ["a", "a"], {"": 1}, [1, "a", None, {}]),
    ]
)
LINES = st.sampled_from(
    [
        "---",
        "...",
        "- a",
        "a: &b *b",
        "? a",
        "<<: *x",
        "a: !!binary aa==",
        "%YAML 1.1",
        "\t- a",
        "a: |+2",
        "{",
        EVIL,
    ]
)
ANSWERS: dict[str, Any] = {
    "Node": slice_nodes("np-0"),
    "ResourceFlavor": [flavor("mine", {"cloud.google.com/gke-nodepool": "np-0"})],
    "ClusterQueue": [queue("q", ("mine", {TPU: 8, "cpu": "1500m"}))],
    "Cohort": [{"metadata": {"name": "c"}, "spec": {"fairSharing": {"weight": 2}}}],
    "LocalQueue": [{"metadata": {"name": "l", "namespace": "n"}, "spec": {"clusterQueue": "q"}}],
    "WorkloadPriorityClass": [{"metadata": {"name": "high"}, "value": 100, "description": "x"}],
    "Topology": [{"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "a/b"}]}}],
    "AdmissionCheck": [{"metadata": {"name": "x"}, "spec": {"controllerName": "a/b"}}],
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.test"},
    "spec": {
        "group": "example.test",
        "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "a": {"type": "string", "pattern": "^[a-z]+$"},
                                    "b": {"type": "integer", "format": "int32"},
                                    "c": {"type": "array", "items": {"type": "object"}},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


@cache
def corpus(*folders: str) -> dict[str, str]:
    """Return the small YAML files of some folders that git knows, by path."""
    paths = git(PROJECT, "ls-files", "-z", "--", *(f"{folder}/**.yaml" for folder in folders)).split("\0")
    texts = {path: (PROJECT / path).read_text("utf-8") for path in paths if (PROJECT / path).is_file()}
    return {path: text for path, text in texts.items() if len(text) < 12_000}


@st.composite
def changed_data(draw: st.DrawFn, value: Any) -> Any:
    """Draw plain data with one value changed, removed or moved."""
    value = copy.deepcopy(value)
    holders = [value] if isinstance(value, dict | list) else []
    for holder in holders:
        below = holder.values() if isinstance(holder, dict) else holder
        holders += [item for item in below if isinstance(item, dict | list) and item]
    if not holders or not holders[0]:
        return copy.deepcopy(draw(VALUES))
    holder = draw(st.sampled_from(holders))
    key = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    change = draw(st.sampled_from(["value", "remove", "wrap", "rename", "repeat"]))
    if change == "remove":
        del holder[key]
    elif change == "wrap":
        holder[key] = [holder[key]]
    elif change == "rename" and isinstance(holder, dict):
        holder[draw(st.sampled_from(["a", "", EVIL, "metadata", "spec", "name", f"{key}s"]))] = holder.pop(
            key
        )
    elif change == "repeat" and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _ in range(draw(st.sampled_from([1, 50]))))
    else:
        holder[key] = copy.deepcopy(draw(VALUES))
    return value


@st.composite
def changed_text(draw: st.DrawFn, text: str) -> str:
    """Draw a file of YAML with some lines or characters changed, or one of its documents."""
    if draw(st.booleans()):
        documents = list(yaml.load_all(text, yaml.CSafeLoader))
        at = draw(st.integers(0, len(documents) - 1))
        documents[at] = draw(changed_data(documents[at]))
        return "\n---\n".join(
            json.dumps(item, ensure_ascii=draw(st.booleans()), default=str) for item in documents
        )
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[at] = draw(
            st.one_of(
                LINES,
                st.just(lines[other]),
                st.just(lines[at][:-1]),
                st.just(f" {lines[at]}"),
                st.text(max_size=9),
            )
        )
    return "\n".join(lines)


def draw_files(data: st.DataObject, paths: dict[str, str], number: int) -> dict[str, str]:
    """Draw some files, and change them."""
    chosen = data.draw(st.lists(st.sampled_from(sorted(paths)), min_size=1, max_size=number, unique=True))
    return {path: data.draw(changed_text(paths[path])) for path in chosen}


@contextmanager
def folder_of(texts: dict[str, str]) -> Iterator[Path]:
    """Lay files into a new folder."""
    with tempfile.TemporaryDirectory() as name:
        for path, text in texts.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_bytes(text.encode(errors="surrogatepass"))
        yield Path(name)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def run(folder: Path, *arguments: str) -> int:
    """Run a command in a folder and return its exit code; what it prints is harmless."""
    done = CliRunner().invoke(cli, ["-C", str(folder), *arguments], prog_name="slicewright")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1, 2, 3)
    assert not OBEYED.search(done.stdout + done.stderr)
    return done.exit_code


@settings(max_examples=share(100))
@given(st.data())
def test_render_of_any_repository(data: st.DataObject) -> None:
    """A render that fails has written nothing. One that succeeds is whole: the next one writes nothing."""
    ours = corpus("clusters", "workloads", "bases") | {"slicewright.yaml": "limits: {endRuns: 9}\n"}
    changed = draw_files(data, corpus("clusters", "workloads"), 2)
    with folder_of({**ours, **changed}) as folder:
        before = contents(folder)
        code = run(folder, "render")
        after = contents(folder)
        assert before.items() <= after.items()
        if code:
            assert before == after
            return
        assert (0, 0) == (run(folder, "render"), run(folder, "render", "--check"))
        for command in (("validate", "-o", data.draw(st.sampled_from(FORMS))), ("capacity",), ("outdated",)):
            run(folder, *command)
        assert after == contents(folder)


@settings(max_examples=share(400))
@given(st.data())
def test_validate_of_any_files(data: st.DataObject) -> None:
    """Manifests and kustomizations of anybody end with a report, and nothing is written."""
    with folder_of(draw_files(data, corpus("overlays", "bases", "tests"), 4)) as folder:
        before = contents(folder)
        run(folder, "validate", ".", "-o", data.draw(st.sampled_from(FORMS)))
        assert before == contents(folder)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a git repository with the tree of this one."""
    root = tmp_path_factory.mktemp("committed")
    for top in ("overlays", "clusters", "workloads", "bases", "provision"):
        shutil.copytree(PROJECT / top, root / top)
    write(root, {"slicewright.yaml": "{}\n"})
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"]):
        git(root, *arguments)
    return root


@settings(max_examples=share(60))
@given(st.data())
def test_diff_of_any_change(committed: Path, data: st.DataObject) -> None:
    """A difference between what was committed and what the files say now is told."""
    changed = draw_files(data, corpus("overlays", "provision"), 3)
    try:
        for path, text in changed.items():
            (committed / path).write_bytes(text.encode(errors="surrogatepass"))
        run(committed, "diff", "-o", data.draw(st.sampled_from(["text", "json"])))
    finally:
        git(committed, "checkout", "-q", ".")


@settings(max_examples=share(200))
@given(st.data(), st.sampled_from([(), ("-o", "json"), ("--write",)]))
def test_import_of_any_cluster(data: st.DataObject, options: tuple[str, ...]) -> None:
    """Whatever a cluster answers becomes one file, or a problem."""
    kind = data.draw(st.sampled_from(sorted(ANSWERS)))
    changed = {"items": data.draw(changed_data(ANSWERS[kind])), "metadata": {}}
    api = Served(answers(ANSWERS | {kind: changed}, "v1beta2"))
    with (
        folder_of({"slicewright.yaml": "{}\n"}) as folder,
        mock.patch.object(reach, "connect", return_value=api),
    ):
        code = run(folder, "import", "cluster", "--context", "ctx", *options)
        written = {"clusters/ctx.yaml"} if options == ("--write",) and not code else set()
        assert {"slicewright.yaml", *written} == set(contents(folder))


@settings(max_examples=share(100))
@given(
    changed_data(CRD),
    changed_data({"apiVersion": "example.test/v1", "kind": "Thing", "spec": {"a": "a", "b": 1}}),
)
def test_schemas_of_any_definition(crd: Any, thing: Any) -> None:
    """A definition becomes schemas in the named folder, or a problem, and objects are checked by them."""
    with folder_of({"crd.yaml": json.dumps(crd), "thing.yaml": json.dumps(thing)}) as folder:
        run(folder, "schema", "crd.yaml", "--output-dir", "out")
        assert all(path.startswith("out/") for path in contents(folder).keys() - {"crd.yaml", "thing.yaml"})
        (folder / "out").mkdir(exist_ok=True)
        run(folder, "validate", "thing.yaml", "--schema", "out")
