"""A repository is not a cluster: references and quotas are judged within a file, or within a folder."""

from pathlib import Path

import pytest
from tests.check.kit import run, write
from tests.check.tree_objects import (
    an_object,
    cohort,
    findings_of,
    flavor,
    holder,
    job,
    jobset,
    keyed,
    local,
    namespace_with,
    placed,
    queue,
    reads,
    selecting,
    service,
    slice_of,
    topology,
)

from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

Tree = dict[str, str]

TREES: list[tuple[str, Tree, list[str]]] = [
    # Queues of the same file and the same folder.
    ("a queue that the file lacks is an error", {"a.yaml": local("gpus") + job()}, ["a.yaml REF101"]),
    (
        "a queue that the folder lacks is an error",
        {"a/q.yaml": local("gpus"), "a/j.yaml": job()},
        ["a/j.yaml REF101"],
    ),
    ("where a folder has no queue, nobody knows", {"a/j.yaml": job(), "b/q.yaml": local("gpus")}, []),
    (
        "a queue of the name elsewhere may be meant",
        {"a.yaml": local("gpus") + job(), "b/q.yaml": local()},
        [],
    ),
    ("too much for the queue of the file", {"a.yaml": local() + queue() + job("9")}, ["a.yaml FIT101"]),
    (
        "too much for the queue of the folder",
        {"q.yaml": local() + queue(), "j.yaml": job("9")},
        ["j.yaml FIT101"],
    ),
    ("the queue of a folder above is not judged", {"q.yaml": local() + queue(), "a/j.yaml": job("9")}, []),
    ("the queue of a folder beside is not judged", {"b/q.yaml": local() + queue(), "a/j.yaml": job("9")}, []),
    # Candidates.
    (
        "one of two queues is large enough",
        {"a.yaml": local() + queue("2"), "b.yaml": local() + queue("20"), "j.yaml": job("9")},
        [],
    ),
    (
        "none of two queues is large enough",
        {"a.yaml": local() + queue("2"), "b.yaml": local() + queue("3"), "j.yaml": job("9")},
        ["j.yaml FIT101"],
    ),
    (
        "the queue of the same file hides another one",
        {"a.yaml": local() + queue("2") + job("9"), "b.yaml": local() + queue("20")},
        ["a.yaml FIT101"],
    ),
    (
        "of two queues one is not in the folder",
        {
            "a.yaml": local() + queue("2"),
            "b.yaml": local(target="far"),
            "j.yaml": job("9"),
            "z/f.yaml": queue(name="far"),
        },
        [],
    ),
    (
        "a queue is seen with the flavor of its file",
        {
            "a.yaml": local() + queue() + flavor("{kind: a}"),
            "b.yaml": local() + queue() + flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: b}"),
        },
        [],
    ),
    (
        "no flavor of either file suits",
        {
            "a.yaml": local() + queue() + flavor("{kind: a}"),
            "b.yaml": local() + queue() + flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: c}"),
        },
        ["j.yaml FIT102"],
    ),
    (
        "a flavor with two contents is unknown",
        {
            "a.yaml": local() + queue(),
            "b.yaml": flavor("{kind: a}"),
            "c.yaml": flavor("{kind: b}"),
            "j.yaml": job(pod=", nodeSelector: {kind: c}"),
        },
        [],
    ),
    (
        "a cohort may lend from another folder",
        {"a.yaml": local() + queue(cohort="c") + job("9"), "z/b.yaml": queue("20", "lender", cohort="c")},
        [],
    ),
    (
        "a cohort whose members are all in the folder is complete",
        {"a/a.yaml": local() + queue(cohort="c") + job("9"), "b/a.yaml": local() + queue(cohort="c")},
        ["a/a.yaml FIT101"],
    ),
    # Namespaces.
    (
        "a queue of another namespace",
        {"a.yaml": local(namespace="a") + job(namespace="b")},
        ["a.yaml REF101"],
    ),
    (
        "a job without a namespace may go to that of the queue",
        {"a.yaml": local(namespace="a") + job()},
        ["a.yaml REF132"],
    ),
    ("a queue without a namespace is in default", {"a.yaml": local() + job(namespace="default")}, []),
    (
        "a queue of an unknown namespace in another file is not judged",
        {"q.yaml": local(namespace="a") + queue("2"), "j.yaml": job("9")},
        ["j.yaml REF132"],
    ),
    (
        "the sample of another namespace is not meant",
        {"a/q.yaml": local(namespace="a"), "a/j.yaml": job(), "b/q.yaml": local(namespace="default")},
        [],
    ),
    # Placeholders.
    ("a pattern fits", {"q.yaml": local('"tpus-${TOPOLOGY}"'), "j.yaml": job(to="tpus-2x2x1")}, []),
    (
        "a pattern does not fit",
        {"q.yaml": local('"tpus-${TOPOLOGY}"'), "j.yaml": job(to="gpus")},
        ["j.yaml REF101"],
    ),
    ("a name to be filled in may be any", {"a.yaml": local("gpus") + job(to="$QUEUE")}, []),
    ("a namespace to be filled in", {"a.yaml": local(namespace="a") + job(namespace='"<team>"')}, []),
    ("quota to be filled in", {"a.yaml": local() + queue('"${CPU}"') + job("9")}, []),
    (
        "selectors to be filled in",
        {"a.yaml": local() + queue() + flavor("{kind: a}") + job(pod=', nodeSelector: {kind: "${KIND}"}')},
        [],
    ),
    # Kueue's objects among themselves.
    ("a flavor that the folder lacks", {"a.yaml": queue() + flavor(name="other")}, ["a.yaml REF103"]),
    (
        "a flavor that another folder has",
        {"a.yaml": queue() + flavor(name="other"), "b/f.yaml": flavor()},
        [],
    ),
    (
        "one of two queues selects the namespace",
        {"l.yaml": local(namespace="a"), "q.yaml": selecting("b"), "r.yaml": selecting("a")},
        [],
    ),
    (
        "no queue selects the namespace",
        {"l.yaml": local(namespace="a"), "q.yaml": selecting("b"), "r.yaml": selecting("c")},
        ["l.yaml REF110"],
    ),
    ("a LocalQueue without a namespace", {"a.yaml": local() + selecting("b")}, []),
    (
        "Kueue's configuration may map devices",
        {"a.yaml": local() + queue() + job(device="example.com/gpu")},
        [],
    ),
    (
        "chips that the queue does not cover",
        {"a.yaml": local() + queue() + job(device="google.com/tpu")},
        ["a.yaml FIT103"],
    ),
    (
        "Kueue's configuration of another folder counts",
        {
            "a/a.yaml": local() + queue() + job(device="google.com/tpu"),
            "k/c.yaml": "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration,\n"
            " resources: {excludeResourcePrefixes: [google.com/tpu]}}\n",
        },
        [],
    ),
    # Services.
    (
        "the Service of the same file",
        {"a.yaml": slice_of("svc") + service("tpu"), "b.yaml": service("other")},
        [],
    ),
    ("a Service for other pods", {"a.yaml": slice_of("svc") + service("other")}, ["a.yaml TPU116"]),
    (
        "one of two Services",
        {"a.yaml": slice_of("svc"), "b.yaml": service("x"), "c.yaml": service("tpu")},
        [],
    ),
    ("a Service that is missing", {"a.yaml": slice_of("svc") + service("tpu", "scv")}, ["a.yaml TPU116"]),
    (
        "a Service beyond the folder",
        {"a.yaml": slice_of("svc") + service("tpu", "scv"), "b/a.yaml": service("x")},
        [],
    ),
    (
        "the level of a Topology in another folder",
        {"a.yaml": topology("rack") + placed("block"), "b/b.yaml": topology("block")},
        [],
    ),
    ("a level of no Topology", {"a.yaml": topology("rack") + placed("block")}, ["a.yaml KQ156"]),
    # Two of one name.
    ("two JobSets of one file", {"a.yaml": jobset("a") + jobset("b")}, ["a.yaml JS107"]),
    ("alternatives in one folder", {"a.yaml": jobset("a"), "b.yaml": jobset("b")}, []),
    (
        "cohorts of two files are no cycle",
        {"a.yaml": cohort("a", "b"), "b.yaml": cohort("b", "a") + cohort("a", "c")},
        [],
    ),
    (
        "cohorts of one file",
        {"a.yaml": cohort("a", "b") + cohort("b", "a")},
        ["a.yaml FIT107", "a.yaml FIT107"],
    ),
    # ConfigMaps and Secrets.
    (
        "one of two ConfigMaps has the key",
        {"a.yaml": reads("ConfigMap", "c", key="one"), "b.yaml": keyed("one"), "c.yaml": keyed("two")},
        [],
    ),
    (
        "two ConfigMaps lack two keys",
        {
            "a.yaml": reads("ConfigMap", "c", key="one") + reads("ConfigMap", "c", key="two"),
            "b.yaml": keyed("one"),
            "c.yaml": keyed("two"),
        },
        [],
    ),
    (
        "no ConfigMap has the key",
        {"a.yaml": reads("ConfigMap", "c", key="one"), "b.yaml": keyed("three"), "c.yaml": keyed("two")},
        ["a.yaml REF160"],
    ),
    (
        "namespaces of two files disagree about Pod Security",
        {
            "a.yaml": reads("ConfigMap", "c", "a"),
            "b.yaml": namespace_with("restricted"),
            "c.yaml": namespace_with("baseline"),
        },
        [],
    ),
    (
        "the namespace of the folder enforces Pod Security",
        {"a.yaml": reads("ConfigMap", "c", "a"), "b.yaml": namespace_with("restricted")},
        ["a.yaml TPU133"],
    ),
    (
        "a Pod without a namespace goes anywhere",
        {"a.yaml": reads("ConfigMap", "c"), "b.yaml": namespace_with("restricted", "default")},
        [],
    ),
    (
        "a ConfigMap that the file lacks",
        {"a.yaml": reads("ConfigMap", "settings") + holder("ConfigMap", "other")},
        ["a.yaml REF121"],
    ),
    (
        "a misspelt ConfigMap of another file",
        {"a.yaml": reads("ConfigMap", "setings"), "b.yaml": holder("ConfigMap", "settings")},
        ["a.yaml REF121"],
    ),
    (
        "another file has another ConfigMap",
        {"a.yaml": reads("ConfigMap", "settings"), "b.yaml": holder("ConfigMap", "other")},
        [],
    ),
    (
        "another file has a Secret with a similar name",
        {"a.yaml": reads("Secret", "hf-tokn"), "b.yaml": holder("Secret", "hf-token")},
        [],
    ),
    ("what Istio makes", {"a.yaml": reads("ConfigMap", "istio-ca-root-cert") + holder("ConfigMap", "a")}, []),
    (
        "a name in capitals is a placeholder",
        {"a.yaml": reads("ConfigMap", "MY-MAP") + holder("ConfigMap", "a")},
        [],
    ),
    (
        "ConfigMaps of other folders",
        {"a/a.yaml": reads("ConfigMap", "a"), "b/b.yaml": holder("ConfigMap", "b")},
        [],
    ),
    ("a Secret that nobody commits", {"a.yaml": reads("Secret", "hf-token") + holder("Secret", "other")}, []),
    (
        "a misspelt Secret",
        {"a.yaml": reads("Secret", "hf-tokn") + holder("Secret", "hf-token")},
        ["a.yaml REF122"],
    ),
    (
        "a Secret of a Certificate",
        {
            "a.yaml": reads("Secret", "cert-1")
            + holder("Secret", "cert-2")
            + an_object("cert-manager.io/v1", "Certificate", "c", "{secretName: cert-1}")
        },
        [],
    ),
    (
        "a Secret of Vault",
        {
            "a.yaml": reads("Secret", "db-1")
            + holder("Secret", "db-2")
            + an_object(
                "secrets.hashicorp.com/v1beta1", "VaultStaticSecret", "v", "{destination: {name: db-1}}"
            )
        },
        [],
    ),
    (
        "a ConfigMap of a bucket",
        {
            "a.yaml": reads("ConfigMap", "bucket")
            + holder("ConfigMap", "other")
            + an_object("objectbucket.io/v1alpha1", "ObjectBucketClaim", "bucket", "{}")
        },
        [],
    ),
    (
        "a misspelt Secret of another namespace",
        {"a.yaml": reads("Secret", "a", "b") + holder("Secret", "ab", "c")},
        [],
    ),
]


