"""A matrix: one TPUWorkload becomes one for each entry, whose name and id follow from its own values."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rendering.plan.kit import planned, workload

from slicewright.kubernetes.name_room import room_in_jobset, room_in_pathwaysjob
from slicewright.rendering.plan.plan import Plan


def plans(matrix: Mapping[str, Any] | str, *, name: str = "lr", more: str = "") -> dict[str, Plan]:
    """Return the plans of a sweep by the names of their workloads."""
    text = matrix if isinstance(matrix, str) else json.dumps(matrix)
    spec = f"tpu: v5litepod-8\ncontainer: {{image: i}}\nmatrix: {text}\n{more}"
    found, problems = planned(workload(spec, name=name))
    assert [] == [problem.text() for problem in problems if problem.severity == "error"]
    return {plan.workload: plan for plan in found}


def test_lists_multiply_and_further_entries_are_added() -> None:
    """Each combination is a run, but for those that are excluded; included entries have their own values."""
    found = plans(
        """
          env: {BATCH: [8, 16], LR: [1e-4, "3e-4"]}
          exclude: [{env: {BATCH: 16, LR: 3e-4}}]
          include: [{name: slow, env: {LR: 0.5}, slices: 2}]"""
        # 3e-4 in quotes is that text, and without them the number 0.0003
        .replace('"3e-4"', "3e-4")
    )

    own = {
        name: (plan.slices, {key: plan.env[key] for key in plan.env if key in ("BATCH", "LR")})
        for name, plan in found.items()
    }
    assert {
        "lr-8-1e-4": (1, {"BATCH": "8", "LR": "0.0001"}),
        "lr-8-3e-4": (1, {"BATCH": "8", "LR": "0.0003"}),
        "lr-16-1e-4": (1, {"BATCH": "16", "LR": "0.0001"}),
        "lr-slow": (2, {"LR": "0.5"}),
    } == own


def test_slices_and_shapes_are_axes_as_well() -> None:
    """`slices` and `tpu` of an entry take the place of those of the spec."""
    found = plans("{slices: [1, 2], tpu: [v5litepod-4, v5litepod-8]}")

    assert {
        "lr-1x-v5litepod-4": (1, 4),
        "lr-1x-v5litepod-8": (1, 8),
        "lr-2x-v5litepod-4": (2, 4),
        "lr-2x-v5litepod-8": (2, 8),
    } == {name: (plan.slices, plan.shape.chips) for name, plan in found.items()}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (0.1, "lr-1e-1"),
        (0.00025, "lr-25e-5"),
        ("0.50", "lr-5e-1"),
        ("2e6", "lr-2e6"),
        (7, "lr-7"),
        ("007", "lr-007"),
        (True, "lr-true"),
        ("BF16", "lr-bf16"),
        ("cosine-decay", "lr-cosine-decay"),
        ("gs://bucket/data", "lr-b8cf0b"),
        (-1, "lr-fed060"),
        ("a" * 60, "lr-157ef7"),
    ],
)
def test_entry_is_called_as_its_values_where_a_name_can_hold_them(value: object, name: str) -> None:
    """A name has no point, so 0.1 is 1e-1; what is long or has other characters becomes a digest."""
    assert [name] == list(plans({"env": {"X": [value]}}))


def test_shape_that_is_written_out_becomes_a_digest() -> None:
    """A mapping does not fit a name."""
    (name,) = plans("{tpu: [{accelerator: v5e, topology: 2x4}]}")

    assert "lr-aca09f" == name


@pytest.mark.parametrize(
    ("more", "room"),
    [
        ("", room_in_jobset({"slice": (100, 1000)}).length),
        (
            "pathways: {pathwaysDir: 'gs://b/d'}",
            room_in_jobset({"w": (1, 1)}, coordinator_subdomain="pw-01234567").length,
        ),
        ("api: PathwaysJob\npathways: {pathwaysDir: 'gs://b/d'}", room_in_pathwaysjob().length),
    ],
)
def test_names_of_values_fit_every_kind_of_run(more: str, room: int) -> None:
    """A name that is readable is never the reason for a refusal: a longer one is a digest of six digits."""
    id_of_run = len("-0123abcd")
    lengths = {
        len(name)
        for size in range(1, 40)
        for name in plans({"env": {"X": ["a" * size]}}, name="a", more=more)
    }

    assert room - id_of_run - 1 <= max(lengths) <= room - id_of_run


def test_names_of_values_fit_beside_auxiliary_jobs() -> None:
    """A long auxiliary job shortens the room of names; an entry that does not fit has a digest."""
    pod = "{spec: {containers: [{name: m, image: i}]}}"
    more = f"auxiliaryJobs: [{{name: metrics-and-logs, pool: cpu-np, podTemplate: {pod}}}]"
    axes = {"env": {"A": ["adafactor", "adam"]}}

    found = plans(axes, name="learning-rate-llama", more=more)
    fixed = plans(axes, name="learning-rate-llama", more=f"naming: Fixed\n{more}")

    digests = {name for name in found if not name.endswith("-adam")}
    assert (2, 1, {26}) == (len(found), len(digests), {len(name) for name in digests})
    assert {"learning-rate-llama-adafactor", "learning-rate-llama-adam"} == set(fixed)


VALUES = st.lists(
    st.one_of(st.integers(0, 99), st.sampled_from(["a", "B", "x/y", "0.1", "true"]), st.booleans()),
    min_size=1,
    max_size=4,
    unique_by=lambda value: json.dumps(value).strip('"').lower(),
)
AXES = st.dictionaries(st.sampled_from(["A", "B", "C"]), VALUES, min_size=1)


def ids(found: Mapping[str, Plan]) -> dict[str, str]:
    """Return the runs of a sweep by their entries."""
    return {name: plan.run for name, plan in found.items()}


@pytest.mark.slow
@given(AXES, st.randoms(use_true_random=False))
def test_order_renames_and_restarts_nothing(axes: dict[str, list[Any]], chance: random.Random) -> None:
    """Neither the order of the axes nor that of their values is in a name or an id."""
    names = chance.sample(list(axes), len(axes))
    other = {name: chance.sample(axes[name], len(axes[name])) for name in names}

    assert ids(plans({"env": axes})) == ids(plans({"env": other}))


@pytest.mark.slow
@given(AXES, st.sampled_from(["A", "B", "C"]))
def test_more_values_restart_nothing_that_was_there(axes: dict[str, list[Any]], name: str) -> None:
    """A value more brings entries, and those that were there keep their names and their runs."""
    before = ids(plans({"env": axes}))
    more = {**axes, name: [*axes.get(name, ["new"]), "more"]}

    after = ids(plans({"env": more}))

    kept = before.items() if name in axes else set()
    assert kept <= after.items()
    assert len(set(after.values())) == len(after)


@pytest.mark.slow
@given(AXES)
def test_one_entry_that_changes_is_one_run(axes: dict[str, list[Any]]) -> None:
    """An included entry with another value has another id, and no other run has."""

    def of(value: int) -> dict[str, str]:
        return ids(plans({"env": axes, "include": [{"name": "mine", "env": {"A": value}}]}))

    one, other = of(1), of(2)

    assert {"lr-mine"} == {name for name in one if one[name] != other[name]}


def test_matrix_says_nothing_of_a_run_but_its_values() -> None:
    """The limit is in no id, and a run number is in that of its entry alone."""
    axes = {"env": {"A": [1, 2]}}
    before = ids(plans(axes))
    queued = ids(plans(axes, more="queueName: q"))

    assert queued == ids(plans({**axes, "maxConcurrent": 2}, more="queueName: q"))
    again = ids(plans({**axes, "runs": {"2": 2}}))

    assert (before["lr-1"], True) == (again["lr-1"], before["lr-2"] != again["lr-2"])


def test_run_tells_its_pods_entry_and_values() -> None:
    """The name of the entry tells checkpoints apart, and the sweep is a label of all its runs."""
    plan = plans({"env": {"A": ["x"]}})["lr-x"]

    assert {"SLICEWRIGHT_WORKLOAD": "lr-x", "SLICEWRIGHT_RUN": plan.run, "A": "x"} == plan.env
    assert ("lr-x", "lr") == (plan.labels["slicewright.dev/workload"], plan.labels["slicewright.dev/sweep"])


def test_fixed_entries_are_objects_under_their_own_names() -> None:
    """`naming: Fixed` makes an object for each entry, which has its values too."""
    found = plans({"env": {"A": ["x", "y"]}}, more="naming: Fixed")

    assert {"lr-x": {"A": "x"}, "lr-y": {"A": "y"}} == {plan.name: plan.env for plan in found.values()}


def test_sweep_and_its_entries_have_names_that_nobody_else_has() -> None:
    """A workload cannot be called as a sweep or as one of its entries: it is told once each."""
    sweep = workload("tpu: v5litepod-8\ncontainer: {image: i}\nmatrix: {env: {A: [x, y]}}", name="lr")
    others = [workload("tpu: v5litepod-8\ncontainer: {image: i}", name=name) for name in ("lr", "lr-x")]

    _, problems = planned(sweep, *others)

    assert [("workloads/b.yaml", "NAME002"), ("workloads/c.yaml", "NAME002")] == [
        (problem.file, problem.id) for problem in problems
    ]


def test_number_without_a_fraction_is_a_value() -> None:
    """What is an integer elsewhere is the text of a variable here, as JSON writes it."""
    found = plans({"env": {"A": [0.1, 1.0, 1e3]}, "include": [{"env": {"A": 10.0}}]})

    assert ["0.1", "1.0", "1000.0", "10.0"] == [plan.env["A"] for plan in found.values()]


def test_number_of_many_digits_is_no_part_of_a_name() -> None:
    """More digits than are counted would give two values one name."""
    (name,) = plans({"env": {"A": ["1.0000000000000000000000000000001"]}})

    assert "lr-1" != name


@pytest.mark.parametrize(
    ("matrix", "hint"),
    [
        ({"env": {"A": []}}, "write one or more values of the variable"),
        ({"env": {"A": [1]}, "exclude": [{}]}, "write one or more values of the entry: env, slices or tpu"),
    ],
)
def test_hint_says_that_values_are_missing(matrix: dict[str, Any], hint: str) -> None:
    """An empty list or entry is refused with what to write."""
    spec = f"tpu: v5litepod-8\ncontainer: {{image: i}}\nmatrix: {json.dumps(matrix)}\n"

    _, (problem,) = planned(workload(spec, name="lr"))

    assert ("IN005", hint) == (problem.id, problem.hint)
