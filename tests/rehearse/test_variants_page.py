"""The HTML page of variants, as text."""

import re
from typing import Any

from slicewright.cli.report.rehearsal_output import render_variants
from slicewright.rehearse.model.comparison import Group, Noise

from .test_page import _Reader
from .test_variants_text import full

NOISE = Noise(10.0)
SPANS = [{"state": "queued", "start": 0.0, "end": 600.0}, {"state": "running", "start": 600.0, "end": 1200.0}]


def variants() -> list[dict[str, Any]]:
    """Return a base and a variant whose run starts at once."""
    made = []
    for name, wait, spans in (
        ("base", 600.0, SPANS),
        ("more", 5.0, [{**SPANS[1], "start": 5.0, "end": 605.0}]),
    ):
        variant = full(name, wait=wait)
        for row in variant["workloads"]:
            row["states"] = spans
        verdict = "" if name == "base" else "pretrain starts 9m55s earlier"
        problems = [{"id": "REH001", "severity": "error", "message": "x never ran"}] if name == "base" else []
        made.append({**variant, "verdict": verdict, "problems": problems})
    return made


def test_page_is_well_formed_and_loads_nothing() -> None:
    """Elements are closed in order, ids are unique, and there is no script and no address."""
    text = render_variants([Group(variants(), NOISE), Group(variants(), NOISE)])
    read = _Reader(text)
    ids = read.all("id")

    assert ([], []) == (read.wrong, read.open)
    assert len(set(ids)) == len(ids)
    assert [] == re.findall(r"<script|https?:|//[a-z]|@import|url\((?!#)", text)


def test_runs_of_all_variants_are_on_one_axis() -> None:
    """600 seconds are half of the width in each of them, for the longest has 1,200."""
    text = render_variants([Group(variants(), NOISE)])
    widths = re.findall(r'<rect class="running" x="([^"]+)" y="[^"]+" width="([^"]+)"', text)

    assert [("50%", "50%"), ("0.42%", "50%")] * 2 == widths


def test_page_has_verdict_tables_and_problems() -> None:
    """The problem with the name of its variant; the tables have the variant in front."""
    words = " ".join(" ".join(_Reader(render_variants([Group(variants(), NOISE)])).words).split())

    for told in (
        "pretrain starts 9m55s earlier",
        "base: REH001 x never ran",
        "started at 5.0s",
        "What if: c1",
    ):
        assert told in words
    assert "Variant Queue Runs" in " ".join(words.title().split())


def test_variants_without_runs_have_a_page() -> None:
    """And no run that never started is said to have."""
    nothing = {**variants()[0], "workloads": [], "problems": []}
    never = full("never", wait=None)

    text = render_variants([Group([nothing, {**never, "problems": [], "verdict": ""}], NOISE)])

    assert ([], []) == (_Reader(text).wrong, _Reader(text).open)
    assert "Problems" not in text


def test_runs_of_a_sweep_are_together_for_each_variant() -> None:
    """In order of their starts, because entries are interchangeable; a variant has a short name."""
    made = []
    for name in ("base", "pools.v5e.slices=+1"):
        rows = [
            {**row, "name": f"team/s-{at}", "sweep": "team/s", "started": start, "states": SPANS}
            for at, start in enumerate((600.0, None, 5.0))
            for row in full(name, wait=0.0)["workloads"][:1]
        ]
        changes = [name] if "=" in name else []
        made.append({**full(name, wait=0.0), "workloads": rows, "changes": changes, "problems": []})
    words = " ".join(_Reader(render_variants([Group(made, NOISE)])).words)
    at = words.index("sweep team/s (3 runs)")

    assert ["5.0s", "10m00s"] * 2 == re.findall(r"started at (\S+)", words[at : words.index("Runs", at)])
    assert "slices=+1" in words
    assert "pools.v5e" not in words


def test_what_people_wrote_stays_text() -> None:
    """Also in the name of a variant and in a verdict."""
    evil = "<script>alert(1)</script>"
    poisoned = [{**variant, "name": evil, "verdict": evil, "cluster": evil} for variant in variants()]

    assert "<script" not in render_variants([Group(poisoned, NOISE)])
