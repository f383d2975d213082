"""The controllers of a cluster: which it needs, what is rendered for them, and what stands against it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.schema.kit import sources
from tests.words import places

from slicewright.document.read import kinds_in, read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpuworkload import Workload, decode_workload
from slicewright.kubernetes.kinds import is_namespaced
from slicewright.kubernetes.problem import Problem
from slicewright.programs.pins import versions
from slicewright.rendering import header
from slicewright.rendering.compose import compose
from slicewright.rendering.folder import is_controllers_folder
from slicewright.rendering.io.package_data import releases
from slicewright.rendering.kustomization import Stopped
from slicewright.rendering.platform import controller_files
from slicewright.rendering.platform.controller_files import (
    CONTROLLERS,
    JOBSET,
    KUEUE,
    PATHWAYS,
    Installed,
    Release,
    installed,
)

from .kit import POOLS, released, site

QUEUES = f"{POOLS}\nclusterQueues: [{{name: q, quota: [{{pool: tpus}}]}}]"
HERE = "overlays/c1/_controllers"
SHIPPED = [Release(one, one.default) for one in CONTROLLERS]


def workload(api: str = "JobSet", cluster: str = "c1") -> Workload:
    """Return a workload of an API on a cluster."""
    spec = f"{{clusters: [{cluster}], tpu: v5litepod-8, api: {api}, container: {{image: i}}}}"
    text = f"apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\nmetadata: {{name: a}}\nspec: {spec}\n"
    (document,), _ = read_documents(text, "a.yaml")
    return decode_workload(Source(SourceFile("a.yaml", text), document))


def wanted(spec: str, *workloads: Workload) -> list[str]:
    """Return what a cluster needs, such as `Kueue v0.19.2`."""
    return [one.title for one in controller_files.needed_releases(site(spec), workloads)]


def made(spec: str) -> dict[str, str]:
    """Return the files of the controllers of a cluster, by their names."""
    of = site(spec)
    found = controller_files.controller_files(of, controller_files.needed_releases(of, ()))
    return {path.removeprefix(f"{HERE}/"): text for path, text in found.items()}


def said(spec: str, read: Any = released, shipped: dict[str, str] | None = None) -> str:
    """Return what is said against the controllers of a cluster, as a terminal shows it."""
    of = site(spec)
    found = controller_files.controller_problems(
        of, controller_files.needed_releases(of, ()), read, releases() if shipped is None else shipped
    )
    return "".join(f"{problem.text()}\n" for problem in found)


@pytest.mark.parametrize(
    ("spec", "workloads", "expected"),
    [
        pytest.param(POOLS, (), [], id="a file that says nothing of Kueue, and no workload"),
        pytest.param(QUEUES, (), ["JobSet", "Kueue"], id="queues"),
        pytest.param(f"{POOLS}\nkueue: {{}}", (), ["JobSet", "Kueue"], id="the configuration of Kueue"),
        pytest.param(POOLS, (workload("Job"),), [], id="Jobs, which Kubernetes has itself"),
        pytest.param(POOLS, (workload(),), ["JobSet"], id="JobSets"),
        pytest.param(POOLS, (workload(cluster="c2"),), [], id="JobSets of another cluster"),
        pytest.param(POOLS, (workload("PathwaysJob"),), ["JobSet", "PathwaysJob"], id="PathwaysJobs"),
        pytest.param(
            f"{POOLS}\nversions: {{pathwaysJob: v0.1.4}}", (), ["JobSet", "PathwaysJob"], id="the operator"
        ),
        pytest.param(f"{POOLS}\nversions: {{jobset: v0.12.0}}", (), ["JobSet"], id="a written JobSet"),
        pytest.param(f"{POOLS}\nversions: {{kueue: v0.19.2}}", (), ["Kueue"], id="a written Kueue"),
        pytest.param(f"{QUEUES}\nmanaged: false", (workload(),), [], id="somebody else's platform"),
        pytest.param(
            f"{QUEUES}\ncontrollers: {{managed: false}}", (workload(),), [], id="somebody else's controllers"
        ),
    ],
)
def test_a_cluster_gets_the_controllers_that_it_needs(
    spec: str, workloads: tuple[Workload, ...], expected: list[str]
) -> None:
    """Kueue where the file speaks of it, JobSet for it and for JobSets, the operator for PathwaysJobs."""
    assert expected == [title.partition(" ")[0] for title in wanted(spec, *workloads)]


def test_versions_are_those_of_the_file_and_else_the_defaults_of_its_schema() -> None:
    """`versions` says which release; the defaults are those of the schema and of the test bed."""
    assert wanted(f"{QUEUES}\nversions: {{kueue: v0.18.1}}") == ["JobSet v0.12.0", "Kueue v0.18.1"]
    assert {one.field: one.default for one in CONTROLLERS} == {
        field: versions()[field] for field in ("jobset", "kueue", "pathwaysJob")
    }


def test_the_list_stands_on_the_releases_in_the_tree() -> None:
    """A small kustomization over the copies that all clusters share; without `kueue` it changes nothing."""
    assert made(QUEUES) == {
        "kustomization.yaml": "# Code generated by slicewright; DO NOT EDIT.\n"
        "# inputs: the controllers of this cluster\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\n"
        "kind: Kustomization\n"
        "resources:\n"
        "- ../../../bases/controllers/jobset-v0.12.0\n"
        "- ../../../bases/controllers/kueue-v0.19.2\n"
    }
    assert made(POOLS) == {}


def test_the_configuration_is_patched_into_the_release_and_restarts_kueue() -> None:
    """With `kueue` the ConfigMap has what the file says, and the pods an annotation that changes with it."""
    found = made(f"{QUEUES}\nkueue: {{waitForPodsReady: {{timeout: 3h}}}}")
    other = made(f"{QUEUES}\nkueue: {{waitForPodsReady: {{timeout: 4h}}}}")
    patch, restart = (
        yaml.safe_load(found[name]) for name in (controller_files.PATCH, controller_files.RESTART)
    )
    files = {f"{HERE}/{name}": text for name, text in found.items()}

    assert yaml.safe_load(patch[0]["value"])["waitForPodsReady"]["timeout"] == "3h"
    assert restart[0]["path"] == "/spec/template/metadata/annotations/slicewright.dev~1configuration"
    assert header.body_of(found[controller_files.RESTART]) != header.body_of(other[controller_files.RESTART])
    assert installed(HERE, files.get) == Installed(tuple(SHIPPED[:2]), patch[0]["value"])


def settings(spec: str) -> dict[str, str]:
    """Return what a tree says of the sizes and gates that it installs, and that it is as we write it."""
    found = installed(HERE, {f"{HERE}/{name}": text for name, text in made(spec).items()}.get)
    assert found is not None
    assert not found.edited
    return dict(found.settings)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("pools: [{name: a, tpu: v5litepod-64}]", {}),
        (
            "pools: [{name: a, tpu: v5litepod-64}, {name: b, machineType: n2-standard-8}]",
            {"Kueue": "memory 544Mi"},
        ),
        (
            "pools: [{name: a, tpu: v5p-4096, slices: 8}]",
            {"Kueue": "memory 131072Mi", "JobSet": "memory 4916Mi"},
        ),
        (
            (
                "pools: [{name: a, tpu: v5litepod-256, autoscaling: {max: 3}}]\n"
                "controllers: {kueue: {memory: 4Gi, replicas: 3}, jobset: {replicas: 2}}"
            ),
            {"Kueue": "3 replicas, memory 4Gi", "JobSet": "2 replicas"},
        ),
        (
            (
                "pools: [{name: a, tpu: v5litepod-8}]\n"
                "controllers: {jobset: {featureGates: {RestartJob: true, InPlaceRestart: false}}}"
            ),
            {"JobSet": "feature gates RestartJob"},
        ),
    ],
)
def test_sizes_follow_the_nodes(spec: str, expected: dict[str, str]) -> None:
    """A cluster of many nodes gets larger controllers than their releases, and what its file says."""
    assert settings(f"kueue: {{}}\n{spec}") == expected


def test_sizes_and_gates_reach_the_pods() -> None:
    """What kustomize builds has the written sizes, and JobSet's configuration the gates of the file."""
    sizes = "{kueue: {memory: 4Gi, replicas: 3}, jobset: {featureGates: {RestartJob: true}}}"
    files = {f"{HERE}/{name}": text for name, text in made(f"{QUEUES}\ncontrollers: {sizes}").items()}
    objects = compose(HERE, lambda path: files.get(path) or released(path)).objects
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in objects}
    kueue = by_name["Deployment", "kueue-controller-manager"]["spec"]
    jobset = by_name["Deployment", "jobset-controller-manager"]["spec"]
    config = by_name["ConfigMap", "jobset-manager-config"]["data"]["controller_manager_config.yaml"]

    (manager,) = kueue["template"]["spec"]["containers"]
    assert (3, "4Gi", "4Gi") == (
        kueue["replicas"],
        manager["resources"]["requests"]["memory"],
        manager["resources"]["limits"]["memory"],
    )
    assert yaml.safe_load(config)["featureGates"] == {"RestartJob": True}
    assert "slicewright.dev/configuration" in jobset["template"]["metadata"]["annotations"]


