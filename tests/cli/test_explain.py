"""`slicewright explain`: each number with where it comes from, on every cluster."""

from tests.conftest import Repo


def test_facts_stand_in_a_table_for_each_cluster(repo: Repo) -> None:
    """What Autopilot leaves out is said for that cluster only."""
    repo.cluster("c2", "mode: Autopilot\npools: [{name: tpus, tpu: v5litepod-8}]")
    repo.workload("a", "privileged: true\nclusters: [c1, c2]\ntpu: v5litepod-8\ncontainer: {image: x}")

    done = repo.run("explain", "a")

    standard, autopilot = done.out.split("c2/default/a\n")
    assert standard.startswith("c1/default/a\n  WHAT ")
    assert "  hosts per slice " in standard
    assert "  2  " in standard
    assert "left out" not in standard
    assert "the Autopilot cluster c2 refuses it" in autopilot
    assert done.err == ""


def test_json_form_has_the_shape_and_the_facts(repo: Repo) -> None:
    """The shape is the catalogue's row, the facts are those of the table."""
    (found,) = repo.run("explain", "a", "-o", "json").json

    assert (found["cluster"], found["namespace"], found["workload"]) == ("c1", "default", "a")
    assert found["name"].startswith("a-")
    assert (found["shape"]["topology"], found["shape"]["chips"]) == ("2x4", 8)
    assert {"what": "chips per slice", "value": "8", "because": "2 x 4"} in found["facts"]


def test_sources_are_printed_on_demand(repo: Repo) -> None:
    """The public sources of the shape are long; the option prints them."""
    assert "Cloud TPU documentation" not in repo.run("explain", "a").out
    told = repo.run("explain", "a", "--sources").out

    assert "  sources of 2x4 on ct5lp-hightpu-4t:\n    " in told
    assert "Cloud TPU documentation" in told


def test_problems_of_the_workload_are_shown_and_those_of_others_are_not(repo: Repo) -> None:
    """What stands against it explains why there are no numbers."""
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")
    repo.workload("b", "clusters: [c1]\ntpu: v5litepod-9\ncontainer: {image: x}")
    repo.workload("c", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")

    wrong = repo.run("explain", "a", code=1)
    warned = repo.run("explain", "c")

    assert wrong.err.startswith("workloads/a.yaml:6:8: TPU005")
    assert "workloads/b.yaml" not in wrong.err
    assert "warning: REF006" in warned.err
    refused = repo.run("explain", "a", "-o", "json", code=1)
    assert ([problem["id"] for problem in refused.json["problems"]], refused.json["workloads"]) == (
        ["TPU005"],
        [],
    )
    (served,) = repo.run("explain", "c", "-o", "json").json
    assert [problem["id"] for problem in served["problems"]] == ["REF006"]


def test_wrong_cluster_file_is_shown(repo: Repo) -> None:
    """Where the workload itself is right, its cluster's file is what is wrong."""
    repo.cluster("c1", "pools: [{name: tpus}]")

    assert "clusters/c1.yaml:6:11: IN003" in repo.run("explain", "a", code=1).err


def test_unknown_name_is_a_usage_error(repo: Repo) -> None:
    """With the nearest."""
    assert repo.run("explain", "aa", code=2).err.endswith(
        "Error: there is no workload 'aa'; did you mean 'a'?\n"
    )


def test_id_of_a_rule_leads_to_the_command_for_rules(repo: Repo) -> None:
    """`explain TPU103` says which command explains ids."""
    assert repo.run("explain", "TPU103", code=2).err.endswith(
        "Error: 'TPU103' is an id, and no workload has it; did you mean: slicewright rule TPU103\n"
    )


def test_what_keeps_pods_apart_is_explained(repo: Repo) -> None:
    """Tolerations and node affinity have their reason; a PathwaysJob carries neither."""
    repo.cluster(
        "c1", "pools: [{name: a, tpu: v5litepod-16}, {name: q, tpu: v5litepod-16, provisioning: Spot}]"
    )
    repo.workload("a", "clusters: [c1]\ntpu: v5litepod-16\ncontainer: {image: x}")
    repo.workload(
        "b",
        "clusters: [c1]\ntpu: v5litepod-16\napi: PathwaysJob\ncontainer: {image: x}\n"
        "pathways: {pathwaysDir: gs://b}",
    )

    (facts,) = (one["facts"] for one in repo.run("explain", "a", "-o", "json").json)
    (others,) = (one["facts"] for one in repo.run("explain", "b", "-o", "json").json)

    assert {
        ("toleration", "slicewright.dev/provisioning=OnDemand"),
        ("node affinity cloud.google.com/gke-spot", "DoesNotExist"),
    } == {(one["what"], one["value"]) for one in facts if one["what"].startswith(("toleration", "node aff"))}
    assert [] == [one for one in others if one["what"].startswith(("toleration", "node aff"))]


def test_a_value_with_lines_is_on_one_line(repo: Repo) -> None:
    """A row of a table is one line, whatever its value holds."""
    repo.workload(
        "a", 'clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\nmatrix: {env: {A: ["x\\ny", "z"]}}'
    )

    lines = repo.run("explain", "a").out.splitlines()

    assert 3 == len(lines)
    assert r"A=x\ny" in "".join(lines)