@pytest.mark.parametrize(("says", "tree", "expected"), TREES, ids=[row[0] for row in TREES])
def test_tree_has_thesefindings_of(tmp_path: Path, says: str, tree: Tree, expected: list[str]) -> None:
    """What a build, a file or a folder shows to be wrong is reported, and nothing else."""
    write(tmp_path, tree)

    assert expected == findings_of(tmp_path, "."), says


def test_default_queues_of_a_platform_are_not_missed(tmp_path: Path) -> None:
    """OpenShift AI makes a LocalQueue and a ClusterQueue `default`; other names are missed."""
    write(tmp_path, {"a.yaml": flavor() + queue() + local("mine", "default") + job(to="default")})
    write(tmp_path, {"b/b.yaml": flavor() + queue() + local("mine", "defaults") + job(to="defaults")})
    found = run(tmp_path, ".", "-o", "json", "--only", "REF101,REF102").json["problems"]

    assert [("b/b.yaml", "REF101"), ("b/b.yaml", "REF102")] == sorted(
        (one["file"], one["id"]) for one in found
    )


def test_one_cluster_takes_all_paths_together(tmp_path: Path) -> None:
    """With --one-cluster a queue in a folder beside is judged, and what has no namespace is in default."""
    write(tmp_path, {"q/q.yaml": local() + queue(), "j/j.yaml": job("9"), "k/k.yaml": job(namespace="a")})

    assert ["j/j.yaml FIT101", "k/k.yaml REF101"] == findings_of(tmp_path, ".", "--one-cluster")
    assert [] == findings_of(tmp_path, ".")


