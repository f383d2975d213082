"""What is fuzzed: each lays files, runs commands as in a process of its own, and says what must hold."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from click.testing import CliRunner
from tests.apiserver.served import Served
from tests.conftest import PROJECT
from tests.fuzz import mutate
from tests.importing.kit import TPU, flavor, queue, slice_nodes
from tests.importing.served import answers

from slicewright.cli import reach
from slicewright.cli.main import cli
from slicewright.core.document.read import read_documents, read_places
from slicewright.core.document.write import write_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Files = dict[str, str]
"""Texts by path below the folder of an execution."""
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
FORGED = re.compile(r"^\s*(::|```|~~~)|##\[", re.MULTILINE)
_CODES = (0, 1, 2, 3)
_AS_PROCESS = 100
"""Of so many executions one is a process of its own."""


class Wrong(AssertionError):
    """Something that must hold does not."""


def hold(is_so: object, what: str) -> None:
    """Raise Wrong unless something holds."""
    if not is_so:
        raise Wrong(what)


def run(folder: Path, *arguments: str, as_process: bool = False) -> tuple[int, str]:
    """Run a command in a folder; return its code and what it printed on stdout."""
    if as_process:
        command = [sys.executable, "-m", "slicewright", *arguments]
        real = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
        code, out, err = real.returncode, real.stdout.decode(), real.stderr.decode()
        hold("Traceback" not in err, f"a traceback: {err[-2000:]}")
    else:
        os.chdir(folder)
        done = CliRunner().invoke(cli, list(arguments), prog_name="slicewright")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        code, out, err = done.exit_code, done.stdout, done.stderr
    hold(code in _CODES, f"exit code {code}")
    for name, said in (("stdout", out), ("stderr", err)):
        hold(not OBEYED.search(said), f"a terminal obeys {name}: {said!r:.2000}")
        hold(
            not {"github", "import"}.isdisjoint(arguments) or not FORGED.search(said),
            f"a log obeys {name}: {said!r:.2000}",
        )
    return code, out


def stamps(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder; a folder counts as a file without any."""
    found = {}
    for base, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(base, name)
            found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() else b""
    return found


