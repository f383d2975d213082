"""Waiting: a deadline that a busy machine puts off, and that a failure does not."""

import os

import pytest

from slicewright.testbed import waiting
from slicewright.testbed.waiting import BedError


@pytest.mark.parametrize(("load", "seconds"), [(0.5, 60), (2.0, 60), (15.0, 450), (99.0, 600)])
def test_deadlines_grow_with_the_load(load: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each processor that several processes want makes everything take as many times longer, up to ten."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))

    assert seconds == waiting.stretched(60)


def test_deadline_that_passes() -> None:
    """What does not come in time is named, with the last error and the time that was waited in truth."""

    def refuse() -> bool:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(BedError, match=r"BED003 the moon took longer than \d s: nobody listens"):
        waiting.until("the moon", refuse, seconds=0.1)


def test_failure_shows_at_once() -> None:
    """While a deadline is far, what makes waiting pointless ends it."""

    def ended() -> None:
        raise LookupError("etcd ended")

    with pytest.raises(LookupError, match="etcd ended"):
        waiting.until("the moon", lambda: False, seconds=600, check=ended)
