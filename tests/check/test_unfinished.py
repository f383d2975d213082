"""An object with placeholders has one note, and the problems that it has whatever they become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.check.kit import run, write

from slicewright.core.check.filling import filled
from slicewright.core.check.passed_by import has_directives
from slicewright.core.check.unfinished import placeholders_in
from slicewright.core.document.mask import masked, unmasked

if TYPE_CHECKING:
    from pathlib import Path


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
        (("metadata", "name"), "PROJECT_ID", ["PROJECT_ID"]),
        (("metadata", "name"), "NAME", ["NAME"]),
        (("metadata", "namespace"), "NAMESPACE", ["NAMESPACE"]),
        (("metadata", "namespace"), "FILLED BY THE OPERATOR", ["FILLED BY THE OPERATOR"]),
        (("spec", "image"), "TO BE SET", ["TO BE SET"]),
        (("spec", "env", "value"), "HELLO WORLD", []),
        (("metadata", "name"), "Train", []),
        (("metadata", "name"), "TRAIN", []),
        (("metadata", "name"), 3, []),
        (("spec", "image"), "gcr.io/PROJECT_ID/a:1", ["PROJECT_ID"]),
        (("spec", "replicas"), "NUM_SLICES", ["NUM_SLICES"]),
        (("spec", "limits", "memory"), "POD_MEMORY", ["POD_MEMORY"]),
        (("spec", "env", "name"), "PROJECT_ID", []),
        (("spec", "capabilities", "add"), "SYS_PTRACE", []),
        (("spec", "secretKeyRef", "key"), "HF_TOKEN", []),
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


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "CustomResourceDefinition", "Kustomization"])
def test_texts_of_others_hold_no_placeholders(kind: str) -> None:
    """The data of a ConfigMap is a file of a program, and a CRD describes what others write."""
    data = {"kind": kind, "data": {"a": "${X}"}, "metadata": {"name": "a"}}

    assert {} == placeholders_in(data)


def test_key_of_a_configmap_is_filled_in() -> None:
    """The API server refuses a key with these characters, so a person replaces it."""
    data = {"kind": "ConfigMap", "data": {"<GPU MODEL>": "${X}"}}

    assert {("data", "<GPU MODEL>"): ("<GPU MODEL>",)} == placeholders_in(data)


_JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ${NAME}
  namespace: {{ namespace }}
  labels: {kueue.x-k8s.io/queue-name: <queue>}
spec:
  replicatedJobs:
  - name: slice
    replicas: {{ .N }}
    template:
      spec:
        parallelism: ${HOSTS}
        completions: %HOSTS%
        wrong: 1
        template:
          spec:
            restartPolicy: Never
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice
              cloud.google.com/gke-tpu-topology: $TOPOLOGY
            containers:
            - name: jax
              image: gcr.io/PROJECT_ID/a@sha256:1
              command: [sh, -c, "echo $HOME"]
              resources: {limits: {google.com/tpu: 4}}
"""


def test_object_has_one_note_and_the_rest_is_checked(tmp_path: Path) -> None:
    """Eight placeholders, in YAML or not, are one note at the first; the wrong key is reported."""
    write(tmp_path, {"a.yaml": _JOBSET})
    listed = "${NAME}, {{ namespace }}, <queue>, {{ .N }}, ${HOSTS}, %HOSTS%, $TOPOLOGY, PROJECT_ID"
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


def test_language_of_a_controller_is_no_note(tmp_path: Path) -> None:
    """An ApplicationSet fills its template itself."""
    text = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a, namespace: argocd}\n"
    template = """\
  template:
    metadata: {name: '{{ name }}'}
    spec: {project: a, source: {repoURL: 'https://a', targetRevision: b, path: '{{ path }}'}, destination: {}}
"""
    write(tmp_path, {"a.yaml": f"{text}spec:\n  generators: []\n{template}"})

    assert [] == [one for one in run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids if "FILE" in one]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {{ b }}\n", {"a": "{{ b }}"}),
        ("a: [{{ b }}, @C@]\n", {"a": ["{{ b }}", "@C@"]}),
        ("- {{ a: 'b' }}-c\n", ["{{ a: 'b' }}-c"]),
        ("a: %B%\nc: 1\n", {"a": "%B%", "c": 1}),
        ('a: {{ default "b, c" .d }}\n', {"a": '{{ default "b, c" .d }}'}),
        ("a: {b}c:{d}\n", {"a": "{b}c:{d}"}),
    ],
)
def test_masked_text_is_yaml_of_the_same_length(text: str, expected: Any) -> None:
    """Placeholders that are not YAML are read as words, each in its place."""
    assert expected == unmasked(yaml.safe_load(masked(text)))
    assert len(text) == len(masked(text))


