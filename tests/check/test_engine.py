"""The engine: what it says of kinds, versions, documents and schema files."""

from typing import Any

import pytest
from tests.check.kit import found, jobset, problems

from slicewright.check.engine import Engine, SkipKind
from slicewright.check.kind_schemas import KindSchemas
from slicewright.check.run import RuleSet
from slicewright.check.unpack import unpack
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.objects import Finding, ObjectSet, Resource, Rule
from slicewright.rendering.io.package_data import catalogue

THING = {"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": "a"}}


def test_key_of_a_label_is_named_as_it_is_written() -> None:
    """A key with dots and slashes is quoted once."""
    (problem,) = problems(jobset(pod={"nodeSelector": {"cloud.google.com/gke-spot": True}}))

    assert "'cloud.google.com/gke-spot' must be a string, not true" == problem.message


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("jobset.x-k8s.io/v1alpha1", "JobSet", "known versions: v1alpha2; or convert its CRD"),
        ("jobset.k8s.io/v1alpha2", "JobSet", "did you mean 'jobset.x-k8s.io/v1alpha2'?"),
        ("kueue/v1", "LocalQueue", "write one of: kueue.x-k8s.io/v1beta1, kueue.x-k8s.io/v1beta2"),
        ("v2", "Pod", "write one of: v1"),
        ("example.test/v1", "Thing", "or let it pass: --skip-kind Thing"),
        ("../../etc/v1", "Thing", "or let it pass: --skip-kind Thing"),
        ("a b/v1", "Thing", "or let it pass: --skip-kind Thing"),
    ],
)
def test_kind_without_a_schema_is_an_error(api_version: str, kind: str, hint: str) -> None:
    """It is never passed over in silence; the hint names what there is."""
    (problem,) = problems({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    assert (problem.id, problem.severity, problem.path) == ("SCHEMA001", "error", ("kind",))
    assert hint in problem.hint


@pytest.mark.parametrize("text", ["Thing", "Thing.example.test", "example.test/v1/Thing"])
def test_kind_that_is_named_is_let_pass(text: str) -> None:
    """`--skip-kind` takes the kind alone, with its group, and with group and version."""
    skipping = Engine(KindSchemas(lambda _: None), skip=[SkipKind(text)])
    item = Resource(THING, "file.yaml")
    assert skipping.verdict(item) == "skipped"
    assert list(skipping.object_problems(item, "skipped")) == []
    assert skipping.verdict(Resource({**THING, "kind": "Other"}, "file.yaml")) == "unknown"


def test_deprecated_version_is_a_warning() -> None:
    """v1beta1 of Kueue is valid, and reported as deprecated with the first release of the other."""
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "a"}}
    (problem,) = problems(queue)
    assert (problem.id, problem.severity) == ("SCHEMA009", "warning")
    assert problem.hint == "write kueue.x-k8s.io/v1beta2, which Kueue serves from 0.15 on"


def test_deprecation_of_another_kind_is_told_in_its_own_words() -> None:
    """A schema of the user may have a deprecation warning: it is the hint."""
    own = Engine(KindSchemas(lambda _: {"x-slicewright": {"deprecated": "write v2"}}))
    item = Resource(THING, "file.yaml")
    (problem,) = own.object_problems(item, own.verdict(item))
    assert ("SCHEMA009", "write v2") == (problem.id, problem.hint)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": 5}, "does not compile"),
        ({"properties": {"a": {"pattern": "("}}}, "does not compile"),
        ([], "is not a JSON Schema of an object"),
    ],
)
def test_schema_that_cannot_be_used_is_an_error(schema: Any, message: str) -> None:
    """A broken schema file checks nothing, and says so for each object."""
    broken = Engine(KindSchemas(lambda _: schema))
    item = Resource(THING, "file.yaml")
    verdict = broken.verdict(item)
    (problem,) = broken.object_problems(item, verdict)
    assert (verdict, problem.id) == ("unknown", "SCHEMA010")
    assert message in problem.message


def test_schema_without_a_side_table_is_enough() -> None:
    """A schema from elsewhere, a catalogue for example, is used as it is."""
    schemas = KindSchemas(lambda _: {"properties": {"spec": {"type": "object"}}, "x-slicewright": 5})
    item = Resource({**THING, "spec": []}, "file.yaml")
    plain = Engine(schemas)
    assert [(p.id, p.dotted()) for p in plain.object_problems(item, plain.verdict(item))] == [
        ("SCHEMA003", "spec")
    ]


