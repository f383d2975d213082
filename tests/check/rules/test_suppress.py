"""Silencing: with a reason, for one object, and not longer than it is needed."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace
from tests.check.rules.kit import run
from tests.words import places

from slicewright.check.rules.every import RULES
from slicewright.check.suppress import FILE_NAME, inputs, read_ignores, suppress
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.labels import ACKNOWLEDGED
from slicewright.kubernetes.problem import Problem
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

IDS = [rule.id for rule in RULES]


def _queue(name: str, **annotations: str) -> Resource:
    metadata = {
        "name": name,
        "annotations": {ACKNOWLEDGED + key: value for key, value in annotations.items()},
    }
    data = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": metadata, "spec": {}}
    return Resource(data, "queues.yaml")


def _left(*items: Resource, ignore: str = "") -> list[str]:
    """Return the ids of what is left of KQ111, which every queue here breaks."""
    found = run(ObjectSet(items, catalogue()), [rule for rule in RULES if rule.id == "KQ111"])
    ignores = read_ignores(ignore, FILE_NAME, IDS)
    left = (*ignores.problems, *suppress(found, items, ignores.entries, lambda: IDS))
    return _ids(left)


def _ids(problems: Iterable[Problem]) -> list[str]:
    return [place.rpartition(" ")[2] for place in places([*problems])]


def test_annotation_silences_its_rule_on_its_object() -> None:
    """The reason stands where the problem is, and other objects keep theirs."""
    left = _left(_queue("a", KQ111="a queue that is closed"), _queue("b"))

    assert left == ["KQ111"]


def test_annotation_without_a_reason_silences_nothing() -> None:
    """Who reads it must know why."""
    left = _left(_queue("a", KQ111=" "))

    assert left == ["KQ111", "IGN101"]


def test_annotation_that_meets_no_problem_is_reported() -> None:
    """A silence that outlives its problem would hide the next one."""
    left = _left(_queue("a", KQ111="closed", KQ105="once negative"))

    assert left == ["IGN102"]


def test_annotation_with_an_unknown_id_is_reported() -> None:
    """An id that does not exist silences nothing, and is a misspelt one more often than an old one."""
    (problem,) = suppress([], [_queue("a", KQ1111="closed")], (), lambda: IDS)

    assert (["IGN103"], "warning") == (_ids([problem]), problem.severity)


def test_entry_silences_by_rule_and_object() -> None:
    """An entry names a rule, and objects by a pattern of kind and name."""
    text = "ignore:\n- {rule: KQ111, object: 'ClusterQueue a*', reason: closed}\n"

    assert _left(_queue("a-1"), _queue("a-2"), _queue("b"), ignore=text) == ["KQ111"]


def test_entry_silences_by_file() -> None:
    """A pattern of the file narrows an entry further."""
    text = "ignore:\n- {rule: KQ111, file: 'queues.*', reason: closed}\n"
    other = "ignore:\n- {rule: KQ111, file: 'custom/*', reason: closed}\n"

    assert _left(_queue("a"), ignore=text) == []
    assert _left(_queue("a"), ignore=other) == ["KQ111", "IGN102"]


def test_entry_of_another_rule_is_unused() -> None:
    """An entry that silences nothing is itself reported, at its line."""
    text = "ignore:\n- {rule: KQ105, reason: closed}\n"

    assert _left(_queue("a"), ignore=text) == ["KQ111", "IGN102"]


def test_entry_beside_an_annotation_counts_as_used() -> None:
    """Who silences twice is told of neither."""
    text = "ignore:\n- {rule: KQ111, object: '*', reason: closed}\n"

    assert _left(_queue("a", KQ111="closed"), ignore=text) == []


def test_object_without_a_namespace_is_in_default() -> None:
    """A pattern may name the namespace that the object leaves out."""
    problem = Problem("GIT107", "m", file="a.yaml", object="JobSet train")
    ignores = read_ignores("ignore: [{rule: GIT107, object: JobSet default/train, reason: r}]", FILE_NAME)

    assert suppress([problem], [], ignores.entries) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ignore:\n- {rule: KQ111, reason: ''}", "IGN101"),
        ("ignore:\n- {rule: KQ111}", "IGN101"),
        ("ignore:\n- {reason: r}", "IGN103"),
        ("ignore:\n- text", "IGN103"),
        ("ignore:\n- {rule: KQ11, reason: r}", "IGN103"),
        ("ignore:\n- {rule: KQ111, reason: r, until: x}", "IGN103"),
        ("ignore:\n- {rule: KQ111, reason: 5}", "IGN103"),
        ("rules: []", "IGN103"),
        ("ignore: {}", "IGN103"),
        ("- a", "IGN103"),
    ],
)
def test_file_that_is_no_ignore_file_is_reported(text: str, expected: str) -> None:
    """The format is closed: what it does not know is a problem, never overlooked."""
    found = read_ignores(text, FILE_NAME, IDS)

    assert [(expected, "warning")] == [(one.id, one.severity) for one in found.problems]
    assert found.entries == ()


def test_file_that_is_no_yaml_is_reported() -> None:
    """The problem of the reader is passed on."""
    assert [problem.id for problem in read_ignores("ignore: [", FILE_NAME).problems] == ["YAML001"]


def test_problems_of_the_file_have_a_place() -> None:
    """Line and column lead to the entry."""
    text = "ignore:\n- {rule: KQ105, reason: r}\n- {rule: KQ111, reason: ''}\n"
    ignores = read_ignores(text, FILE_NAME, IDS)

    (unused,) = suppress([], [], ignores.entries)

    assert ".slicewright-ignore.yaml:2:3: warning: IGN102" == places(unused)
    assert [problem.line for problem in ignores.problems] == [3]


INPUT = """
apiVersion: slicewright.dev/v1alpha1
kind: {kind}
metadata: {{name: a, annotations: {{slicewright.dev/ignore-X1: "{reason}"}}}}
"""
OF_INPUT = [
    # kind, file, object and folder of a problem
    ("TPUCluster", "clusters/a.yaml", "TPUCluster a", ""),
    ("TPUCluster", "clusters/a.yaml", "ClusterQueue q", "overlays/a/_platform"),
    ("TPUCluster", "overlays/a/_platform", "ClusterQueue q", ""),
    ("TPUWorkload", "workloads/a.yaml", "TPUWorkload default/a", ""),
    ("TPUWorkload", "workloads/a.yaml", "JobSet default/a-01234567", "overlays/c/default/a"),
    ("TPUWorkload", "overlays/c/default/a", "JobSet default/a-01234567", ""),
]


def _input(kind: str, reason: str) -> list[Resource]:
    """Return a document of our input formats with a reason for X1."""
    written = INPUT.format(kind=kind, reason=reason)
    documents, _ = read_documents(written, "")
    return inputs([Source(SourceFile("any.yaml", written), document) for document in documents])


@pytest.mark.parametrize(("kind", "file", "subject", "folder"), OF_INPUT)
def test_annotation_of_an_input_file(kind: str, file: str, subject: str, folder: str) -> None:
    """It acknowledges a warning of the file, and one of what is rendered from it, wherever that is shown."""
    warning = Problem("X1", "m", severity="warning", file=file, object=subject, folder=folder)

    assert () == suppress([warning], _input(kind, "meant"))
    (left, said) = suppress([warning], _input(kind, " "))
    assert (warning, "IGN101") == (left, said.id)


def test_annotation_of_an_input_file_acknowledges_no_error_and_nothing_of_others() -> None:
    """Who writes a workload cannot let an error pass, nor speak for the workloads of others."""
    error = Problem("X1", "m", file="workloads/a.yaml", object="TPUWorkload default/a")
    other = Problem("X1", "m", severity="warning", object="JobSet default/b", folder="overlays/c/default/b")

    assert (error,) == suppress([error], _input("TPUWorkload", "meant"))
    (left, said) = suppress([other], _input("TPUWorkload", "meant"))
    assert (other, "IGN102", 4) == (left, said.id, said.line)


@pytest.mark.parametrize(
    ("folder", "silenced"), [("overlays/c/default/a", False), ("overlays/c/default/b", True)]
)
def test_annotation_of_a_rendered_object_silences_no_error(folder: str, silenced: bool) -> None:
    """Patches of the workload write it. An object in a folder that nobody renders is somebody's own."""
    metadata = {"name": "a-1", "namespace": "default", "annotations": {f"{ACKNOWLEDGED}X1": "meant"}}
    run = Resource({"kind": "JobSet", "metadata": metadata}, folder)
    error = Problem("X1", "m", file=folder, object="JobSet default/a-1")
    items = [run, *_input("TPUWorkload", "")]

    assert silenced is (error not in suppress([error], items))
    assert {"IGN101"} == {one.id for one in suppress([replace(error, severity="warning")], items)}