def test_text_with_characters_of_the_mask_is_not_masked() -> None:
    """They would come back as others."""
    assert "a: {{ b }} \ue07b\n" == masked("a: {{ b }} \ue07b\n")


_QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: {{ a }}\n"
_FIXABLE = f"{_QUEUE}spec:\n  clusterQueu: b\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_FIXABLE, _FIXABLE.replace("Queu:", "Queue:")),
        (f"{_FIXABLE}---\na: [}}\n", f"{_FIXABLE}---\na: [}}\n"),
    ],
)
def test_file_with_placeholders_is_mended(tmp_path: Path, before: str, after: str) -> None:
    """A fix leaves the placeholders as they are; of a file that is not YAML with them nothing is changed."""
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


def test_placeholder_in_brackets_is_no_list(tmp_path: Path) -> None:
    """People write `[YOUR_KEY]` for a text; a list of other words is an error."""
    written = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {key: [%s]}\n"
    write(tmp_path, {"a.yaml": written % "YOUR_BASE64_KEY", "b.yaml": written % "word"})

    assert ["FILE030"] == run(tmp_path, "a.yaml", "-o", "json").ids
    assert ["SCHEMA003"] == run(tmp_path, "b.yaml", "-o", "json").ids


@pytest.mark.parametrize(("folder", "expected"), [("base", ["FILE030"]), ("a", ["JS122", "SCHEMA003"])])
def test_empty_mapping_of_a_base_is_filled_in(tmp_path: Path, folder: str, expected: list[str]) -> None:
    """An overlay exchanges `image: {}` for an image."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: {}}]}\n"
    write(tmp_path, {f"{folder}/a.yaml": pod})

    assert expected == sorted(set(run(tmp_path, ".", "-o", "json").ids) - {"JS130"})


def test_patch_lacks_what_the_object_has(tmp_path: Path) -> None:
    """A file that its name calls a patch changes the size of a claim, or a Secret that a generator fills."""
    claim = (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"
        "spec: {accessModes: [ReadWriteOnce], storageClassName: b}\n"
    )
    written = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/ssh-auth\n"
    write(tmp_path, {"claim_patch.yaml": claim, "claim.yaml": claim.replace("name: a", "name: b")})
    write(tmp_path, {"base/secret.yaml": written, "secret.yaml": written.replace("name: a", "name: b")})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [
        ("base/secret.yaml", "note"),
        ("claim.yaml", "error"),
        ("claim_patch.yaml", "note"),
        ("secret.yaml", "error"),
    ] == sorted((problem["file"], problem["severity"]) for problem in problems if problem["id"] == "JS142")


def test_key_of_a_generator_of_charts_is_filled_in(tmp_path: Path) -> None:
    """A script exchanges `__NAME__` for text of Helm; the API server would refuse it as a label's key."""
    pod = "metadata: {name: a, labels: {__MORE__: x}}\nspec: {containers: [{name: a, image: b}]}\n"
    write(tmp_path, {"a.yaml": f"apiVersion: v1\nkind: Pod\n{pod}"})

    assert ["FILE030"] == run(tmp_path, "a.yaml", "-o", "json").ids


