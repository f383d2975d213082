"""The catalogue that ships, and the list that it is held against."""

import csv
from pathlib import Path

import pytest
import yaml

import slicewright
from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.parse import FILES, read_catalogue

DATA = Path(slicewright.__file__).parent / "catalog"


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """The data files as they are written."""
    return {file: (DATA / file).read_text(encoding="utf-8") for file in FILES}


@pytest.fixture(scope="session")
def catalogue(texts: dict[str, str]) -> Catalogue:
    """The catalogue that ships."""
    return read_catalogue({file: yaml.load(text, Loader=yaml.CSafeLoader) for file, text in texts.items()})


@pytest.fixture(scope="session")
def listed() -> list[dict[str, str]]:
    """The rows that published lists have, collected apart from the data files."""
    with (Path(__file__).parent / "listed.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
