"""HCL is written as OpenTofu lays it out, and means what it was made from."""

import base64
import json
import textwrap
import unicodedata
from typing import Any

import hcl2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicewright.rendering.provision.hcl import (
    Attribute,
    Block,
    Call,
    Comment,
    Expression,
    Item,
    Value,
    block,
    quoted,
    text,
)

from .opentofu import tofu

WORDS = st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True).filter(
    lambda word: word not in {"for", "null", "true", "false"} and not word.endswith("-")
)
PLAIN: st.SearchStrategy[Value] = st.one_of(
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.just(Expression("var.region")),
    st.none(),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(WORDS, st.just("a.b/c")), inner, max_size=4),
        st.builds(Call, st.just("jsonencode"), inner),
    ),
    max_leaves=8,
)


def bodies(depth: int = 2) -> st.SearchStrategy[tuple[Item, ...]]:
    """Return what may stand in a block."""
    item: st.SearchStrategy[Item] = st.builds(Attribute, WORDS, VALUES)
    if depth:
        item = st.one_of(
            item,
            st.builds(Block, WORDS, st.lists(WORDS, max_size=2).map(tuple), bodies(depth - 1)),
            st.builds(Comment, st.just("why")),
        )
    return st.lists(item, max_size=5, unique_by=_name).map(tuple)


def _name(item: Item) -> object:
    """Return what a body may hold only once: the name of an attribute; anything else is another thing."""
    return item.name if isinstance(item, Attribute) else object()


def test_layout() -> None:
    """Equals signs align in runs of one-line values, blocks stand apart, long lists break."""
    made = text(
        (
            Comment("Why."),
            block(
                *("resource", "google_thing", "one"),
                name="a",
                for_each=Call("toset", ["a", "b"]),
                labels={"cloud.google.com/x": "1", "plain": True, "none": None},
                zones=["us-central2-b" * 4, "us-central2-c" * 4],
                left_out=None,
                count=3,
                body=[block("nested"), Attribute("last", Expression("var.x")), Attribute("empty", {})],
            ),
            block("nothing"),
        )
    )
    expected = """\
        # Why.
        resource "google_thing" "one" {
          name     = "a"
          for_each = toset(["a", "b"])
          labels = {
            "cloud.google.com/x" = "1"
            plain                = true
            none                 = null
          }
          zones = [
            "us-central2-bus-central2-bus-central2-bus-central2-b",
            "us-central2-cus-central2-cus-central2-cus-central2-c",
          ]
          count = 3

          nested {}

          last  = var.x
          empty = {}
        }

        nothing {}
        """
    assert textwrap.dedent(expected) == made


@pytest.mark.workflow
@given(st.lists(bodies(), min_size=12, max_size=12))
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_any_body_is_formatted_as_opentofu_formats_it(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[Item, ...]]
) -> None:
    """`tofu fmt` finds nothing to change, whatever is written."""
    folder = tmp_path_factory.mktemp("hcl")
    for number, body in enumerate(made):
        (folder / f"{number}.tf").write_text(text(body), encoding="utf-8")
    done = tofu(folder, "fmt", "-check", "-diff", check=False)
    assert (0, "") == (done.returncode, done.stdout), done.stderr


@pytest.mark.workflow
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=30, max_size=30))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_any_string_means_itself(tmp_path_factory: pytest.TempPathFactory, strings: list[str]) -> None:
    """OpenTofu reads a quoted string as the string that it was: no interpolation, no directive, no escape."""
    edges = [
        "$${x}",
        "${var.x}",
        "$",
        "$$",
        "$$${",
        "%{ if true }",
        "%%{",
        "$%{",
        "\\${",
        '"',
        "\n\t\r",
        "\x00",
    ]
    wanted = [*edges, *strings]
    folder = tmp_path_factory.mktemp("hcl")
    expression = f"base64encode(jsonencode([{', '.join(map(quoted, wanted))}]))"
    done = tofu(folder, "console", stdin=f"{expression}\n")
    read: list[str] = json.loads(base64.b64decode(done.stdout.strip().strip('"')))
    # OpenTofu holds every string in Unicode's normal form C
    assert [normal(item) for item in wanted] == read


def test_what_an_editor_would_not_show_is_escaped() -> None:
    """A reader of the file sees that the direction of writing changes, or that a line seems to end."""
    assert quoted("a\u202eb\u2028c\u2066\x85") == '"a\\u202eb\\u2028c\\u2066\\u0085"'


def normal(item: str) -> str:
    """Return a string in the normal form in which OpenTofu holds it."""
    return unicodedata.normalize("NFC", item)


@pytest.mark.slow
def test_parsers_read_it_back() -> None:
    """python-hcl2 reads blocks, labels and values as they were written."""
    made = text((block("resource", "a", "b", n=1, ok=True, body=[block("deep", s="x", l=[1, 2])]),))
    read: dict[str, Any] = hcl2.loads(made)
    (resource,) = read["resource"]
    of_b = resource['"a"']['"b"']
    assert (1, True) == (of_b["n"], of_b["ok"])
    assert {"s": '"x"', "l": [1, 2]} == {key: of_b["deep"][0][key] for key in ("s", "l")}
