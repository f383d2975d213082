"""Prices of the user: what is read of them, and what the chips cost by them."""

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.cli.report.rehearsal_output import render_page
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.comparison import measured
from slicewright.rehearse.model.metrics import Usage
from slicewright.rehearse.model.prices import PoolPrice, PoolPrices, Prices, cost, of_pools, read_prices
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.report.tables import spending, spending_of
from slicewright.rendering.io.package_data import package

from .kit import pod

HOUR = 3600.0
CLUSTER = """
    pools:
    - {name: standing, tpu: v5litepod-8}
    - {name: spot, tpu: v6e-8, provisioning: Spot}
    - {name: flex, tpu: v6e-8, provisioning: FlexStartQueued}
"""


def read(text: str) -> Prices | tuple[Problem, ...]:
    """Return the prices of a text."""
    (document,), _ = read_documents(text, "prices.yaml")
    return read_prices(
        Source(SourceFile("prices.yaml", text), document), package().schemas, package().catalogue
    )


def test_prices_are_by_accelerator_and_way() -> None:
    """Without a way it is the price on demand alone: spot nodes have another one."""
    text = "currency: EUR\nprices:\n- {accelerator: v5e, perChipHour: 2}\n"
    text += "- {accelerator: v6e, provisioning: Spot, perChipHour: 1.5}\n"

    assert Prices("EUR", {("v5e", "OnDemand"): 2.0, ("v6e", "Spot"): 1.5}) == read(text)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("[{accelerator: v5e, perChipHour: -1}]",
         ["prices.yaml:2:42: IN005 'perChipHour' must be at least 0, not -1"]),
        ("[{accelerator: v5, perChipHour: 1}]", ["prices.yaml:2:24: IN004 'accelerator' cannot be 'v5'"]),
        ("[{accelerator: v5e, perChipHour: 1}, {accelerator: v5e, provisioning: OnDemand, perChipHour: 1}]",
         ["prices.yaml:2:60: IN006 v5e, OnDemand has another price above"]),
    ],
    ids=["below zero", "unknown", "twice"],
)  # fmt: skip
def test_wrong_price_is_told_at_its_line(entries: str, expected: list[str]) -> None:
    """Whatever the schema has against it, an accelerator that there is not, and two prices for one thing."""
    found = read(f"currency: EUR\nprices: {entries}")

    assert isinstance(found, tuple)
    assert expected == [one.text().partition("\n")[0] for one in found]


def test_pool_has_the_price_of_its_way(tmp_path: Path) -> None:
    """Queued flex-start nodes have the price of flex-start; what is not in the file has none."""
    repo = Repo(tmp_path)
    repo.cluster(spec=CLUSTER)
    site = read_checkout(repo.root).repository.sites["c1"]
    prices = Prices("EUR", {("v5e", "OnDemand"): 2.0, ("v6e", "FlexStart"): 1.5})

    assert PoolPrices(
        "EUR",
        {
            "standing": PoolPrice("v5e", "OnDemand", 2.0),
            "spot": PoolPrice("v6e", "Spot", None),
            "flex": PoolPrice("v6e", "FlexStart", 1.5),
        },
    ) == of_pools(prices, site)


def hours(pool: str, used: float, lost: float, startup: float, idle: float) -> dict[str, Any]:
    """Return the chip-hours of a pool."""
    return {
        "pool": pool,
        "available": used + idle,
        "used": used,
        "lost": lost,
        "startup": startup,
        "idle": idle,
    }


THREE = PoolPrices(
    "EUR",
    {
        "a": PoolPrice("v5e", "OnDemand", 2.0),
        "b": PoolPrice("v6e", "OnDemand", 0.5),
        "c": PoolPrice("v6e", "Spot", None),
    },
)