def test_service_that_a_cluster_lacks_is_missed(tmp_path: Path) -> None:
    """A folder need not show the Service of a Job; a cluster without any has none of this name."""
    write(tmp_path, {"a.yaml": slice_of("svc")})

    assert [] == findings_of(tmp_path, ".")
    assert ["a.yaml TPU116"] == findings_of(tmp_path, ".", "--one-cluster")


def test_files_that_are_named_have_the_scope_of_their_folder(tmp_path: Path) -> None:
    """A hook that names changed files judges them as the folder is judged."""
    write(tmp_path, {"a/q.yaml": local("gpus"), "a/j.yaml": job(), "b/j.yaml": job()})

    assert ["a/j.yaml REF101"] == findings_of(tmp_path, "a/j.yaml", "b/j.yaml", "a/q.yaml")


def test_rules_of_other_packages_find_an_object_of_a_scope() -> None:
    """`find` returns one object of a scope, of any namespace where none is written."""
    queues = [
        Resource({"kind": "LocalQueue", "metadata": {"name": "a", "namespace": place}}, "") for place in "xy"
    ]
    scope = ObjectSet(queues, catalogue(), is_cluster=False)

    assert [queues[0], queues[1], None] == [scope.find("LocalQueue", "a", place) for place in ("", "y", "z")]