_WORKER = """\
apiVersion: v1
kind: Pod
metadata: {name: worker, annotations: {note: A_B}}
spec:
  restartPolicy: Always
  containers:
  - {name: a, image: 'b:1', ports: [{containerPort: 80}], resources: {requests: {cpu: 1}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, annotations: {iam.gke.io/gcp-service-account: a@b-7.iam.gserviceaccount.com}}
---
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("containerPort: 80", "containerPort: PORT", "FILE030"),
        ("containerPort: 80", "containerPort: HTTP_PORT", "FILE030"),
        ("a@b-7.iam.gserviceaccount.com", "PATCHED_BY_OVERLAY", "FILE030"),
        ("{port: 80}", "{port: PORT}", "FILE030"),
        ("Always", "Always\n  nodeName: nodeName", "FILE030"),
        ("name: worker", "name: worker_ID_", "FILE030"),
        ("image: 'b:1'", "image: ' '", "FILE030"),
        ("image: 'b:1'", "image: {tag}", "FILE030"),
        ("image: 'b:1'", "image: '{the image of a run}'", "FILE030"),
        ("containerPort: 80", "containerPort: [[port]]", "FILE030"),
        ("name: worker", "name: 'worker-[[index]]'", "FILE030"),
        ("image: 'b:1'", "image: {tag: 1}", "SCHEMA003"),
        ("containerPort: 80", "containerPort: HTTP", "SCHEMA003"),
        ("containerPort: 80", "containerPort: 80, hostport: PORT_A", "SCHEMA004"),
        ("cpu: 1", "cpu: PORT", "SCHEMA007"),
        ("image: 'b:1'", "image: ''", "JS122"),
        ("name: worker", "name: TRAIN", "SCHEMA007"),
        ("Always", "NEVER", "SCHEMA006"),
        ("Always", "ON_FAILURE", "SCHEMA006"),
        ("LoadBalancer", "LOAD_BALANCER", "SCHEMA006"),
    ],
)
def test_word_in_capitals_counts_where_a_value_would_be_taken(
    tmp_path: Path, before: str, after: str, expected: str
) -> None:
    """A word with `_` or the name of its field is a placeholder if it is refused; others are mistakes."""
    write(tmp_path, {"a.yaml": _WORKER.replace(before, after)})
    ids = run(tmp_path, "a.yaml", "-o", "json", "--min-severity", "note").ids

    assert expected in ids
    assert (expected == "FILE030") == ("FILE030" in ids)
    assert [] == [one for one in ids if one.startswith(("JS", "SCHEMA", "TPU")) and one != expected]


def test_word_in_braces_may_become_a_name_with_dots(tmp_path: Path) -> None:
    """A certificate takes domains alone, which no other placeholder becomes."""
    head = "apiVersion: networking.gke.io/v1\nkind: ManagedCertificate\nmetadata: {name: a}\n"
    write(tmp_path, {"a.yaml": head + "spec: {domains: ['{DOMAIN}']}\n"})

    assert ["FILE030"] == run(tmp_path, "a.yaml", "-o", "json").ids


def test_program_completes_an_object_without_metadata(tmp_path: Path) -> None:
    """What a template lacks below its top is a note; that it has no metadata stays an error."""
    pods = "template: {spec: {restartPolicy: Never, containers: [{name: a}]}}"
    write(tmp_path, {"job.yaml": f"apiVersion: batch/v1\nkind: Job\nspec: {{{pods}}}\n"})
    found = run(tmp_path, "job.yaml", "-o", "json").json["problems"]

    assert [("SCHEMA005", "error"), ("JS122", "note")] == [(one["id"], one["severity"]) for one in found]


@pytest.mark.parametrize(
    ("metadata", "severity"),
    [
        ("", "note"),
        ("metadata: {labels: {a: 1}, annotations: {b: true}}\n", "note"),
        ("metadata: {name: a, labels: {a: 1}}\n", "error"),
        ("metadata: {generateName: a-, labels: {a: 1}}\n", "error"),
    ],
)
def test_program_completes_a_pod_without_name(tmp_path: Path, metadata: str, severity: str) -> None:
    """Spark and Jenkins name the pods of their templates and add what is missing; the rest is checked."""
    for name, spec in {"a": "{schedulerName: a}", "b": "{containers: [{name: a}]}"}.items():
        write(tmp_path, {f"{name}.yaml": f"apiVersion: v1\nkind: Pod\n{metadata}spec: {spec}\n"})
    write(tmp_path, {"c.yaml": "apiVersion: v1\nkind: Pod\nspec: {schedulername: a}\n"})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert {("a.yaml", severity), ("b.yaml", severity), ("c.yaml", "note"), ("c.yaml", "error")} == {
        (problem["file"], problem["severity"]) for problem in problems
    }


@pytest.mark.parametrize("key", ["selector", "podFailurePolicy", "parallelism"])
def test_null_in_a_job_is_no_value(tmp_path: Path, key: str) -> None:
    """The API reads null as a field that is not there."""
    pods = "template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: 'b:1'}]}}"
    spec = f"spec: {{completionMode: Indexed, {key}: null, {pods}}}"
    write(tmp_path, {"job.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\n{spec}\n"})
    ids = run(tmp_path, "job.yaml", "-o", "json").ids

    assert [] == [one for one in ids if one in ("JS123", "JS124", "JS135")]


def test_empty_values_of_a_template_are_filled_in(tmp_path: Path) -> None:
    """A claim whose access modes and size a program writes is unfinished; elsewhere it is wrong."""
    claim = (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: }\n"
        "spec: {accessModes: , storageClassName: , resources: {requests: {storage: }}}\n"
    )
    write(tmp_path, {"templates/claim.yaml": claim, "claim.yaml": claim})

    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ["claim.yaml"] == list(dict.fromkeys(one["file"] for one in found if one["severity"] == "error"))


def test_objects_are_filled_in_together(tmp_path: Path) -> None:
    """A Job with a placeholder selects a class whose name and topology have one: nothing is wrong."""
    compute_class = (
        "apiVersion: cloud.google.com/v1\nkind: ComputeClass\nmetadata: {name: 'tpu-${SHAPE}'}\n"
        "spec: {priorities: [{tpu: {type: tpu7x, topology: '${SHAPE}', count: 4}}]}\n"
    )
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: '${JOB_NAME}'}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n"
        "      nodeSelector:\n        cloud.google.com/compute-class: tpu-2x2x1\n"
        "        cloud.google.com/gke-tpu-topology: 2x2x1\n"
        "      containers: [{name: a, image: 'b:1', resources: {limits: {google.com/tpu: 4}}}]\n"
    )
    write(tmp_path, {"class.yaml": compute_class, "job.yaml": job})

    assert [] == [one for one in run(tmp_path, ".", "-o", "json").ids if one.startswith("CC")]


@pytest.mark.parametrize(
    "name", ["base/a.yaml", "base_pods/a.yaml", "my-base/a.yaml", "pod-template.yaml", "templates/a.yaml"]
)
def test_bases_and_templates_lack_what_completes_them(tmp_path: Path, name: str) -> None:
    """An image and a suffix that come later are notes; elsewhere errors, as a wrong key always is."""
    spec = "spec: {wrong: 1, containers: [{name: a}]}\n"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a-, namespace: }}\n{spec}"
    write(tmp_path, {name: pod, "database/a.yaml": pod})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [("FILE030", "note"), ("JS122", "note"), ("SCHEMA004", "error")] == sorted(
        (one["id"], one["severity"]) for one in found if one["file"] == name
    )
    assert ["JS122", "SCHEMA004", "SCHEMA007"] == sorted(
        one["id"] for one in found if one["file"] == "database/a.yaml" and one["severity"] == "error"
    )


@pytest.mark.parametrize(("folder", "severity"), [("templates", "note"), ("base", "error"), ("a", "error")])
def test_template_has_keys_of_the_program_that_reads_it(tmp_path: Path, folder: str, severity: str) -> None:
    """A test program reads what it expects beside the object, and sends it without that."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'b:1'}]}\n"
    write(tmp_path, {f"{folder}/a.yaml": f"{pod}timeout_seconds: 10\n"})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [severity] == [one["severity"] for one in found if one["id"] == "SCHEMA004"]


