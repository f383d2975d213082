"""The messages of the schema check, word for word."""

import pytest
from tests.words import places

from slicewright.intent.validate import Schemas
from slicewright.kubernetes.problem import Problem

from .kit import SCHEMAS, workload

NAME = "slicewright/tpuworkload.json"


def _texts(change: str, *, without: str = "") -> list[str]:
    problems = SCHEMAS.problems(NAME, workload(change, without=without))
    return [f"{problem.dotted()}: {problem.text()}" for problem in problems]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param("slices: '2'", "spec.slices: IN001", id="another type"),
        pytest.param("clusters: c", "spec.clusters: IN001", id="a list of one without brackets"),
        pytest.param("provisioning: Reservation", "spec.provisioning: IN004", id="a word that needs a name"),
        pytest.param(
            "podTemplate: {metadata: {annotations: {a: true}}}",
            "spec.podTemplate.metadata.annotations.a: IN001",
            id="a string without quotes",
        ),
        pytest.param("hostNetwork: 'yes'", "spec.hostNetwork: IN001", id="a boolean in quotes"),
        pytest.param("slices:", "spec.slices: IN001", id="a value that somebody forgot"),
        pytest.param("run: [1]", "spec.run: IN001", id="one of two types"),
        pytest.param("auxiliaryJobs: [x]", "spec.auxiliaryJobs[0]: IN001", id="an element"),
        pytest.param(
            "podTemplate: {spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1.5}}}]}}",
            "spec.podTemplate.spec.containers[0].livenessProbe.httpGet.port: IN001",
            id="an integer or a string, in Kubernetes",
        ),
        pytest.param(
            "podTemplate: {spec: {containers: [{name: a, resources: {limits: {cpu: []}}}]}}",
            "spec.podTemplate.spec.containers[0].resources.limits.cpu: IN001",
            id="a quantity that is none",
        ),
        pytest.param("slcies: 2", "spec.slcies: IN002", id="an unknown key"),
        pytest.param("topology: 16x16", "spec.topology: IN002", id="a key that people try, with its value"),
        pytest.param(
            "image: python:3.12.11\ncontainer: {image: a}",
            "spec.image: IN002",
            id="a key that people try, beside its field",
        ),
        pytest.param(
            "nodeSelector: {a: b}\npodTemplate: {spec: {hostNetwork: true}}",
            "spec.nodeSelector: IN002",
            id="a key that people try, beside its field on two levels",
        ),
        pytest.param(
            "queue: a\nqueueName: b",
            "spec.queue: IN002",
            id="a key that people try, beside its field with another value",
        ),
        pytest.param(
            "container: {image: a, env: {LR: '1e-4', MODEL: llama}}",
            "spec.container.env: IN001",
            id="a mapping of names to texts",
        ),
        pytest.param(
            "container: {image: a, env: {LR: 0.5}}",
            "spec.container.env: IN001",
            id="a mapping of names to numbers",
        ),
        pytest.param(
            "failurePolicy: {restartOnExitCodes: {a: 1}}",
            "spec.failurePolicy.restartOnExitCodes: IN001",
            id="a mapping in place of numbers",
        ),
        pytest.param(
            "maxExecutionTimeSeconds: 8h",
            "spec.maxExecutionTimeSeconds: IN001",
            id="a time span in place of seconds",
        ),
        pytest.param(
            "podTemplate: {spec: {terminationGracePeriodSeconds: 1.5 m}}",
            "spec.podTemplate.spec.terminationGracePeriodSeconds: IN001",
            id="a time span in place of seconds, in Kubernetes",
        ),
        pytest.param(
            "maxExecutionTimeSeconds: soon",
            "spec.maxExecutionTimeSeconds: IN001",
            id="a word in place of seconds",
        ),
        pytest.param(
            "env: [{name: A, value: b}]", "spec.env: IN002", id="a key that people try, whose value is long"
        ),
        pytest.param("image: [a]", "spec.image: IN002", id="a key that people try, whose value is none"),
        pytest.param(
            "failurePolicy: {queue: x}",
            "spec.failurePolicy.queue: IN002",
            id="a key that people try elsewhere",
        ),
        pytest.param("pathways: {}", "spec.pathways: IN003", id="a missing key"),
        pytest.param("api: PathwaysJob", "spec: IN003", id="a key that is needed here"),
        pytest.param("api: RayJob", "spec.api: IN004", id="none of the choices"),
        pytest.param("onChange: Delete", "spec.onChange: IN004", id="nothing near"),
        pytest.param("queueName: team/queue", "spec.queueName: IN005", id="another form"),
        pytest.param("components: [../mine]", "spec.components[0]: IN005", id="an element of another form"),
        pytest.param(
            "podTemplate: {spec: {containers: [{name: a, resources: {limits: {memory: 16GB}}}]}}",
            "spec.podTemplate.spec.containers[0].resources.limits.memory: IN005",
            id="no quantity",
        ),
        pytest.param("slices: 0", "spec.slices: IN005", id="too small"),
        pytest.param("backoffLimit: 2147483648", "spec.backoffLimit: IN005", id="too large"),
        pytest.param(
            "rehearsal: {expect: [{order: [a]}]}", "spec.rehearsal.expect[0].order: IN005", id="too few"
        ),
        pytest.param("run: ''", "spec.run: IN005", id="empty"),
        pytest.param(f"queueName: {'q' * 64}", "spec.queueName: IN005", id="too long"),
        pytest.param(
            "rehearsal: {expect: [{finishes: true, waitBelow: 1s}]}",
            "spec.rehearsal.expect[0]: IN005",
            id="too many keys",
        ),
        pytest.param(
            "failurePolicy: {restartOnExitCodes: ['128-999']}",
            "spec.failurePolicy.restartOnExitCodes[0]: IN005",
            id="exit codes that no program has",
        ),
        pytest.param(
            "rehearsal: {duration: 2 hours}", "spec.rehearsal.duration: IN005", id="a time span in words"
        ),
        pytest.param(
            "pathways: {pathwaysDir: 'gs://b', worker: {nodeSelector: {'a b': c}}}",
            "spec.pathways.worker.nodeSelector: IN005",
            id="a key of another form",
        ),
        pytest.param(
            "matrix: {env: {'a b': [1, 2]}}", "spec.matrix.env: IN005", id="a key that is not a variable"
        ),
        pytest.param(
            "provisioning: {type: Spot, name: a}",
            "spec.provisioning.name: IN006",
            id="keys that exclude each other",
        ),
    ],
)
def test_message(change: str, expected: str) -> None:
    """Each finding says what is wrong with which value, and what to write instead."""
    assert [expected] == places(_texts(change))


