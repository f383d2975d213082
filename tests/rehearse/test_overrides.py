"""Time spans from the command line: whose they are, and which of them holds."""

import pytest
from msgspec.structs import replace

from slicewright.intent.source import Sweep
from slicewright.rehearse.model.clock import Override, overridden, read_override, unclear
from slicewright.rehearse.model.scenario_part import ScenarioPart

from .kit import part_of

KEYS = ("default/train", "team-a/eval", "team-b/eval")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", Override("", 90.0)),
        ("0s", Override("", 0.0)),
        ("train=1h30m", Override("train", 5400.0)),
        ("team-a/eval=2d", Override("team-a/eval", 172_800.0)),
        ("train=", None),
        ("=90s", None),
        ("train", None),
        ("90", None),
        ("", None),
    ],
)
def test_span_may_carry_the_name_of_a_workload(text: str, expected: Override | None) -> None:
    """Without one it is for all; what has no unit is none."""
    assert expected == read_override(text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", None),
        ("train", None),
        ("team-a/eval", None),
        ("trian", ("workload 'trian' is not part of this rehearsal", "did you mean 'train'?")),
        (
            "team-a/evil",
            ("workload 'team-a/evil' is not part of this rehearsal", "did you mean 'team-a/eval'?"),
        ),
        ("eval", ("'eval' may be one of 2 workloads: say which", "team-a/eval or team-b/eval")),
    ],
)
def test_name_means_one_workload(name: str, expected: tuple[str, str] | None) -> None:
    """A misspelt one comes with the nearest, one that several have with all of them."""
    assert expected == unclear([Override("train", 1.0), Override(name, 2.0)], KEYS)


def test_given_span_wins_over_the_file() -> None:
    """One for a workload goes before one for all, and among equals the later one holds."""
    parts = [part_of("{submitAt: 1m, duration: 1m}", name=name) for name in ("a", "b")]
    spans = [Override("default/a", 7.0), Override("", 3.0), Override("a", 9.0), Override("", 5.0)]

    assert [(9.0, 60.0), (5.0, 60.0)] == [
        (part.submit_at, part.duration) for part in overridden(parts, "submit_at", spans)
    ]
    assert [(60.0, 9.0), (60.0, 5.0)] == [
        (part.submit_at, part.duration) for part in overridden(parts, "duration", spans)
    ]


@pytest.mark.parametrize("of", ["lr-2", "lr/2", "default/lr-2", "default/lr/2"])
def test_name_of_a_sweep_means_all_its_entries(of: str) -> None:
    """A span for the sweep holds for each entry, and one for an entry goes before it."""
    alone = part_of("{duration: 1m}", name="lr")

    def entry(name: str) -> ScenarioPart:
        found = part_of("{duration: 1m}", name=f"lr-{name}")
        source = replace(found.workload.source, sweep=Sweep(alone.workload.source, name))
        return replace(found, workload=replace(found.workload, source=source))

    parts = [entry("1"), entry("2"), part_of("{duration: 1m}", name="other")]
    found = overridden(parts, "duration", [Override(of, 5.0), Override("lr", 3.0)])

    assert [3.0, 5.0, 60.0] == [part.duration for part in found]


def test_arrivals_have_the_times_of_their_profile() -> None:
    """A span for all workloads would let all of them arrive at one moment."""
    arriving = replace(part_of("submitAt: 3h"), profile="evening")

    assert (arriving,) == overridden([arriving], "submit_at", [Override("", 1.0)])
