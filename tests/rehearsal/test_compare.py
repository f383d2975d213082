"""`slicewright rehearse --compare`: two earlier outputs, without a play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slicewright.rehearsal.model.usage import Usage
from slicewright.rehearsal.report.report import Report

from .kit import ran

if TYPE_CHECKING:
    from tests.conftest import Repo


def report(start: float, cluster: str = "c1") -> Any:
    """Return the record of a rehearsal in which a run starts at a time."""
    timelines = (("default/a", ran("default/a-12345678", (start, start + 600.0))),)
    pools = (Usage("tpus", 8, ((0.0, 0), (start, 8), (start + 600.0, 0))),)
    nominal = {"cq": {"v5e": 8}}
    queue_of = {"default/a-12345678": "cq"}
    made = Report(cluster, 10.0, 2000.0, False, "", timelines, (), pools, nominal=nominal, queue_of=queue_of)  # noqa: FBT003
    return made.record()


def write(repo: Repo, name: str, *records: Any) -> str:
    """Write an output of rehearsals without variants."""
    return str(repo.root / repo.write(name, json.dumps({"rehearsals": records})))


def test_rehearsals_of_one_cluster_are_compared(empty: Repo) -> None:
    """In the tables and words of variants; nothing is played, and the page is written."""
    first, second = write(empty, "a.json", report(600.0)), write(empty, "b.json", report(0.0))
    page = empty.root / "page.html"
    done = empty.run("rehearse", "--compare", first, second, "--html", str(page))

    told = "the makespan is 10m00s shorter (10m00s, was 20m00s), a starts 10m00s earlier"
    assert f"c1: A ({first}) and B ({second}); time resolution 10s" in done.out
    assert f"  B: {second}: {told}" in done.out
    assert told in page.read_text("utf-8")


def test_output_of_a_comparison_can_be_compared(empty: Repo) -> None:
    """`-o json` is that of variants; each name is compared with itself."""
    first, second = write(empty, "a.json", report(600.0)), write(empty, "b.json", report(0.0))
    made = empty.run("rehearse", "--compare", first, second, "-o", "json")
    again = str(empty.root / empty.write("c.json", made.out))
    done = empty.run("rehearse", "--compare", again, again, "-o", "json")
    names = [variant["name"] for variant in made.json["variants"]]

    assert [first, second] == names
    assert [f"{again} {name}" for name in names for _ in range(2)] == [
        variant["name"] for variant in done.json["variants"]
    ]
    assert {"", f"{again} {first}: nothing changes by more than 1m00s, 6 times the time resolution"} <= {
        variant["verdict"] for variant in done.json["variants"]
    }


def test_base_of_variants_is_compared_with_the_rehearsal_of_its_cluster(empty: Repo) -> None:
    """So that what was asked yesterday can be held against what runs today."""
    first, second = write(empty, "a.json", report(600.0)), write(empty, "b.json", report(0.0))
    record = empty.run("rehearse", "--compare", first, first, "-o", "json").json
    record["variants"][0]["name"] = "base"
    asked = str(empty.root / empty.write("c.json", json.dumps(record)))

    assert "a starts 10m00s earlier" in empty.run("rehearse", "--compare", asked, second).out


@pytest.mark.parametrize("text", ["{", "{}", '{"rehearsals": []}', '{"variants": [{}]}', "[" * 100_000])
def test_file_that_is_not_an_output_is_refused(empty: Repo, text: str) -> None:
    """With how to write one."""
    first, other = write(empty, "a.json", report(600.0)), str(empty.root / empty.write("b.json", text))
    told = empty.run("rehearse", "--compare", first, other, code=2).err

    assert f"'{other}' is not an output of a rehearsal; write one with this version" in told


def test_outputs_without_a_common_name_are_refused(empty: Repo) -> None:
    """With the names that each of them has."""
    first, second = write(empty, "a.json", report(0.0)), write(empty, "b.json", report(0.0, "c2"))
    told = empty.run("rehearse", "--compare", first, second, code=2).err

    assert "have no cluster and no variant in common; the first has c1; the second c2" in told


def test_file_that_cannot_be_read_is_refused(empty: Repo) -> None:
    """Such as one that is not text."""
    first, other = write(empty, "a.json", report(0.0)), Path(empty.root / "b.json")
    other.write_bytes(b"\xff\xfe\x00")

    assert "FILE" in empty.run("rehearse", "--compare", first, str(other), code=2).err


def test_page_that_cannot_be_written_is_told(empty: Repo) -> None:
    """Before anything is compared."""
    first = write(empty, "a.json", report(0.0))
    page = str(empty.root / "none" / "page.html")

    assert "FILE003" in empty.run("rehearse", "--compare", first, first, "--html", page, code=1).err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["c1"], "CLUSTER"),
        (["--keep"], "--keep"),
        (["--prices", "p.yaml"], "--prices"),
        (["--repeat", "2"], "--repeat"),
    ],
)
def test_options_about_plays_are_refused(empty: Repo, arguments: list[str], option: str) -> None:
    """A comparison of outputs would leave them out without a word."""
    empty.write("p.yaml", "")
    same = write(empty, "a.json", report(600.0))
    arguments = [f"{empty.root}/{word}" if word == "p.yaml" else word for word in arguments]
    done = empty.run("rehearse", *arguments, "--compare", same, same, code=2)

    assert f"--compare plays nothing: leave out {option}" in done.err


def test_outputs_without_variants_have_nothing_in_common(empty: Repo) -> None:
    """That of --changed has none where nothing differs."""
    none = empty.write("a.json", json.dumps({"resolution": 0.0, "repetitions": 1, "variants": []}))
    done = empty.run("rehearse", "--compare", f"{empty.root}/{none}", f"{empty.root}/{none}", code=2)

    assert "the first has none; the second none" in done.err