@pytest.mark.parametrize(
    ("release", "hint"), [("0.19.2", "write v0.19.2"), ("newest", "write a value such as v0.12.0")]
)
def test_release_without_its_v(release: str, hint: str) -> None:
    """A release of which the v alone is missing is named as it has to be written."""
    (problem,) = SCHEMAS.problems("slicewright/common.json#/definitions/release", release)

    assert ("IN005", hint) == (problem.id, problem.hint)


def test_twice() -> None:
    """A list of different things that has one twice says so."""
    assert places(_texts("clusters: [c, c]", without="clusters")) == ["spec.clusters: IN005"]


def test_script_or_command() -> None:
    """A script stands for command and args, so that they exclude each other by name."""
    text = "container: {image: 'i:1', script: a, command: [b], args: [c]}"

    assert ["spec.container.args: IN006", "spec.container.command: IN006"] == places(
        _texts(text, without="container")
    )


def test_the_document_itself() -> None:
    """A problem of the whole has no key to name."""
    assert [Problem("IN001", "the document must be a mapping, not a list", NAMED)] == list(
        SCHEMAS.problems(NAME, [])
    )


NAMED = "write {apiVersion: ..., kind: ..., metadata: ..., spec: ...}"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"pattern": "^a$"}, "b" * 1000, "the document cannot be '" + "b" * 99 + "..."),
        ({"type": "string"}, 10**50, "the document must be a string, not an integer"),
        ({"type": "null"}, {}, "the document must be null, not a mapping"),
        ({"const": 1}, 2, "the document cannot be 2"),
        ({"multipleOf": 2}, 3, "the document cannot be 3"),
        ({"minItems": 1}, [], "the document must not be empty"),
        ({"minProperties": 2}, {}, "the document has 0 keys; it needs 2 or more"),
        ({"anyOf": [{"minimum": 3}, {"type": "string"}]}, 2, "the document cannot be 2"),
        ({"pattern": "^a$"}, "a\n", "the document cannot be 'a\\n'"),
    ],
)
def test_messages_that_our_schemas_do_not_need(
    schema: dict[str, object], value: object, expected: str
) -> None:
    """Long values are cut, and a keyword without a sentence of its own still names the value."""
    (problem,) = Schemas({"a.json": schema}).problems("a.json", value)

    assert expected == problem.message


def test_examples_of_other_types_are_no_hint() -> None:
    """The hint shows an example only if it has the type that the field needs."""
    schema = {"type": "string", "description": "A thing.", "examples": [{"a": 1}]}

    (problem,) = Schemas({"a.json": schema}).problems("a.json", [])
    assert problem.hint == "write a string"


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        ({"type": "array", "examples": [["a"]]}, 1, 'write a list, for example ["a"]'),
        ({"type": "array", "examples": [["a" * 99]]}, 1, "write a list"),
        ({"type": "string", "examples": ["a\nb"]}, [], "write a string"),
        ({"type": "array", "items": {"required": ["name"]}}, 1, "write [{name: ...}]"),
        ({"type": "string", "pattern": "^a$", "patternErrorMessage": "write a"}, [], "write a"),
        ({"type": "string", "pattern": "^[0-9]+$"}, 30, "write it in quotes"),
        ({"type": "string", "pattern": "^[0-9]+m$", "examples": ["3m"]}, 3, "write a string, for example 3m"),
        ({"pattern": "^a$", "description": "A letter."}, "b", "A letter."),
        ({"pattern": "^a$", "examples": ["a"]}, "b", "write a value such as a"),
        ({"minLength": 2}, "b", "write 2 or more characters"),
        ({"minProperties": 1}, {}, "add a key"),
        ({"maxItems": 1}, [1, 2], "write at most 1 element"),
        (
            {"required": ["a"], "properties": {"a": {"examples": [{"b": 1}]}}},
            {},
            "add 'a', for example {\"b\": 1}",
        ),
    ],
)
def test_hint_says_what_to_write(schema: dict[str, object], value: object, hint: str) -> None:
    """A hint begins with what to do; a description is the last resort."""
    (problem,) = Schemas({"a.json": schema}).problems("a.json", value)

    assert hint == problem.hint
