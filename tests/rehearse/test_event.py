"""The JSON form of what happened."""

from slicewright.rehearse.model.event import Event


def test_record_leaves_out_what_does_not_apply() -> None:
    """An event without anything has its time and its kind."""
    full = Event(1.234, "reserved", "default/a", queue="cq", flavors=(("v5e", 8),))

    assert {"at": 0.0, "kind": "submitted"} == Event(0.0, "submitted").record()
    assert full.record() == {
        "at": 1.23,
        "kind": "reserved",
        "run": "default/a",
        "clusterQueue": "cq",
        "flavors": {"v5e": 8},
    }