def test_configuration_has_one_home() -> None:
    """The ConfigMap is in _controllers, or in _platform where somebody else installs Kueue: never in both."""
    from .kit import files  # noqa: PLC0415 - beside what it is compared with

    spec = f"{QUEUES}\nkueue: {{}}"
    theirs = f"{spec}\ncontrollers: {{managed: false}}"

    assert ["kueue-manager-config.yaml" in files(one) for one in (spec, theirs)] == [False, True]
    assert [controller_files.PATCH in made(one) for one in (spec, theirs)] == [True, False]
    config_map = yaml.safe_load(files(theirs)["kueue-manager-config.yaml"])
    patch = yaml.safe_load(made(spec)[controller_files.PATCH])
    assert config_map["data"] == {"controller_manager_config.yaml": patch[0]["value"]}


@pytest.mark.parametrize("one", SHIPPED, ids=[one.title for one in SHIPPED])
def test_releases_are_as_they_were_released(one: Release) -> None:
    """The digest of each copy is recorded, and that of the source which the schemas were made from."""
    digests = {row["file"]: row["sha256"] for row in sources()}
    text = released(f"{one.folder}/manifests.yaml") or ""

    assert list(controller_files.release_problems(one, released, releases(), configures=True)) == []
    assert controller_files.digest_of(text) == digests[f"../../{one.folder}/manifests.yaml"]
    assert releases()[Path(one.folder).name] == controller_files.digest_of(text)
    assert not controller_files.lacks_configuration(text) or one.controller != KUEUE


