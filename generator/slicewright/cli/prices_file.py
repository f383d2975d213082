"""The file of `slicewright rehearse --prices`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.document.io import read_file
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.prices import Prices, read_prices

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.rendering.repository import Package


def prices_of(path: Path, package: Package) -> Prices:
    """Return the prices of a file, or end the command with its problems."""
    text = read_file(path, str(path))
    if isinstance(text, Problem):
        show.stop((text,))
    documents, problems = read_documents(text, str(path))
    if len(documents) != 1:
        message = "a file of prices holds one document"
        hint = "write one YAML document with currency and prices"
        show.stop(problems or (Problem("IN007", message, hint, file=str(path)),))
    source = Source(SourceFile(str(path), text), documents[0])
    prices = read_prices(source, package.schemas, package.catalogue)
    if not isinstance(prices, Prices):
        show.stop(prices)
    return prices