def lay(folder: Path, files: Files) -> None:
    """Write files; those that a mutated path cannot have are left out."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode(errors="surrogatepass"))


def _is_process(draw: Random) -> bool:
    return draw.randrange(_AS_PROCESS) == 0


def _form(draw: Random) -> str:
    return draw.choice(("text", "json", "junit", "sarif", "github"))


def draw_reader(draw: Random) -> Files:
    """Any file of the corpus, changed."""
    return {"a.yaml": mutate.text(mutate.corpus()[draw.choice(list(mutate.corpus()))], draw)}


def reader(folder: Path, _: Random) -> None:
    """Whatever is read is read alike once it is written; whatever is refused has a place."""
    text = (folder / "a.yaml").read_bytes().decode(errors="replace")
    documents, problems = read_documents(text, "a.yaml")
    hold(not (documents and problems), "documents beside problems")
    hold(all(problem.line for problem in problems), "a problem without a place")
    for document in documents:
        again, refused = read_documents(write_document(document.data), "b.yaml")
        hold(not refused and [document.data] == [one.data for one in again], "written and read differs")
        read_places(text, document.index)


def draw_repository(draw: Random) -> Files:
    """Return a repository of a few clusters and workloads of ours, one or two of its files changed."""
    wanted = [*draw.sample(mutate.below("workloads/"), 2), *mutate.below("clusters/")]
    files = {path: mutate.corpus()[path] for path in wanted} | {"slicewright.yaml": "limits: {endRuns: 9}\n"}
    files |= {path: mutate.corpus()[path] for path in mutate.below("bases/")}
    often = [path for path in files if not path.startswith("bases/")]
    for path in draw.choices(often, k=2) if draw.randrange(8) else draw.choices(list(files), k=3):
        files[path] = mutate.text(files[path], draw)
    return files


def render(folder: Path, draw: Random) -> None:
    """A render that is right is whole: the next one writes nothing, and the check agrees."""
    before = stamps(folder)
    code, _ = run(folder, "render", "-o", draw.choice(("text", "json")), as_process=_is_process(draw))
    if code:
        hold(before == stamps(folder), "a render that fails has written")
        run(folder, "render", "--check")
        return
    after = stamps(folder)
    hold(all(after[path] == text for path, text in before.items()), "a render has changed input")
    code, out = run(folder, "render", "-o", "json")
    hold(
        not (json.loads(out)["written"] or json.loads(out)["deleted"]),
        f"a second render differs: {out:.2000}",
    )
    hold(after == stamps(folder), "a second render has changed files")
    hold(run(folder, "render", "--check")[0] == 0, "render --check refuses what was rendered")
    run(folder, "validate", "-o", _form(draw))
    for command in (("capacity",), ("outdated",)):
        run(folder, *command, "-o", draw.choice(("text", "json")))
    hold(after == stamps(folder), "a command that reads has written")


def draw_manifests(draw: Random) -> Files:
    """Return files of anybody, changed."""
    paths = draw.choices(mutate.below("overlays/", "tests/", "bases/", "clusters/"), k=draw.choice((1, 2, 4)))
    return {f"{number}.yaml": mutate.text(mutate.corpus()[path], draw) for number, path in enumerate(paths)}


def validate(folder: Path, draw: Random) -> None:
    """A check writes nothing, and ends with a report."""
    before = stamps(folder)
    run(folder, "validate", ".", "-o", _form(draw), as_process=_is_process(draw))
    hold(before == stamps(folder), "validate has written")


def draw_kustomizations(draw: Random) -> Files:
    """Return folders that include each other, with their files and patches changed."""
    files: Files = {}
    folders = ["top", "base", "part"]
    for name in folders:
        spec: dict[str, Any] = (
            {"kind": "Component"} if name == "part" else {"resources": ["a.yaml", "../base"]}
        )
        if name == "part":
            spec["apiVersion"] = "kustomize.config.k8s.io/v1alpha1"
        if name == "base":
            spec["resources"].pop()
        spec["patches"] = [
            {"path": "p.yaml", "target": {"kind": draw.choice(("JobSet", "[JC]o.*", "(a|a)*b"))}}
        ]
        extra = draw.choice(
            ("components", "configMapGenerator", "transformers", "namePrefix", "replacements", "x")
        )
        values = {
            "components": ["../part"] * draw.choice((1, 2)),
            "configMapGenerator": [
                {"name": "a", "files": [draw.choice(("a.yaml", "k=../x", "HTTP://127.0.0.1:9"))]}
            ],
            "transformers": [
                draw.choice(("../part", "a.yaml", "{apiVersion: builtin, kind: PrefixTransformer}"))
            ],
            "replacements": [{"path": "p.yaml"}],
            "namePrefix": "b-",
        }
        # One of four only goes to kustomize, which takes its time.
        if extra in values and (extra == "components" or not draw.randrange(4)):
            spec[extra] = values[extra]
        for _ in range(draw.randrange(2)):
            spec = mutate.data(spec, draw)
        files[f"{name}/kustomization.yaml"] = json.dumps(spec)
        files[f"{name}/a.yaml"] = mutate.corpus()[draw.choice(mutate.below("bases/job", "bases/pathways"))]
        files[f"{name}/p.yaml"] = (
            "- {op: replace, path: /metadata/name, value: x}\n- {op: copy, from: /spec, path: /data}\n"
        )
    for path in draw.choices(list(files), k=draw.randrange(3)):
        files[path] = mutate.text(files[path], draw, 1)
    return files


def draw_changes(draw: Random) -> Files:
    """Return files of a rendered tree, changed."""
    paths = draw.choices(mutate.below("overlays/", "provision/"), k=draw.choice((1, 3)))
    return {path: mutate.text(mutate.corpus()[path], draw) for path in paths}


def diff(folder: Path, draw: Random) -> None:
    """A difference between what was committed and what stands there now is told, whatever stands there."""
    store = folder.parent / "git"
    if not store.exists():
        who = ("-c", "user.name=a", "-c", "user.email=a@example.test")
        store.mkdir()
        for top in ("overlays", "clusters", "workloads", "bases", "provision"):
            shutil.copytree(PROJECT / top, store / top)
        (store / "slicewright.yaml").write_text("{}\n", encoding="utf-8")
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a")):
            subprocess.run(["git", *who, *arguments], cwd=store, check=True)
    laid = stamps(folder)
    for path, content in laid.items():
        if (folder / path).is_file() and (store / path).is_file():
            (store / path).write_bytes(content)
    try:
        run(store, "diff", "-o", draw.choice(("text", "json")), as_process=_is_process(draw))
    finally:
        subprocess.run(["git", "checkout", "-q", "."], cwd=store, check=True)


ANSWERS: dict[str, Any] = {
    "Node": slice_nodes("np-0"),
    "ResourceFlavor": [flavor("mine", {"cloud.google.com/gke-nodepool": "np-0"})],
    "ClusterQueue": [queue("q", ("mine", {TPU: 8, "cpu": "1500m"}))],
    "Cohort": [{"metadata": {"name": "c"}, "spec": {"fairSharing": {"weight": 2}}}],
    "LocalQueue": [{"metadata": {"name": "l", "namespace": "n"}, "spec": {"clusterQueue": "q"}}],
    "WorkloadPriorityClass": [{"metadata": {"name": "high"}, "value": 100, "description": "x"}],
    "PriorityClass": [{"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"}],
    "Topology": [{"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "a/b"}]}}],
    "AdmissionCheck": [{"metadata": {"name": "x"}, "spec": {"controllerName": "a/b"}}],
    "ProvisioningRequestConfig": [{"metadata": {"name": "x"}, "spec": {"parameters": {"a": 1}}}],
}  # fmt: skip


def draw_answers(draw: Random) -> Files:
    """Return what an API server answers, changed in a few places."""
    found = dict(ANSWERS)
    for kind in draw.choices(list(found), k=draw.choice((1, 1, 2, 4))):
        found[kind] = mutate.data(found[kind], draw)
    return {"answers.json": json.dumps(found), "repo/slicewright.yaml": "{}\n"}


def cluster(folder: Path, draw: Random) -> None:
    """Whatever a cluster answers becomes a file, or a problem."""
    found = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    options = draw.choice(((), ("-o", "json"), ("--write",)))
    api = Served(answers(found, "v1beta2"))
    with mock.patch.object(reach, "connect", return_value=api):
        code, _ = run(folder / "repo", "import", "cluster", "--context", "ctx", *options)
    written = stamps(folder / "repo")
    wanted = (
        {"slicewright.yaml", "clusters", "clusters/ctx.yaml"}
        if options == ("--write",) and not code
        else None
    )
    hold(set(written) == (wanted or {"slicewright.yaml"}), f"import has written {sorted(written)}")


def draw_beginning(draw: Random) -> Files:
    """Return a folder in which somebody began already."""
    names = (
        "slicewright.yaml",
        "Makefile",
        "bases/job/job.yaml",
        "clusters/sample.yaml",
        ".gitignore",
        "bases/a",
    )
    return {name: mutate.text("a: b\n", draw) for name in draw.sample(names, draw.randrange(4))}


def init(folder: Path, draw: Random) -> None:
    """A new repository is whole and can be rendered; files that were there stay."""
    before = stamps(folder)
    options = ["--keep"] if draw.randrange(2) else []
    requirement = draw.choice(("", "", "slicewright==0.1", mutate.EVIL, "-e .", "a" * 300))
    code, _ = run(folder, "init", *options, "--slicewright-requirement", requirement)
    after = stamps(folder)
    hold(all(after[path] == content for path, content in before.items()), "init has changed a file")
    hold(code == 0 or before == after, "an init that fails has written")
    if code == 0:
        run(folder, "render")
        run(folder, "init", "--upgrade", *options)


def draw_crd(draw: Random) -> Files:
    """Return the definition of a kind, changed."""
    fields: dict[str, Any] = {
        "a": {"type": "string", "pattern": "^[a-z]+$"},
        "b": {"type": "integer", "format": "int32"},
    }
    fields["c"] = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": fields}},
        }
    }
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    spec = {"group": "example.test", "names": names, "scope": "Namespaced", "versions": [version]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x"},
        "spec": spec,
    }
    for _ in range(draw.choice((1, 1, 2))):
        crd = mutate.data(crd, draw)
    thing = {
        "apiVersion": "example.test/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"a": "a", "b": 1},
    }
    return {"crd.yaml": json.dumps(crd), "thing.yaml": json.dumps(mutate.data(thing, draw))}


def schema(folder: Path, _: Random) -> None:
    """A definition of anybody becomes schemas, or a problem; what it writes stays in its folder."""
    (folder / "out").mkdir()
    run(folder, "schema", "crd.yaml", "--output-dir", "out")
    hold(
        {"crd.yaml", "thing.yaml", "out"} == {entry.name for entry in folder.iterdir()},
        "schema wrote elsewhere",
    )
    run(folder, "validate", "thing.yaml", "--schema", "out")


Target = tuple["Callable[[Random], Files]", "Callable[[Path, Random], None]"]
TARGETS: dict[str, Target] = {
    "reader": (draw_reader, reader),
    "render": (draw_repository, render),
    "validate": (draw_manifests, validate),
    "kustomizations": (draw_kustomizations, validate),
    "diff": (draw_changes, diff),
    "import": (draw_answers, cluster),
    "init": (draw_beginning, init),
    "schema": (draw_crd, schema),
}
