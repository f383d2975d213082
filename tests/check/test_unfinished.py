"""An object with placeholders has one note, and the problems that it has whatever they become."""

from pathlib import Path
from typing import Any

import pytest
from tests.check.kit import run, write

from slicewright.check.filling import filled
from slicewright.check.passed_by import has_marks
from slicewright.check.unfinished import placeholders_in


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("metadata", "name"), "a-${X}-b", ["${X}"]),
        (("metadata", "name"), "${X:-c}", ["${X:-c}"]),
        (("metadata", "name"), "$X", ["$X"]),
        (("metadata", "name"), "$(X)", ["$(X)"]),
        (("metadata", "name"), "<your name>", ["<your name>"]),
        (("metadata", "name"), "{{ .Values.x }}", ["{{ .Values.x }}"]),
        (("metadata", "name"), "${{ x }}", ["${{ x }}"]),
        (("metadata", "name"), "%X%", ["%X%"]),
        (("metadata", "name"), "@X@", ["@X@"]),
        (("metadata", "name"), "__X__", ["__X__"]),
        (("metadata", "name"), "YOUR_NAME", ["YOUR_NAME"]),
        (("metadata", "namespace"), "<< Namespace >>", ["<< Namespace >>"]),
        (("metadata", "name"), "REPLACE_ME", ["REPLACE_ME"]),
        (("metadata", "name"), "CHANGEME", ["CHANGEME"]),
        (("metadata", "name"), "PLACEHOLDER", ["PLACEHOLDER"]),
        (("metadata", "labels", "a\nYOUR_X"), "a", ["YOUR_X"]),
        (("metadata", "name"), 3, []),
        (("spec", "image"), "gcr.io/<project>/a:1", ["<project>"]),
        (("spec", "env", "name"), "PROJECT_ID", []),
        (("data", "a"), "${X}", []),
        (("spec", "args"), "--bucket=${X}", ["${X}"]),
        (("spec", "args"), "$(X)", []),
        (("spec", "args"), "echo ${X} $Y", []),
        (("spec", "command"), "for a in $X\ndo b\ndone", []),
        (("spec", "env", "value"), "$(X)", []),
        (("spec", "subPathExpr"), "$(X)/a", []),
        (("metadata", "annotations", "a"), "see <the page> for $X", []),
        (("metadata", "annotations", "a"), "$X", ["$X"]),
        (("metadata", "labels", "${X}"), "a", ["${X}"]),
        (("spec", "path"), "a<b", []),
        (("spec", "type"), "replaced-by-kustomize", ["replaced-by-kustomize"]),
        (("spec", "type"), "change-me", ["change-me"]),
        (("spec", "type"), "change-bytes", []),
        (("spec", "claimName"), "DATA_CLAIM", ["DATA_CLAIM"]),
        (("spec", "claimName"), "data-claim", []),
        (("spec", "key"), "HF_TOKEN", []),
        (("spec", "env", "name"), "HF_TOKEN", []),
        (("spec", "path"), "$.spec.a", []),
    ],
)
def test_placeholders_count_where_a_field_takes_one_word(
    path: tuple[str, ...], value: Any, expected: list[str]
) -> None:
    """A script, a text of several words and what Kubernetes expands hold no placeholder of the manifest."""
    for key in reversed(path):
        value = {key: value}

    assert expected == list(placeholders_in(value).get(path, ()))


_JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ${NAME}
  namespace: "{{ namespace }}"
  labels: {kueue.x-k8s.io/queue-name: <queue>}
spec:
  replicatedJobs:
  - name: slice
    replicas: "{{ .N }}"
    template:
      spec:
        parallelism: ${HOSTS}
        completions: "%HOSTS%"
        wrong: 1
        template:
          spec:
            restartPolicy: Never
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice
              cloud.google.com/gke-tpu-topology: $TOPOLOGY
            containers:
            - name: jax
              image: gcr.io/YOUR_PROJECT/a@sha256:1
              command: [sh, -c, "echo $HOME"]
              resources: {limits: {google.com/tpu: 4}}