def test_rules_are_asked_by_kind() -> None:
    """A rule sees its kinds, one without kinds sees all; its hint stands where a finding has none."""

    def check(item: Resource, _objects: ObjectSet) -> list[Finding]:
        return [Finding(("kind",), f"is {item.kind}"), Finding((), "own", "other")]

    mine = Rule("A001", "warning", "title", "why", "mine", frozenset({"Job"}), check)
    everybody = Rule("A002", "error", "title", "why", "all", frozenset(), check)
    asked = RuleSet([mine, everybody])
    job = Resource({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}, "a")
    foreign = Resource({"apiVersion": "example.test/v1", "kind": "Job", "metadata": {"name": "b"}}, "b")
    object_set = ObjectSet([job, foreign], catalogue())
    found_by = [(p.id, p.severity, p.object, p.hint) for p in asked.problems(object_set)]
    assert found_by == [
        ("A001", "warning", "Job a", "mine"),
        ("A001", "warning", "Job a", "other"),
        ("A002", "error", "Job a", "all"),
        ("A002", "error", "Job a", "other"),
        ("A002", "error", "Job b", "all"),
        ("A002", "error", "Job b", "other"),
    ]
    assert [p.object for p in asked.problems(object_set, [foreign])] == ["Job b"] * 2


def unpacked(text: str) -> list[Resource | Problem]:
    """Return the objects and problems of a text."""
    documents, _ = read_documents(text, "file.yaml")
    file = SourceFile("file.yaml", text)
    return [
        one for document in documents for one in unpack(document.data, "file.yaml", Source(file, document))
    ]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("- a", "a document must be a mapping with apiVersion and kind", (1, 1)),
        ("kind: Pod", "'apiVersion' is missing", (1, 1)),
        ("apiVersion: v1", "'kind' is missing", (1, 1)),
        ("{apiVersion: 1, kind: Pod}", "'apiVersion' must be a string", (1, 14)),
        ("{apiVersion: v1, kind: ''}", "'kind' must be a string", (1, 24)),
    ],
)
def test_what_is_no_object_is_a_problem(text: str, message: str, place: tuple[int, int]) -> None:
    """Without apiVersion and kind nobody can check a document, and that is said."""
    (problem,) = unpacked(text)
    assert isinstance(problem, Problem)
    assert ("SCHEMA002", message, place) == (problem.id, problem.message, (problem.line, problem.column))


@pytest.mark.parametrize(
    ("kind", "sops", "expected"),
    [
        ("Secret", "{mac: a, version: 3.11.0}", {"apiVersion": "v1", "kind": "Secret"}),
        ("Secret", "{version: b}", {"apiVersion": "v1", "kind": "Secret", "sops": {"version": "b"}}),
        ("SopsSecret", "{mac: a}", {"apiVersion": "v1", "kind": "SopsSecret", "sops": {"mac": "a"}}),
    ],
)
def test_key_of_an_encrypted_file_is_left_out(kind: str, sops: str, expected: dict[str, object]) -> None:
    """What SOPS adds to a file that it encrypts never reaches a cluster; the kind of an operator keeps it."""
    (item,) = unpacked(f"{{apiVersion: v1, kind: {kind}, sops: {sops}}}")

    assert isinstance(item, Resource)
    assert expected == item.data


def test_lists_are_what_they_hold() -> None:
    """The objects of a List are checked one by one, at their own lines."""
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {}}\n- 5\n"
    item, problem = unpacked(text)
    assert isinstance(item, Resource)
    assert isinstance(problem, Problem)
    assert (item.problem("A001", ("metadata",), "").line, item.problem("A001", ("metadata",), "").column) == (
        4,
        41,
    )
    assert (problem.line, problem.column) == (5, 3)
    assert len(unpacked("{apiVersion: v1, kind: PodList, items: []}")) == 0
    assert len(unpacked("{apiVersion: v1, kind: AccessList, items: text}")) == 1


def test_lists_in_lists_end() -> None:
    """A List in a List in a List is opened a few times, and then an object without a schema."""
    text = "{apiVersion: v1, kind: List, items: [" * 10 + "]}" * 10
    (item,) = unpacked(text)
    assert isinstance(item, Resource)
    assert item.kind == "List"
    assert found(item.data) == [("SCHEMA001", "kind")]