@pytest.mark.slow
@pytest.mark.parametrize("one", SHIPPED, ids=[one.title for one in SHIPPED])
def test_contents_of_a_release_are_found_without_parsing_it(one: Release) -> None:
    """Rights are made from what the objects are: group, kind, and the namespace where there is one."""
    text = released(f"{one.folder}/manifests.yaml") or ""
    items = [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]
    expected = {
        (item["apiVersion"].rpartition("/")[0], item["kind"], item["metadata"].get("namespace", ""))
        for item in items
    }

    assert expected == kinds_in(text)
    assert all(is_namespaced(group, kind) == bool(namespace) for group, kind, namespace in expected)
    assert (one.controller.namespace, one.controller.deployment) in {
        (item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items
    }


def test_a_release_that_is_not_in_the_tree_is_refused_at_its_version() -> None:
    """With the ways to have it: another version, a copy of one's own, or controllers of somebody else."""
    spec = f"{QUEUES}\nversions: {{kueue: v0.18.1}}"

    assert places(said(spec)) == "clusters/c1.yaml:9:21: CTRL001\n"


def test_a_tree_of_an_older_slicewright_is_told_how_to_get_the_releases() -> None:
    """Those that come with slicewright are brought by one command."""
    assert places(said(QUEUES, lambda _path: None)) == "".join(
        "clusters/c1.yaml:3:18: CTRL001\n"
        for title, folder in (("JobSet v0.12.0", "jobset-v0.12.0"), ("Kueue v0.19.2", "kueue-v0.19.2"))
    )


def edited(name: str, text: str | None) -> Any:
    """Return a reader of the releases in which one file of Kueue's is another."""
    path = f"bases/controllers/kueue-v0.19.2/{name}"
    return lambda wanted: text if wanted == path else released(wanted)


def test_a_release_that_was_edited_is_refused() -> None:
    """One word in 27,000 lines is enough; with the digest edited as well, slicewright knows its own."""
    folder = "bases/controllers/kueue-v0.19.2"
    manifests = (released(f"{folder}/manifests.yaml") or "").replace("/kueue:v0.19.2", "/mine/kueue:v0.19.2")
    kustomization = controller_files.kustomization("mine", manifests)

    def both(path: str) -> str | None:
        mine = {f"{folder}/manifests.yaml": manifests, f"{folder}/kustomization.yaml": kustomization}
        return mine.get(path) or released(path)

    expected = f"{folder}/manifests.yaml: CTRL002\n"
    assert expected == places(said(QUEUES, edited("manifests.yaml", manifests)))
    assert expected == places(said(QUEUES, both))
    assert (
        places(said(QUEUES, both, {"jobset-v0.12.0": releases()["jobset-v0.12.0"]}))
        == f"{folder}/manifests.yaml: warning: CTRL007\n"
    )
    assert (
        places(said(QUEUES, edited("kustomization.yaml", kustomization)))
        == f"{folder}/kustomization.yaml: CTRL002\n"
    )


@pytest.mark.parametrize("text", [None, "resources: [manifests.yaml]\n", "# by hand\nresources: []\n"])
def test_the_kustomization_of_a_release_is_ours(text: str | None) -> None:
    """One that is missing or was edited is refused: a patch there would change what is installed."""
    assert (
        places(said(QUEUES, edited("kustomization.yaml", text)))
        == "bases/controllers/kueue-v0.19.2/kustomization.yaml: CTRL003\n"
    )


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_a_second_kustomization_beside_a_release_is_refused(name: str) -> None:
    """Kustomize refuses a folder with two of them, so that nothing would be installed."""
    assert (
        places(said(QUEUES, edited(name, "resources: []\n")))
        == f"bases/controllers/kueue-v0.19.2/{name}: TREE002\n"
    )


def test_a_release_that_may_not_be_read_is_refused() -> None:
    """A link out of the repository is not followed, whatever is behind it."""
    link = Problem("FILE004", "a link that points out of the repository is not followed", file="bases")

    def read(_path: str) -> str | None:
        raise Stopped(link)

    assert said(QUEUES, read) == f"{link.text()}\n" * 2


def test_empty_documents_hold_nothing() -> None:
    """Releases begin with a separator, or with a licence."""
    text = (
        "# a licence\n---\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  namespace: b\n"
    )

    assert kinds_in(text) == {("apps", "Deployment", "b")}
    assert kinds_in(text.replace(": b", ": 'b'").replace("apps/v1", '"apps/v1"')) == kinds_in(text)


def test_line_ends_are_no_edit() -> None:
    """A checkout on another system may have other line ends."""
    folder = "bases/controllers/kueue-v0.19.2"

    def read(path: str) -> str | None:
        text = released(path)
        return text.replace("\n", "\r\n") if text and path.startswith(folder) else text

    assert said(QUEUES, read) == ""


def test_manifests_without_what_the_configuration_changes_are_refused() -> None:
    """Kustomize passes a patch by that fits nothing: the configuration would be lost without a word."""
    folder = "bases/controllers/kueue-v0.18.1"
    text = "kind: ConfigMap\nmetadata:\n  name: other\n"

    def read(path: str) -> str | None:
        mine = {
            f"{folder}/manifests.yaml": text,
            f"{folder}/kustomization.yaml": controller_files.kustomization("x", text),
        }
        return mine.get(path) or released(path)

    spec = f"{QUEUES}\nversions: {{kueue: v0.18.1}}"
    known = releases() | {"kueue-v0.18.1": controller_files.digest_of(text)}
    assert said(spec, read, known) == ""
    assert places(said(f"{spec}\nkueue: {{}}", read, known)) == f"{folder}/manifests.yaml: CTRL004\n"


@pytest.mark.parametrize("one", SHIPPED, ids=[one.title for one in SHIPPED])
@pytest.mark.parametrize(
    ("image", "refused"),
    [
        ("{image}", True),
        ("'{image}@sha256:00'", True),
        ("mirror.example.com:5000/{name}:v9.0.0", False),
        ("mirror.example.com:5000/{name}@sha256:00", False),
        ("gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0", False),
    ],
)
def test_a_release_under_the_name_of_another_is_refused(one: Release, image: str, refused: bool) -> None:
    """The image of the controller says which release the manifests are; a digest alone says nothing."""
    shipped = (released(f"{one.folder}/manifests.yaml") or "").rpartition("image: ")[2].partition("\n")[0]
    name = shipped.rpartition(":")[0].rpartition("/")[2]
    text = f"spec:\n  - image: {image.format(image=shipped, name=name)}\n"
    other = Release(one.controller, "v9.0.0")
    files = {
        f"{other.folder}/manifests.yaml": text,
        f"{other.folder}/kustomization.yaml": controller_files.kustomization("x", text),
    }
    message = f"the manifests of {other.title} run the image of {one.version}"

    known = {Path(other.folder).name: controller_files.digest_of(text)}
    found = list(controller_files.release_problems(other, files.get, known, configures=False))

    assert [("CTRL006", message)] * refused == [(problem.id, problem.message) for problem in found]


def test_the_head_of_a_copy_that_was_copied_names_another_release() -> None:
    """The digest in a head is that of the release which the head names, and the folder says another."""
    folder = "bases/controllers/kueue-v0.18.1"

    def read(path: str) -> str | None:
        return released(path.replace("kueue-v0.18.1", "kueue-v0.19.2"))

    assert (
        places(said(f"{QUEUES}\nversions: {{kueue: v0.18.1}}", read))
        == f"{folder}/kustomization.yaml: CTRL003\n"
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (controller_files.PATCH, "- op: replace", "- {op: remove, path: /data/x}\n- op: replace"),
        (controller_files.RESTART, "value: ", "value: a"),
        (controller_files.RESTART, "- op: add", "- {op: replace, path: /spec/replicas, value: 0}\n- op: add"),
        ("kustomization.yaml", "  target:", "  options: {}\n  target:"),
        ("kustomization.yaml", "kind: Deployment", "kind: Pod"),
    ],
)
def test_a_folder_of_controllers_that_was_edited_is_told_apart(name: str, old: str, new: str) -> None:
    """Whatever it changes about the releases is looked at, and not its configuration alone."""
    files = {f"{HERE}/{file}": text for file, text in made(f"{QUEUES}\nkueue: {{}}").items()}
    path = f"{HERE}/{name}"

    changed = files | {path: files[path].replace(old, new, 1)}
    found = [installed(HERE, texts.get) for texts in (files, changed)]

    assert files != changed
    assert [False, True] == [one is None or one.edited for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "resources: [../../../bases/controllers/kueue-v0.19.2]\n",
        f"{header.GENERATED}\n# inputs: x\nresources: [../../../bases/jobset]\n",
        f"{header.GENERATED}\n# inputs: x\nresources: [https://example.com/a?ref=b]\n",
        f"{header.GENERATED}\n# inputs: x\nnamespace: x\nresources: []\n",
        f"{header.GENERATED}\n# inputs: x\nresources: []\ncomponents: [../x]\n",
    ],
)
def test_a_folder_of_controllers_that_is_not_ours_is_composed_as_any_other(text: str) -> None:
    """What slicewright did not write is not taken for releases that were checked."""
    assert installed(HERE, {f"{HERE}/kustomization.yaml": text}.get) is None
    assert installed(HERE, lambda _path: None) is None


def test_folders_are_told_apart() -> None:
    """By their names: a release of a controller that is known."""
    assert is_controllers_folder(HERE)
    assert not is_controllers_folder("overlays/c1/_platform")
    assert controller_files.release_of("bases/controllers/pathways-job-v0.1.4") == Release(PATHWAYS, "v0.1.4")
    assert controller_files.release_of("bases/controllers/jobset-v1.0.0-rc.1") == Release(
        JOBSET, "v1.0.0-rc.1"
    )
    assert controller_files.release_of("bases/controllers/other-v1") is None
    assert controller_files.release_of("bases/controllers/kueue-v0/../../../custom/evil") is None
