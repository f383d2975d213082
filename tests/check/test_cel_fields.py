"""The fields that a CEL rule reads: the library gets no other, and all of a value where that is not clear."""

import pytest

from slicewright.check.cel import keeps, read_by

VALUE = {"a": {"b": 1, "c": 2}, "list": [{"x": 1, "y": {"z": 2}}, {"x": 3}, "text"], "map": {"x": {"y": 1}}}
LIST = VALUE["list"]


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("self.a.b == 1", {"a": {"b": 1}}),
        ("self . a\n. b == 1", {"a": {"b": 1}}),
        ("has(self.a) && self.a.b == 1", {"a": {"b": 1, "c": 2}}),
        ("self.a.b.size() == 1", {"a": {"b": 1}}),
        ("self.list.size() == 3", {"list": LIST}),
        ("size(self.list) == 3", {"list": LIST}),
        ("self.none == 1", {}),
        ("self == 1", VALUE),
        ("self['a'].b == 1", VALUE),
        ("self.list[0].x == 1", {"list": LIST}),
        ("self.list.all(i, i.x > 0)", {"list": [{"x": 1}, {"x": 3}, "text"]}),
        ("self.list.exists(i, has(i.y.z))", {"list": [{"y": {"z": 2}}, {}, "text"]}),
        ("self.list.all(i, i == 1)", {"list": LIST}),
        ("self.list.map(i, i.x).all(j, j == 1)", {"list": [{"x": 1}, {"x": 3}, "text"]}),
        ("self.list.filter(i, i.x > 1).all(i, i.y == 1)", {"list": LIST}),
        ("(self.list + []).all(i, i.x > 0)", {"list": LIST}),
        ("self.map.all(k, k == 'x')", {"map": {"x": {"y": 1}}}),
        ("self.list.all(i, i.x > 0) && self.a.all(i, i == 'b')", {"list": LIST, "a": {"b": 1, "c": 2}}),
    ],
)
def test_part_of_a_value_that_a_rule_reads(rule: str, part: object) -> None:
    """A loop reads what its variable reads of each element; all of a value is read by any other use."""
    assert part == read_by(rule).part_of(VALUE)


def test_elements_of_a_list_in_a_list() -> None:
    """Each loop reads the fields that its own variable reads."""
    value = {"groups": [{"name": "a", "flavors": [{"name": "b", "limit": 1}]}]}
    rule = "self.groups.all(g, g.flavors.all(f, has(f.limit)))"

    assert {"groups": [{"flavors": [{"limit": 1}]}]} == read_by(rule).part_of(value)
    assert keeps(rule, value) is True