@pytest.mark.parametrize(
    ("rest", "severity"),
    [
        ("annotations: {storageclass.kubernetes.io/is-default-class: 'false'}}", "note"),
        ("labels: {a: b}}", "note"),
        ("namespace: b}", "error"),
        ("labels: {a: b}}\nparameters: {a: b}", "error"),
    ],
)
def test_object_of_metadata_alone_is_for_one_that_exists(tmp_path: Path, rest: str, severity: str) -> None:
    """To apply annotations to a StorageClass of the platform changes it; a new one needs a provisioner."""
    head = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n"
    write(tmp_path, {"a.yaml": f"{head}metadata: {{name: a, {rest}\n"})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [severity] == [one["severity"] for one in found if one["id"] == "SCHEMA005"]


@pytest.mark.parametrize(
    ("name", "claimed", "severity"),
    [
        ("INSTANCE_NAME", "STORAGECLASS-sc", "note"),
        ("a", "STORAGECLASS-sc", "error"),
        ("INSTANCE_NAME", "Standard-sc", "error"),
    ],
)
def test_word_in_capitals_with_a_suffix_is_a_placeholder_beside_another_one(
    tmp_path: Path, name: str, claimed: str, severity: str
) -> None:
    """A script that writes the instance writes the class too; else capitals are a mistake."""
    claim = (
        f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\n"
        f"spec: {{accessModes: [ReadWriteOnce], storageClassName: {claimed},"
        " resources: {requests: {storage: 1Gi}}}\n"
    )
    write(tmp_path, {"a.yaml": claim})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert severity == max((one["severity"] for one in found), key=["note", "warning", "error"].index)


