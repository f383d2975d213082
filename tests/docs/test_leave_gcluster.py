"""The page for people who come from gcluster: each flag has the field that the import writes."""

import re
from pathlib import Path

from slicewright.cluster.importing.gcluster import OPTIONS
from slicewright.cluster.importing.gcluster_names import Slice, field_of, slice_of
from slicewright.rendering.io.package_data import catalogue

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "leave-gcluster.md").read_text(encoding="utf-8")
ROWS = [
    (re.findall(r"`--([a-z-]+)`", flags), fields)
    for flags, fields in re.findall(r"^\| (`--[^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
]
NAMES = re.findall(
    r"^\| `([^`]+)`(?: with `--topology ([^`]+)`)? \| (\d+)[^|]* \| `([^`]+)` \|", PAGE, re.MULTILINE
)


def test_every_flag_is_on_the_page_once() -> None:
    """The table has the flags that the import knows."""
    shown = [flag for flags, _ in ROWS for flag in flags]

    assert sorted(option.name for option in OPTIONS) == sorted(shown)


def test_each_flag_has_its_field_or_none() -> None:
    """A row names the field of the import, or says that there is none or that the flag is refused."""
    row_of = {flag: fields for flags, fields in ROWS for flag in flags}

    for option in OPTIONS:
        fields = row_of[option.name]
        if option.becomes:
            assert option.becomes in fields, option.name
        else:
            assert fields.startswith("refused" if option.refused else "none:"), option.name


def test_names_mean_what_the_page_says() -> None:
    """Chips and fields of the table are those of the import."""
    assert 6 == len(NAMES)
    for name, topology, chips, written in NAMES:
        found = slice_of(name, topology, catalogue())
        assert isinstance(found, Slice)
        field = field_of(found.shape, catalogue())
        shown = (
            field if isinstance(field, str) else ", ".join(f"{key}: {value}" for key, value in field.items())
        )
        assert (int(chips), written.strip("{}")) == (found.shape.chips, shown)
