"""Changes that a person asks about, as the command line has them."""

import pytest

from slicewright.rendering.changed_documents import (
    Change,
    ChangeError,
    read_change,
    read_changes,
    read_lines,
    read_sweep,
)


@pytest.mark.parametrize(
    ("text", "way", "value", "is_relative"),
    [
        ("pools.standing.slices=+2", ("pools", "standing", "slices"), 2, True),
        ("pools.standing.slices=-1", ("pools", "standing", "slices"), -1, True),
        (" pools.standing.slices = 3 ", ("pools", "standing", "slices"), 3, False),
        ("workloads.team/a.tpu=v4-16", ("workloads", "team/a", "tpu"), "v4-16", False),
        ("clusterQueues['a.b'].cohortName=x", ("clusterQueues", "a.b", "cohortName"), "x", False),
        ("workloads.a.rehearsal.faults=[]", ("workloads", "a", "rehearsal", "faults"), [], False),
        ("pools.a.labels={k: v}", ("pools", "a", "labels"), {"k": "v"}, False),
        ("pools.a.autoscaling=null", ("pools", "a", "autoscaling"), None, False),
        ("pools.a.autoscaling=", ("pools", "a", "autoscaling"), None, False),
    ],
)
def test_change_is_a_path_by_names_and_a_yaml_value(
    text: str, way: tuple[str, ...], value: object, is_relative: bool
) -> None:
    """A signed number is added to what is in effect; null removes."""
    assert Change(text.strip(), way, value, is_relative) == read_change(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pools.a.slices", "'pools.a.slices' is not a change"),
        ("=3", "'' is not a path (in '=3')"),
        ("pools..slices=3", "'pools..slices' is not a path (in 'pools..slices=3')"),
        ("pools.a b=3", "'pools.a b' is not a path (in 'pools.a b=3')"),
        ("pools.a.slices=[", "'[' is not a YAML value"),
    ],
)
def test_text_that_is_not_a_change_is_refused(text: str, message: str) -> None:
    """With what is wrong, in the words of the text."""
    with pytest.raises(ChangeError) as refused:
        read_change(text)
    assert message == str(refused.value)


def test_commas_separate_the_changes_of_a_variant() -> None:
    """Those within brackets and quotes belong to a value."""
    found = read_changes("a.b=[1, 2],c.d='x,y',e.f={g: [1, 2]},h=+1")

    assert [[1, 2], "x,y", {"g": [1, 2]}, 1] == [change.value for change in found]


def test_file_has_one_change_a_line() -> None:
    """Empty lines and comments are none."""
    found = read_lines("# two more\npools.a.slices=+2\n\n  pools.b.slices=1\n")

    assert ["pools.a.slices=+2", "pools.b.slices=1"] == [change.text for change in found]


def test_file_without_a_change_is_refused() -> None:
    """It would be the base once more."""
    with pytest.raises(ChangeError, match="the file holds no change"):
        read_lines("# nothing\n")


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("pools.a.slices=1..3", ["pools.a.slices=1", "pools.a.slices=2", "pools.a.slices=3"]),
        ("pools.a.slices=+0..+1", ["pools.a.slices=+0", "pools.a.slices=+1"]),
        ("pools.a.slices=-1..+1", ["pools.a.slices=-1", "pools.a.slices=+0", "pools.a.slices=+1"]),
    ],
)
def test_range_is_a_variant_for_each_number(text: str, texts: list[str]) -> None:
    """Both ends are in it; with signs they are relative."""
    assert texts == [changes[0].text for changes in read_sweep(text)]


def test_ranges_of_one_sweep_go_together() -> None:
    """As slices and their quota do; what is no range is in each variant."""
    found = read_sweep("pools.a.slices=1..2,x.y=z,q.n=+0..+1")

    assert [["pools.a.slices=1", "x.y=z", "q.n=+0"], ["pools.a.slices=2", "x.y=z", "q.n=+1"]] == [
        [change.text for change in changes] for changes in found
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [("a.b=1", "'a.b=1' has no range of numbers"), ("a=1..2,b=1..3", "has ranges of different lengths")],
)
def test_sweep_has_ranges_of_one_length(text: str, told: str) -> None:
    """Else nobody knows what belongs together."""
    with pytest.raises(ChangeError, match=told):
        read_sweep(text)


@pytest.mark.parametrize("text", ["a.b=1..+3", "a.b=3..1", "a.b=1..1", "a.b=1..51"])
def test_range_has_two_to_fifty_numbers(text: str) -> None:
    """The lowest first; each is played."""
    with pytest.raises(ChangeError, match="is not a range"):
        read_sweep(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pools.standing.slices=+2", "2 more slices of standing"),
        ("pools.standing.slices=-1", "1 fewer slice of standing"),
        ("pools.standing.slices=3", "pools.standing.slices=3"),
        ("clusterQueues.a.quota.b.nominalSlices=+1", "clusterQueues.a.quota.b.nominalSlices=+1"),
    ],
)
def test_change_in_words(text: str, words: str) -> None:
    """What is more or fewer of a pool is told as people say it."""
    assert words == read_change(text).words()