@pytest.mark.parametrize(("folder", "severity"), [("base", "note"), ("a", "error")])
def test_program_fills_an_empty_list_of_containers(tmp_path: Path, folder: str, severity: str) -> None:
    """An operator keeps a base whose containers and selector it writes itself."""
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {}}\n"
        "  template: {metadata: {labels: {}}, spec: {containers: []}}\n"
    )
    write(tmp_path, {f"{folder}/a.yaml": deployment})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [("JS134", severity), ("JS142", severity)] == sorted(
        (problem["id"], problem["severity"]) for problem in problems if problem["id"].startswith("JS")
    )


@pytest.mark.parametrize(("folder", "expected"), [("_base", ["note"]), ("app", ["error"])])
def test_namespace_in_capitals_of_a_base_is_filled_in(
    tmp_path: Path, folder: str, expected: list[str]
) -> None:
    """An overlay writes its own in the place of ARCNS, which no cluster takes."""
    write(
        tmp_path,
        {f"{folder}/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ARCNS}\n"},
    )
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert expected == [one["severity"] for one in found if one["id"] in ("FILE030", "SCHEMA007")]


def test_names_of_types_are_placeholders(tmp_path: Path) -> None:
    """A list of all fields has `String` and `Int` as values; what is wrong beside these is told."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: String}\nspec:\n  restartPolicy: [Always]\n"
        "  containers: [{name: String, image: String, ports: [{containerPort: Int}]}]\n"
    )
    write(tmp_path, {"pod.yaml": pod})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [("FILE030", "note"), ("SCHEMA003", "error")] == [(one["id"], one["severity"]) for one in found]


@pytest.mark.parametrize(("file", "expected"), [("template.yaml", ["note"]), ("service.yaml", ["error"] * 3)])
def test_words_that_sed_replaces_in_a_template_are_placeholders(
    tmp_path: Path, file: str, expected: list[str]
) -> None:
    """`service_name` and `template-num` are filled in in a template, and in other files they are wrong."""
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: service_name}\n"
        "spec: {ports: [{port: template-num, targetPort: target_port}]}\n"
    )
    write(tmp_path, {file: service})

    assert expected == [one["severity"] for one in run(tmp_path, ".", "-o", "json").json["problems"]]


@pytest.mark.parametrize(("folder", "expected"), [("job-template", ["note"]), ("jobs", ["error"])])
def test_word_in_the_name_of_a_template_is_filled_in(
    tmp_path: Path, folder: str, expected: list[str]
) -> None:
    """A program writes another one in the place of JOB, and no cluster takes capitals in a name."""
    metadata, spec = "metadata: {name: train-JOB-3}", "spec: {containers: [{name: a, image: b}]}"
    pod = f"apiVersion: v1\nkind: Pod\n{metadata}\n{spec}\n"
    write(tmp_path, {f"{folder}/a.yaml": pod})
    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert expected == [one["severity"] for one in found if one["id"] in ("FILE030", "SCHEMA007")]


_PARTS = ("\n", "{{", "{{ a", "{{ a }} ", "${", "${a:-", "<a", "$", "__A", "%a", "@A", "A_", "YOUR_")


@pytest.mark.slow
@pytest.mark.parametrize("part", _PARTS)
def test_hostile_texts_take_no_time(part: str) -> None:
    """Each pattern reads a long text once; to read it again at each place would take hours."""
    text = part * (300_000 // len(part))

    assert not has_directives(f"a: [\n{text}b")
    assert len(text) == len(masked(text))
    assert len(placeholders_in({"spec": {"image": text.strip()}})) < 2
    assert filled(text, {"b": "c"})[1] == frozenset()


@pytest.mark.parametrize("head", ["apiVersion: v1\nkind: ${K}", "apiVersion: ${V}\nkind: Pod"])
def test_placeholder_of_the_kind_is_one_note(tmp_path: Path, head: str) -> None:
    """Which schema the object has is what depends on the placeholder: a second note says nothing new."""
    write(tmp_path, {"a.yaml": f"{head}\nmetadata: {{name: a}}\n"})

    assert ["FILE030"] == run(tmp_path, ".", "-o", "json").ids


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ("[{containerPort: 0}]  # TODO: the port", "error"),
        ("\n          - containerPort: 0  # TODO: change to 5000", "note"),
        ("\n          - containerPort:  # TODO", "note"),
        ("\n          - containerPort: ##PORT##", "note"),
        ("\n          - containerPort: 70000  # TODO: fewer", "error"),
        ("\n          - containerPort: 0  # no port", "error"),
        ("\n          - containerPort: 0  # FIXME", "note"),
        ("\n          - containerPort: 70000  # Replace with the port", "note"),
        ("\n          - containerPort: 70000  # CHANGE-ME", "note"),
        ("\n          # TODO: the port\n          # of the server\n          - containerPort: 0", "note"),
        ("\n          # fill in the port\n          - containerPort: 70000", "note"),
        ("\n          # TODO: fewer\n          - containerPort: 70000", "error"),
        ("\n          # TODO: the port\n\n          - containerPort: 0", "error"),
        ("\n            # TODO: the port\n          - containerPort: 0", "error"),
    ],
)
def test_empty_value_beside_a_todo_is_a_note(tmp_path: Path, ports: str, expected: str) -> None:
    """Who writes TODO beside or above an empty value, or 0, knows that it is to be filled in."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
        f"  containers:\n    - name: a\n      image: a\n      ports: {ports}\n"
    )
    write(tmp_path, {"a.yaml": text})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert [expected] == list({problem["severity"] for problem in problems})