def test_costs_are_added_up_and_what_has_no_price_is_left_out() -> None:
    """10 x 2 + 4 x 0.5 = 22 used; of pool c nothing is known, and that is not 0."""
    rows = [hours("a", 10, 3, 1, 5), hours("b", 4, 0, 0, 8), hours("c", 7, 7, 0, 0)]
    made = cost(rows, THREE)

    assert {"used": 22.0, "lost": 6.0, "startup": 2.0, "idle": 14.0} == made["total"]
    assert [20.0, 2.0, None] == [row["used"] for row in made["pools"]]


def test_nothing_priced_has_no_total() -> None:
    """A sum of nothing is not free."""
    made = cost([hours("c", 7, 7, 0, 0)], THREE)

    assert dict.fromkeys(("used", "lost", "startup", "idle")) == made["total"]


def test_table_of_costs_names_what_has_no_price() -> None:
    """In its row, and in that of the sum, by variant; a variant without prices has no rows."""
    rows = [hours("a", 10, 3, 1, 5), hours("c", 7, 7, 0, 0)]
    priced = {"name": "base", "chipHours": rows, "cost": cost(rows, THREE)}
    bare = {"name": "bare", "chipHours": rows[:1], "cost": None}
    chips, costs = spending([priced, bare], named=True)

    assert (
        ("a", "15.0", "10.0", "3.0", "1.0", "5.0", "base"),
        ("a", "15.0", "10.0", "3.0", "1.0", "5.0", "bare"),
        ("c", "7.0", "7.0", "7.0", "0.0", "0.0", "base"),
    ) == chips.rows
    assert (
        ("a", "2 EUR", "20.00 EUR", "6.00 EUR", "2.00 EUR", "10.00 EUR", "base"),
        ("c", "no price for v6e, Spot", "?", "?", "?", "?", "base"),
        ("all but c (v6e, Spot)", "-", "20.00 EUR", "6.00 EUR", "2.00 EUR", "10.00 EUR", "base"),
    ) == costs.rows
    assert ("pool", "a chip-hour", "used", "lost by restarts", "in startup", "idle", "variant") == costs.head


def report(prices: PoolPrices | None) -> Report:
    """Return a rehearsal in which a pod with four chips ran from the first hour to the second, its last."""
    used = Usage("a", 4, ((0.0, 0), (HOUR, 4)))
    return Report(
        "c1",
        1.0,
        2 * HOUR,
        interrupted=False,
        pools=(used,),
        events=(pod(HOUR, "x"),),
        pool_of={"np-0": "a"},
        prices=prices,
    )


def test_cost_is_in_the_record_on_the_page_and_in_variants() -> None:
    """4 chips idle for an hour, then at work for one, at 2 each: 8 and 8. Several pools have one sum."""
    record = report(THREE).record()
    table = next(iter(made for made in spending_of(report(THREE)) if made.title == "cost"))

    assert {"used": 8.0, "lost": 0.0, "startup": 0.0, "idle": 8.0} == record["measures"]["cost"]["total"]
    assert (("a", "2 EUR", "8.00 EUR", "0.00 EUR", "0.00 EUR", "8.00 EUR"),) == table.rows
    shown = render_page([record])
    assert "8.00 EUR" in shown
    assert "8.00 EUR" not in render_page([report(None).record()])
    assert record["measures"]["cost"] == measured("base", [], [record, record])["cost"]


def test_plain_rehearsal_tells_no_chip_hours_in_its_text() -> None:
    """Where nothing was lost and nobody gives prices; the page and the JSON have them."""
    assert [] == list(spending_of(report(None)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("currency: EUR\nprices: [{accelerator: v9, perChipHour: 1}]", "IN004 'accelerator' cannot be 'v9'"),
        ("currency: EUR\n---\ncurrency: USD", "IN007 a file of prices holds one document"),
        ("currency: [", "YAML001"),
        ("\udcff", "FILE002"),
    ],
    ids=["accelerator", "documents", "syntax", "not UTF-8"],
)
def test_wrong_file_of_prices_ends_the_command(empty: Repo, text: str, said: str) -> None:
    """Before anything is played."""
    empty.cluster(spec=CLUSTER)
    path = empty.root / "prices.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    assert said in empty.run("rehearse", "c1", "--prices", str(path), code=1).err
