"""`slicewright catalog`: accelerators, machine types and topologies, with their sources."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from slicewright.cli.main import cli
from slicewright.rendering.io.package_data import catalogue

KEYS = {
    "generation",
    "accelerator",
    "machineType",
    "topology",
    "tier",
    "names",
    "chips",
    "chipsPerHost",
    "hosts",
    "tensorCores",
    "multiHost",
    "pathwaysInstanceType",
    "flexStart",
    "multislice",
    "hostBounds",
    "chipsPerHostBounds",
    "wrap",
    "exceedsDocumentedMax",
    "zones",
    "sources",
}


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command outside of any repository."""
    done = CliRunner().invoke(cli, ["catalog", *arguments], prog_name="slicewright", catch_exceptions=False)
    assert code == done.exit_code, done.output
    return done.stdout, done.stderr


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Return the rows of the JSON form."""
    found: list[dict[str, Any]] = json.loads(run(*arguments, "-o", "json")[0])
    return found


def test_every_listed_row_is_shown() -> None:
    """The default is what is published: 239 rows, each the catalogue's record with the documented keys."""
    found = rows()

    assert len(found) == 239
    assert [shape.record() for shape in catalogue().rows("listed")] == found
    assert all(row.keys() >= KEYS for row in found)


def test_machine_types_are_listed_first() -> None:
    """Without a name, each machine type is a line that counts its shapes; the JSON form has every shape."""
    out, err = run()
    head, *lines = (re.split(r"  +", line) for line in out.splitlines())

    machines = dict.fromkeys(row["machineType"] for row in rows())
    assert list(machines) == [line[2] for line in lines]
    assert 239 == sum(int(line[3]) for line in lines)
    assert ["FLEX-START", "MULTISLICE", "PATHWAYS", "SUCH AS"] == head[5:]
    fields = [
        "v5e",
        "tpu-v5-lite-podslice",
        "ct5lp-hightpu-4t",
        "7",
        "4 to 256",
        "yes",
        "some",
        "yes",
        "v5litepod-256",
    ]
    assert fields in lines
    assert "slicewright catalog NAME lists shapes of a generation, accelerator or machine type\n" == err


@pytest.mark.slow
def test_tiers_are_disjoint_and_all_is_both() -> None:
    """`rule` is what only the rule of a generation makes."""
    listed, rule, both = rows(), rows("--tier", "rule"), rows("--tier", "all")

    assert {"listed"} == {row["tier"] for row in listed}
    assert {"rule"} == {row["tier"] for row in rule}
    assert len(listed) + len(rule) == len(both)


@pytest.mark.parametrize(
    ("name", "field"),
    [("v5e", "generation"), ("tpu-v5-lite-podslice", "accelerator"), ("ct5lp-hightpu-4t", "machineType")],
)
def test_name_of_a_generation_accelerator_or_machine_type(name: str, field: str) -> None:
    """Each of them stands for its rows."""
    assert [row for row in rows() if row[field] == name] == rows(name)


def test_name_of_a_tpu_shows_what_else_has_its_count() -> None:
    """v5litepod-8 is 2x4 on two hosts, and the one host of eight chips is named beside it."""
    assert [(row["topology"], row["machineType"]) for row in rows("v5litepod-8")] == [
        ("2x4", "ct5lp-hightpu-4t"),
        ("2x4", "ct5lp-hightpu-8t"),
    ]


def test_table_has_a_line_for_each_row() -> None:
    """Columns are aligned; what cannot be named says how it is asked for."""
    out, err = run("v6e")

    lines = out.splitlines()
    head = "NAME MACHINE TYPE TOPOLOGY CHIPS HOSTS FLEX-START MULTISLICE PATHWAYS NOTES"
    assert head == " ".join(lines[0].split())
    assert "(v6e-8)" in out
    assert "name it by topology and machine type" in out
    assert len(rows("v6e")) + 1 == len(lines)
    assert err == ""


def test_notes_say_what_is_unlisted_or_very_large() -> None:
    """Nobody is surprised by a shape that needs allowUnlisted."""
    assert "only by the rule: allowUnlisted" in run("v5p", "--tier", "rule")[0]
    assert "larger than the documented maximum" in run("v5p")[0]


@pytest.mark.parametrize(
    ("name", "expected"), [("v5litepod-7", "TPU005"), ("v9", "TPU001"), ("v5p-4x4x16", "TPU006")]
)
def test_unknown_name_is_a_usage_error(name: str, expected: str) -> None:
    """Exit 2 with the refusal of the catalogue and the nearest names."""
    out, err = run(name, code=2)

    assert out == ""
    assert f"Error: {expected} " in err
    assert "\n  hint: " in err


def test_unlisted_name_is_found_in_its_tier() -> None:
    """`--tier all` looks further, and shows what else has its count."""
    found = [(row["topology"], row["tier"]) for row in rows("v5p-4x4x16", "--tier", "all")]

    assert found == [("4x4x16", "rule"), ("4x8x8", "listed")]


def test_tier_is_one_of_three() -> None:
    """As click says it."""
    assert "'none' is not one of 'listed', 'rule', 'all'" in run("--tier", "none", code=2)[1]
