"""The pages that the site gets when it is built: one a command, one an id, with what the program prints."""

import html
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from markdown import markdown
from msgspec.structs import replace
from website import commands, fields, inputs, rules
from website.markdown import escaped

from slicewright.check.io.meaning import FIXES, all_rules, rule_subjects, subjects
from slicewright.cli.main import GROUPS, cli

_BLOCK = re.compile(r'^```(?:yaml title="([^"\n]+)"|text)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMANDS = [name for group in GROUPS.values() for name in group]


def test_each_command_has_a_page() -> None:
    """The pages are the commands of `slicewright --help`, and the index lists them."""
    made = dict(commands.pages())

    assert [f"reference/commands/{name}.md" for name in COMMANDS] == list(made)
    assert COMMANDS == re.findall(r"^\| \[`slicewright \w+`\]\((\w+)\.md\)", commands.index(), re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_page_of_a_command_has_its_options_and_examples(name: str) -> None:
    """What `--help` prints is on the page: each option, and each example."""
    page = dict(commands.pages())[f"reference/commands/{name}.md"]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    of_group = command.commands.values() if isinstance(command, click.Group) else ()

    for one in (command, *of_group):
        options = {option.opts[-1] for option in one.params if isinstance(option, click.Option)}
        examples = re.findall(r"^  (slicewright .*)$", one.epilog or "", re.MULTILINE)
        assert [] == [text for text in (*options, *examples) if text not in page]


@pytest.mark.slow
@pytest.mark.parametrize("ident", ["TPU119", pytest.param("KUS102", marks=pytest.mark.tools)])
def test_input_of_a_page_has_the_output_of_the_page(tmp_path: Path, ident: str) -> None:
    """Whoever copies the files of a page and validates them reads the lines of the page, among others."""
    subject, one = next((at, one) for at in rule_subjects() for one in at.meanings if one.id == ident)
    blocks = _BLOCK.findall(rules.page(one, subject, *inputs.of_rule(ident)))
    for path, text in blocks[:-1]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    path = blocks[0][0]
    target = path.rpartition("/")[0] or path

    done = subprocess.run(
        [sys.executable, "-m", "slicewright", "validate", target],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert blocks[-1][1]
    assert blocks[-1][1] in done.stdout


@pytest.mark.workflow
@pytest.mark.slow
def test_each_id_has_a_page_and_each_rule_an_output() -> None:
    """No id is without a page; an input on a page makes the program print the id."""
    made = dict(rules.pages())
    of_rules = [one.id for subject in rule_subjects() for one in subject.meanings]
    with_input = of_rules + [
        one.id for subject in subjects() for one in subject.meanings if inputs.example(one)
    ]
    outputs = {
        ident: blocks[-1]
        for ident in with_input
        if len(blocks := _BLOCK.findall(made[f"reference/rules/{ident}.md"])) > 1
    }

    assert {f"reference/rules/{one.id}.md" for one in all_rules()} == set(made)
    assert with_input == list(outputs)
    assert [] == [ident for ident, (_, output) in outputs.items() if f"{ident} " not in output]


def page_of(text: str) -> str:
    """Return the HTML of a Markdown text."""
    return str(markdown(text, extensions=["attr_list", "tables"]))


def shown(text: str) -> str:
    """Return the words that a browser shows of a Markdown text."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", page_of(text))).split())


def said(text: str) -> str:
    """Return the words of a plain text: backticks are its only markup."""
    return " ".join(text.replace("`", "").split())


@pytest.mark.parametrize(
    "text", ["<a>-<b> &lt; c", "A_* and B_*, *c*, _d_ e_f", "[a](b) | `<x> *y* _z_`", r"\*a\*"]
)
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    """Nothing outside backticks is a tag, an entity, emphasis, a link or a border, in a cell too."""
    assert said(text) == shown(escaped(text))
    assert f"a b 1 {said(text)}" == shown(f"| a | b |\n| --- | --- |\n| 1 | {escaped(text)} |\n")


@pytest.mark.slow
def test_page_of_an_id_shows_the_words_of_its_texts() -> None:
    """Of every id: title, reason, what to do, and sources."""
    for subject in (*rule_subjects(), *subjects()):
        for one in subject.meanings:
            looks_at = f" of {', '.join(one.kinds)}" if one.kinds else ""
            texts = [
                f"{one.id}: {one.title}",
                f"{subject.title} · {one.level}{looks_at}",
                one.why,
                f"What to do: {one.hint}.",
                *([f"Mended by slicewright {FIXES[one.fix]}, where it can."] if one.fix else ()),
                *(["Sources", *one.sources] if one.sources else ()),
            ]
            page = rules.page(replace(one, example=""), subject, {}, "")
            assert " ".join(map(said, texts)) == shown(page), one.id


@pytest.mark.slow
def test_descriptions_of_fields_and_commands_bring_no_markup() -> None:
    """The pages have the tags of their own tables, lists and links alone, and lose no word in brackets."""
    tags = {"h1", "h2", "h3", "p", "pre", "code", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    made = {**fields.pages(), "index": commands.index(), **dict(commands.pages())}
    found = {
        name: set(re.findall(r"<(\w+)", page_of(re.sub(r"```\w+\n.*?```", "", text, flags=re.DOTALL))))
        for name, text in made.items()
    }

    assert {"a", "em"} == set().union(*found.values()) - tags
    assert "Default: failurePolicyRule<index>." in shown(made["tpuworkload.md"])


def test_index_lists_every_id() -> None:
    """Each id is a row of the table of its subject."""
    listed = re.findall(r"^\| \[(\w+)\]\(\1\.md\)", rules.index(), re.MULTILINE)

    assert [one.id for one in all_rules()] == sorted(listed)
