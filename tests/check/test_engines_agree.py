"""One corpus, two engines, the same schema verdict on every object."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.check.kit import engine, jobset
from tests.properties import share
from tests.schema.kit import kubeconform

from slicewright.check.io.discovery import of_overlays
from slicewright.check.io.load import load
from slicewright.objects import Resource

pytestmark = pytest.mark.tools

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "check" / "objects.yaml"
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-1e9, 1e9),
    st.sampled_from(["", "a", "A b", "16GB", "100m", "Always", "x" * 300, "2026-01-31T12:00:00Z", "a\n"]),
    st.sampled_from([[], {}, [None], ["a", "a"], {"a": None}, {"a": 1}, {"a b": "c"}]),
)


def overlays() -> list[dict[str, Any]]:
    """Return the objects of every overlay of this repository."""
    return [document.data for unit in of_overlays(ROOT) for document in load(unit).documents]


@cache
def valid() -> list[dict[str, Any]]:
    """Return a valid object of most kinds that have a schema."""
    return list(yaml.load_all(FIXTURES.read_text(encoding="utf-8"), yaml.CSafeLoader))


def places(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to each value in an object, below its apiVersion and kind."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    below = [place for key, part in pairs for place in places(part, (*way, key))]
    return [*([way] if way and way[0] not in ("apiVersion", "kind") else []), *below]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a valid object with a value changed, removed, added or moved."""
    data: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(valid())))
    way = draw(st.sampled_from(places(data)))
    holder: Any = data
    for key in way[:-1]:
        holder = holder[key]
    match draw(st.sampled_from(["change", "remove", "add", "repeat"])):
        case "change":
            holder[way[-1]] = draw(VALUES)
        case "remove":
            del holder[way[-1]]
        case "add" if isinstance(holder, dict):
            holder[f"{way[-1]}x"] = draw(VALUES)
        case _ if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[0]))
    return data


def verdicts(objects: list[dict[str, Any]]) -> list[bool]:
    """Return whether our engine accepts each object."""
    return [engine().verdict(Resource(data, "file.yaml")) == "accepted" for data in objects]


@pytest.mark.ci
def test_engines_agree_on_overlays_and_fixtures() -> None:
    """Every overlay and every valid fixture is accepted by both."""
    good = [*overlays(), *valid(), jobset()]
    assert [None] * len(good) == kubeconform().ask(good)
    assert [True] * len(good) == verdicts(good)


@pytest.mark.ci
def test_engines_agree_on_mutations() -> None:
    """A value changed, removed, added or repeated anywhere in a valid object gets one verdict from both."""
    drawn: list[dict[str, Any]] = []

    @seed(1)
    @settings(
        max_examples=share(700),
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated())
    def draw(data: dict[str, Any]) -> None:
        drawn.append(data)

    draw()
    ours = verdicts(drawn)
    theirs = [answer is None for answer in kubeconform().ask(drawn)]
    differing = [data for data, one, other in zip(drawn, ours, theirs, strict=True) if one != other]
    assert differing == []
    assert {True, False} == set(ours)