"""


def test_object_has_one_note_and_the_rest_is_checked(tmp_path: Path) -> None:
    """Eight placeholders are one note at the first; the wrong key is reported."""
    write(tmp_path, {"a.yaml": _JOBSET})
    listed = "${NAME}, {{ namespace }}, <queue>, {{ .N }}, ${HOSTS}, %HOSTS%, $TOPOLOGY, YOUR_PROJECT"
    for arguments in (["a.yaml"], ["."]):
        found = run(tmp_path, *arguments, "-o", "json").json["problems"]

        assert [
            ("FILE030", "note", 4, f"8 placeholders: {listed}; what depends on them is not checked"),
            ("SCHEMA004", "error", 15, "unknown key 'wrong'"),
        ] == [(one["id"], one["severity"], one["line"], one["message"]) for one in found]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("${PROJECT}", "fill them in: --set NAME=VALUE, or --env-file FILE"),
        ("YOUR_PROJECT", "write the value in the file"),
        (
            "<project>-YOUR_NAME",
            "--set NAME=VALUE fills in <project> and others with such marks; write the rest in the file",
        ),
    ],
)
def test_hint_names_an_option_only_where_it_fills_in(tmp_path: Path, written: str, hint: str) -> None:
    """`--set YOUR_PROJECT=x` would find nothing to fill in."""
    account = f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a, namespace: '{written}'}}\n"
    write(tmp_path, {"a.yaml": account})

    assert [("FILE030", hint)] == [
        (one["id"], one["hint"]) for one in run(tmp_path, "a.yaml", "-o", "json").json["problems"]
    ]


def test_many_placeholders_are_counted(tmp_path: Path) -> None:
    """A note lists eight, and says that there are more."""
    labels = "".join(f"    a{number}: $A{number}\n" for number in range(9))
    write(tmp_path, {"a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n{labels}"})
    (found,) = run(tmp_path, ".", "-o", "json").json["problems"]

    assert "9 placeholders: $A0, $A1, $A2, $A3, $A4, $A5, $A6, $A7, ...;" in found["message"]


_QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: ${A}\n"
_FIXABLE = f"{_QUEUE}spec:\n  clusterQueu: b\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_FIXABLE, _FIXABLE.replace("Queu:", "Queue:")),
        (f"{_FIXABLE}---\na: [}}\n", f"{_FIXABLE}---\na: [}}\n"),
    ],
)
def test_file_with_placeholders_is_mended(tmp_path: Path, before: str, after: str) -> None:
    """A fix leaves the placeholders as they are; of a file that is not YAML nothing is changed."""
    write(tmp_path, {"a.yaml": before})
    run(tmp_path, "a.yaml", "--fix")

    assert after == (tmp_path / "a.yaml").read_text(encoding="utf-8")
    assert run(tmp_path, "a.yaml", "-o", "sarif").code in (0, 1)


def test_placeholders_of_words_and_keys_leave_the_rest(tmp_path: Path) -> None:
    """What is at a key or in a list with a placeholder is unknown, and an environment has no note."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {'${KEY}': 1}}\nspec:\n  containers:\n"
    container = "  - {name: a, image: 'b:1', args: ['${X}'], wrong: 1}\n"
    other = "  - {name: b, image: 'b:1', env: [{name: A, value: '${X}'}]}\n"
    write(tmp_path, {"a.yaml": pod + container, "b.yaml": pod.replace("'${KEY}': 1", "") + other})

    assert ["FILE030", "SCHEMA004"] == run(tmp_path, "a.yaml", "-o", "json").ids
    assert [] == run(tmp_path, "b.yaml", "-o", "json").ids


@pytest.mark.parametrize("key", ["selector", "podFailurePolicy", "parallelism"])
def test_null_in_a_job_is_no_value(tmp_path: Path, key: str) -> None:
    """The API reads null as a field that is not there."""
    pods = "template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: 'b:1'}]}}"
    spec = f"spec: {{completionMode: Indexed, {key}: null, {pods}}}"
    write(tmp_path, {"job.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\n{spec}\n"})
    ids = run(tmp_path, "job.yaml", "-o", "json").ids

    assert [] == [one for one in ids if one in ("JS123", "JS124", "JS135")]