def test_program_that_fills_in_a_phrase_adds_volumes(tmp_path: Path) -> None:
    """An operator completes its own manifests: what they lack, volumes too, is a note."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: {}}}\nspec:\n"
        "  containers: [{{name: a, image: a, volumeMounts: [{{name: v, mountPath: /v}}]}}]\n"
    )
    write(tmp_path, {"a.yaml": pod.format("FILLED BY THE OPERATOR"), "b.yaml": pod.format("b")})
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert {("a.yaml", "note"), ("b.yaml", "error")} == {
        (problem["file"], problem["severity"]) for problem in problems if problem["id"] == "JS125"
    }


def test_manifests_of_the_tests_of_kubernetes_get_a_namespace(tmp_path: Path) -> None:
    """A subject without a namespace is a note in the folder that the e2e framework completes."""
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
        "subjects: [{kind: ServiceAccount, name: a}]\n"
        "roleRef: {kind: ClusterRole, name: b, apiGroup: rbac.authorization.k8s.io}\n"
    )
    write(
        tmp_path,
        {
            "test/e2e/testing-manifests/a.yaml": binding,
            "b.yaml": binding.replace("name: a}", "name: b}", 1),
        },
    )
    problems = run(tmp_path, ".", "-o", "json").json["problems"]

    assert {
        ("test/e2e/testing-manifests/a.yaml", "note"),
        ("b.yaml", "error"),
    } == {(problem["file"], problem["severity"]) for problem in problems if problem["id"] == "REF131"}
