"""The id of a run follows from what a person wrote, and from nothing else."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.document.read import read_documents
from slicewright.rendering.folder import NOT_INTENT, digest, run_id

SPEC: dict[str, Any] = {
    "tpu": "v5litepod-8",
    "clusters": ["multislice-cluster"],
    "slices": 2,
    "container": {"image": "i:1", "script": "exec python3 train.py\n", "env": [{"name": "É", "value": "1"}]},
    "rehearsal": {"duration": "60s"},
    "onChange": "Keep",
    "workloadPriorityClassName": "high",
}
CANONICAL = (
    '{"container":{"env":[{"name":"É","value":"1"}],"image":"i:1","script":"exec python3 train.py\\n"},'
    '"slices":2,"tpu":"v5litepod-8"}'
)
fields = st.dictionaries(
    st.sampled_from([*sorted(NOT_INTENT), "tpu", "slices", "run", "container"]),
    st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.lists(st.integers())),
)


def test_golden_value() -> None:
    """The id is the first 8 hexadecimal digits of the SHA-256 of this very JSON; another id restarts runs."""
    expected = hashlib.sha256(CANONICAL.encode()).hexdigest()[:8]

    assert (expected, run_id(SPEC)) == ("e0a9d8ac", "e0a9d8ac")


def test_digest_of_nothing() -> None:
    """The digest is plain SHA-256 in hexadecimal, which other programs can compute."""
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("field", ["clusters", "rehearsal", "onChange", "workloadPriorityClassName"])
def test_fields_that_are_no_intent(field: str) -> None:
    """Where a run goes, how it is rehearsed and how urgent it is start no other run."""
    changed = {**SPEC, field: ["other"]}
    without = {key: value for key, value in SPEC.items() if key != field}

    assert [run_id(SPEC)] * 2 == [run_id(changed), run_id(without)]


@pytest.mark.slow
@given(one=fields, other=fields)
def test_the_same_intent_and_nothing_else(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two specs have one id exactly if they say the same, but for the fields that are no intent."""
    same = digest(_intent(one)) == digest(_intent(other))

    assert same == (run_id(one) == run_id(other))
    assert same == (repr(sorted(_intent(one).items())) == repr(sorted(_intent(other).items())))


def _intent(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in NOT_INTENT}


@pytest.mark.slow
@given(fields.flatmap(lambda spec: st.tuples(st.just(spec), st.permutations(list(spec)))))
def test_the_order_of_keys_is_no_intent(case: tuple[dict[str, Any], list[str]]) -> None:
    """Keys may be moved about without starting another run."""
    spec, order = case

    assert run_id(spec) == run_id({key: spec[key] for key in order})


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("slices", 3),
        ("slices", True),
        ("slices", "2"),
        ("run", 1),
        ("tpu", "v5litepod-16"),
        ("container", {**SPEC["container"], "env": []}),
        ("container", {**SPEC["container"], "script": "exec python3 train.py"}),
    ],
)
def test_any_other_change_is_another_run(change: str, value: object) -> None:
    """Each field counts, at each depth, by type and value; a default written out counts as well."""
    assert run_id(SPEC) != run_id({**SPEC, change: value})


@pytest.mark.parametrize(
    "text",
    [
        "tpu: v6e-4\nslices: 2\nrun: '7'\n",
        "# comment\nslices: 2   # two\n\ntpu:   'v6e-4'\nrun: \"7\"\n",
        '{"run": "7", "slices": 0x2, "tpu": "v6e-4"}',
    ],
)
def test_the_way_of_writing_is_no_intent(text: str) -> None:
    """Comments, quotes, blanks and the order of keys can change in the file of a run that goes on."""
    documents, _ = read_documents(text, "")

    assert run_id({"run": "7", "slices": 2, "tpu": "v6e-4"}) == run_id(documents[0].data)