@pytest.mark.parametrize("option", [(), ("--one-cluster",)], ids=["folder", "cluster"])
def test_objects_are_filled_in_together(tmp_path: Path, option: tuple[str, ...]) -> None:
    """A Job with a placeholder names a class and a queue whose names have one: nothing is wrong."""
    compute_class = (
        "apiVersion: cloud.google.com/v1\nkind: ComputeClass\nmetadata: {name: 'tpu-${SHAPE}'}\n"
        "spec: {priorities: [{tpu: {type: tpu7x, topology: '${SHAPE}', count: 4}}]}\n"
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
        "metadata: {name: 'user-${SHAPE}', namespace: default}\nspec: {clusterQueue: 'all-${SHAPE}'}\n"
    )
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: '${JOB_NAME}'\n"
        "  labels: {kueue.x-k8s.io/queue-name: user-2x2x1}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n"
        "      nodeSelector:\n        cloud.google.com/compute-class: tpu-2x2x1\n"
        "        cloud.google.com/gke-tpu-topology: 2x2x1\n"
        "      containers: [{name: a, image: 'b:1', resources: {limits: {google.com/tpu: 4}}}]\n"
    )
    write(tmp_path, {"class.yaml": compute_class, "job.yaml": job})

    found = run(tmp_path, *option, ".", "-o", "json").json["problems"]

    assert [] == [one["message"] for one in found if one["severity"] != "note"]


def test_server_is_no_program_because_of_a_placeholder(tmp_path: Path) -> None:
    """Another container may get any name but that of a server, so what never ends in its pod is reported."""
    head = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: pw}\nspec:\n"
        "  replicatedJobs:\n  - name: head\n    template:\n      spec:\n        template:\n          spec:\n"
        "            containers:\n"
        "            - {name: rm, image: '${SERVER}',"
        " args: [--server_port=29001, --node_type=resource_manager]}\n"
        "            - {name: '${PROGRAM}', image: '${IMAGE}'}\n"
    )
    write(tmp_path, {"head.yaml": head})

    assert "PW109" in run(tmp_path, ".", "-o", "json").ids


_PARTS = ("\n", "{{", "{{ a", "{{ a }} ", "${", "${a:-", "<a", "$", "__A", "%a", "@A", "A_", "YOUR_")


@pytest.mark.slow
@pytest.mark.parametrize("part", _PARTS)
def test_hostile_texts_take_no_time(part: str) -> None:
    """Each pattern reads a long text once; to read it again at each place would take hours."""
    text = part * (300_000 // len(part))

    has_marks(f"a: [\n{text}b")
    assert len(placeholders_in({"spec": {"image": text.strip()}})) < 2
    assert filled(text, {"b": "c"})[1] == frozenset()


@pytest.mark.parametrize("head", ["apiVersion: v1\nkind: ${K}", "apiVersion: ${V}\nkind: Pod"])
def test_placeholder_of_the_kind_is_one_note(tmp_path: Path, head: str) -> None:
    """Which schema the object has is what depends on the placeholder: a second note says nothing new."""
    write(tmp_path, {"a.yaml": f"{head}\nmetadata: {{name: a}}\n"})

    assert ["FILE030"] == run(tmp_path, ".", "-o", "json").ids


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("containerPort: 80", "containerPort: PORT", "SCHEMA003"),
        ("name: worker", "name: worker-JOB_ID", "SCHEMA007"),
        ("image: 'b:1'", "image: {tag}", "SCHEMA003"),
        ("containerPort: 80", "containerPort: 0  # TODO: the port", "JS141"),
        ("image: 'b:1'", "imagePullPolicy: Always", "JS122"),
    ],
)
@pytest.mark.parametrize("folder", ["base", "templates", "app"])
def test_words_comments_and_names_of_folders_excuse_nothing(
    tmp_path: Path, folder: str, before: str, after: str, expected: str
) -> None:
    """Only marks make a placeholder: all else is what somebody wrote."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: worker}\nspec:\n  containers:\n"
        "  - name: a\n    image: 'b:1'\n    ports:\n    - containerPort: 80\n"
    )
    assert before in pod
    write(tmp_path, {f"{folder}/a.yaml": pod.replace(before, after)})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [(expected, "error")] == [(problem["id"], problem["severity"]) for problem in problems]
