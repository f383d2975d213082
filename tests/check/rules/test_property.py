"""Rules never fail on data that nobody has checked."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.rules.kit import ALL, FIXTURES, objects_of, run, site_of
from tests.properties import share

from slicewright.check.rules.every import RULES
from slicewright.check.suppress import read_ignores, suppress
from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import GROUP_OF
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

_TEXTS = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*/bad*.yaml"))]
_OBJECTS = [document.data for text in _TEXTS for document in read_documents(text, "f.yaml")[0]]
_WORDS = st.sampled_from(
    ["", "a", "metadata", "spec", "1", "-1", "4x4", "true", "google.com/tpu", "a/b", "Infinity", "1e99", "*"]
)
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | _WORDS | st.text(max_size=5)
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=8,
)
_SITE = {
    "metadata": {"name": "west"},
    "spec": {
        "gke": {"version": "1.30.0"},
        "pools": [{"name": "tpus", "tpu": "v5litepod-16", "slices": 2}, {"name": "cpu", "machineType": "n2"}],
        "clusterQueues": [{"name": "tpus", "quota": [{"pool": "tpus"}, {"pool": "cpu"}], "localQueues": []}],
    },
}


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in pairs:
        found += _paths(below, (*path, key))
    return found


def _replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {
            name: _replaced(below, tuple(rest), new) if name == key else below
            for name, below in value.items()
        }
    return [_replaced(below, tuple(rest), new) if at == key else below for at, below in enumerate(value)]


@st.composite
def _broken(draw: st.DrawFn) -> dict[str, Any]:
    """Return an object of the fixtures with arbitrary data in up to three places."""
    data = draw(st.sampled_from(_OBJECTS))
    for _ in range(draw(st.integers(1, 3))):
        below = [path for path in _paths(data) if len(path) > 1]
        data = _replaced(data, draw(st.sampled_from(below)), draw(_JSON)) if below else data
    return dict(data)


_WRONG = (True, None, -1, 2**40, 1e28, "1e99", "1e-99", [True], [[True]], {"a": True})


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced
def test_no_rule_fails_on_one_wrong_value_anywhere() -> None:
    """Each place of the objects of the fixtures holds each wrong value once; pairs are drawn below."""
    site = site_of(_SITE)
    places = {
        (data.get("kind"), *(key if isinstance(key, str) else 0 for key in path)): (data, path)
        for data in _OBJECTS
        for path in _paths(data)
        if len(path) > 1
    }

    for data, path in places.values():
        for wrong in _WRONG:
            item = Resource(_replaced(data, path, wrong), "dir/kustomization.yaml")
            try:
                run(ObjectSet([item], catalogue(), site))
            except Exception as error:  # noqa: BLE001 - whatever a rule raises
                pytest.fail(f"{item.kind} with {wrong!r} at {path}: {error!r}")


_AMOUNT = re.compile(
    r"""((?:cpu|memory|storage|/tpu|nominalQuota|\w+ingLimit)["']?: *)["']?[0-9]\w*["']?(?=[\s,}])"""
)


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("amount", ["1e999", "1e-999"])
def test_no_rule_fails_on_amounts_of_any_size(amount: str) -> None:
    """All amounts of a fixture at once are as large, or as small, as a quantity can be written."""
    for fixture in ALL:
        try:
            run(objects_of(_AMOUNT.sub(rf'\1"{amount}"', fixture.text)))
        except (OverflowError, TypeError, ValueError, ZeroDivisionError) as error:
            pytest.fail(f"{fixture}: {error!r}")


@pytest.mark.slow
@settings(max_examples=share(75))
@given(st.lists(_broken(), min_size=1, max_size=4), st.booleans())
def test_rules_never_fail_on_broken_objects(objects: list[dict[str, Any]], with_site: bool) -> None:
    """Wrong types anywhere are for another stage to report; no rule raises, and every path is one."""
    items = [Resource(data, "dir/kustomization.yaml") for data in objects]

    found = run(ObjectSet(items, catalogue(), site_of(_SITE) if with_site else None, is_cluster=with_site))

    assert all(problem.id and problem.message for problem in found)


@pytest.mark.slow
@settings(max_examples=share(100))
@given(st.sampled_from(sorted(GROUP_OF)), st.dictionaries(_WORDS, _JSON, max_size=4))
def test_rules_never_fail_on_arbitrary_data(kind: str, data: dict[str, Any]) -> None:
    """An object of a known kind may hold anything."""
    item = Resource({**data, "apiVersion": f"{GROUP_OF[kind]}/v1".lstrip("/"), "kind": kind}, "a.yaml")

    found = run(ObjectSet([item], catalogue(), is_cluster=False))

    assert {rule.id for rule in RULES} >= {problem.id for problem in found}


@pytest.mark.slow
@settings(max_examples=share(100))
@given(_JSON)
def test_ignore_file_never_fails(data: Any) -> None:
    """Whatever an ignore file holds, it is read or reported."""
    text = "ignore:\n- " + repr(data).replace("'", '"')

    ignores = read_ignores(text, ".slicewright-ignore.yaml", ["TPU101"])

    assert suppress((), (), ()) == () or ignores
