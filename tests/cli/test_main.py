"""The entry point: names, help, completion, colours, and how fast it starts."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from tests.conftest import Repo

from slicewright import __version__
from slicewright.cli import main, show
from slicewright.kubernetes.problem import Problem

HEAVY = ("yaml", "jsonschema_rs", "msgspec")
# The packages that the command line needs before it knows its command.
START = {"cli", "documentation", "environ", "version"}
HEAVY_NAMES = (
    f"[name for name in sys.modules if name.startswith({HEAVY!r})"
    f" or name.startswith('slicewright.') and name.split('.')[1] not in {START!r}]"
)


def invoke(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command line in process."""
    done = CliRunner().invoke(main.cli, arguments, prog_name="slicewright", catch_exceptions=False)
    assert code == done.exit_code, done.output
    return done.stdout, done.stderr


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], []])
def test_start_imports_nothing_heavy(arguments: list[str]) -> None:
    """Neither YAML nor schemas nor the catalogue are loaded to say the version or to help."""
    code = (
        "import sys\nfrom slicewright.cli.main import cli\n"
        f"try:\n    cli({arguments!r}, prog_name='slicewright')\nexcept SystemExit:\n    pass\n"
        f"print({HEAVY_NAMES}, file=sys.stderr)\n"
    )

    assert python(code).stderr.splitlines()[-1] == "[]"


def test_import_of_the_package_is_lazy() -> None:
    """`import slicewright` costs nothing until something of it is used."""
    code = f"import sys, slicewright\nprint({HEAVY_NAMES})"

    assert python(code).stdout == "[]\n"


def test_version_is_that_of_the_package() -> None:
    """As every command line has it."""
    assert (f"slicewright, version {__version__}\n", "") == invoke("--version")


def test_module_and_script_are_one() -> None:
    """`python -m slicewright` is the console script."""
    done = subprocess.run(
        [sys.executable, "-m", "slicewright", "--version"], check=False, capture_output=True, text=True
    )

    assert f"slicewright, version {__version__}\n" == done.stdout


def test_help_lists_every_command_without_importing_it() -> None:
    """What the list says of a command is how the command's own help begins."""
    out, _ = invoke("--help")

    assert "Exit codes: 0 success, 1 problems found, 2 wrong usage" in out
    for name in main._COMMANDS:
        assert f"\n  {name} " in out


@pytest.mark.parametrize("name", sorted(main._COMMANDS))
def test_every_command_has_help(name: str) -> None:
    """Each module has a function of its name, with help for each option."""
    out, _ = invoke(name, "-h")

    assert out.startswith(f"Usage: slicewright {name} ")


def test_console_script_runs_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `pip` installs as `slicewright`."""
    monkeypatch.setattr(sys, "argv", ["slicewright", "--version"])

    with pytest.raises(SystemExit, match="0"):
        main.main()

    assert capsys.readouterr().out == f"slicewright, version {__version__}\n"


def test_unknown_command_is_a_usage_error_with_the_nearest() -> None:
    """Exit 2."""
    _, near = invoke("rendr", code=2)
    _, option = invoke("--nonsense", code=2)

    assert near.endswith("Error: unknown command 'rendr'; did you mean 'render'?\n")
    assert invoke("nonsense", code=2)[1].endswith("Error: unknown command 'nonsense'\n")
    assert "No such option" in option


@pytest.mark.parametrize("name", " ".join(main._INSTEAD).split())
def test_command_of_another_tool_is_answered_by_what_to_do_here(name: str) -> None:
    """`delete` is not near to any command, but people know it."""
    _, said = invoke(name, code=2)
    (hint,) = [hint for names, hint in main._INSTEAD.items() if name in names.split()]

    assert f"Error: unknown command '{name}'; {hint}" == said.splitlines()[-1]
    assert name not in main._COMMANDS
    assert set(re.findall(r"slicewright ([a-z]+)", hint)) <= set(main._COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "option", "command", "right"),
    [
        (["--check", "render"], "--check", "render", "render --check"),
        (["-o", "json", "capacity", "c1"], "-o", "capacity", "capacity -o json c1"),
        (["-ojson", "capacity"], "-o", "capacity", "capacity -ojson"),
        (["-C", ".", "--output=json", "rule"], "--output", "rule", "-C . rule --output=json"),
        (["-o", "json", "new", "a", "--", "x y"], "-o", "new", "new -o json a -- 'x y'"),
    ],
)
def test_option_before_its_command_is_said_to_come_after_it(
    arguments: list[str], option: str, command: str, right: str
) -> None:
    """The message has the command line as it is right."""
    _, said = invoke(*arguments, code=2)

    message = f"'{option}' is an option of '{command}', and comes after it: slicewright {right}"
    assert f"Error: {message}" == said.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments", [["--check"], ["--check", "capacity"], ["-Ax", "--", "render"], ["-hx"]]
)
def test_option_that_the_command_does_not_have_is_unknown(arguments: list[str]) -> None:
    """Nothing is said about where it belongs."""
    _, said = invoke(*arguments, code=2)

    assert said.splitlines()[-1].startswith("Error: No such option")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("new", "b", "--pathways", "--pathways-version", "jax-0.9.2"), "--pathways"),
        (("new", "b", "--tpu", "v5p-8", "--image", "--matrix", "A=1", "--", "a"), "--image"),
        (("validate", "--changed", "--strict"), "--changed"),
        (("validate", "-o", "--strict"), "-o"),
        (("rehearse", "--what-if", "--help"), "--what-if"),
        (("import", "cluster", "--context", "--write"), "--context"),
    ],
)
def test_option_is_no_value_of_the_option_before_it(arguments: tuple[str, ...], option: str) -> None:
    """An option without its value is refused in every command, and takes nothing that follows."""
    assert f"Option '{option}' requires an argument." in invoke(*arguments, code=2)[1]


def test_words_of_a_program_may_be_options(repo: Repo) -> None:
    """Behind `--` they are those of the program."""
    repo.cluster()
    new = ("new", "b", "--tpu", "v5litepod-8", "--image", "a:1.2.3")
    repo.run(*new, "--", "python", "--image", "--tpu")

    assert repo.read("workloads/b.yaml").endswith("    command:\n    - python\n    - --image\n    - --tpu\n")


def test_no_command_shows_the_help() -> None:
    """And says by its exit code that this was no use of it."""
    out, err = invoke(code=2)

    assert "Usage: slicewright [OPTIONS] COMMAND" in out + err


class Terminal:
    """A stderr that says it is a terminal."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.text = ""

    def write(self, text: str) -> int:
        """Take some text."""
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Have nothing to do."""

    def isatty(self) -> bool:
        """Say that it is a terminal."""
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_ids_are_coloured_on_a_terminal_unless_no_color_is_set(
    monkeypatch: pytest.MonkeyPatch, no_color: str, coloured: bool
) -> None:
    """NO_COLOR, when it is set to anything, is honoured; errors are red, warnings yellow."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)

    show.messages([Problem("TPU001", "x"), Problem("REF006", "y", severity="warning")])

    assert coloured == ("\x1b[31m\x1b[1mTPU001\x1b[0m" in terminal.text)
    assert coloured == ("\x1b[33m\x1b[1mREF006\x1b[0m" in terminal.text)
    assert terminal.text.endswith("1 error, 1 warning\n")


def test_messages_go_to_stderr_and_results_to_stdout(repo: Repo) -> None:
    """A pipe gets the result and nothing else."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")
    commands = [["render"], ["render", "--check"], ["render", "a", "--stdout"], ["explain", "a"]]

    for command in commands:
        done = repo.run(*command)
        assert "REF006" in done.err
        assert "REF006" not in done.out
        assert done.out


JSON_COMMANDS = [
    ["render"],
    ["render", "--check"],
    ["render", "--stdout"],
    ["outdated"],
    ["explain", "a"],
    ["catalog"],
    ["rerun", "a"],
    ["new", "b", "--tpu", "v5e-8", "--image", "x"],
]


@pytest.mark.parametrize("command", JSON_COMMANDS, ids=" ".join)
def test_every_result_has_a_json_form(repo: Repo, command: list[str]) -> None:
    """`-o json` prints one JSON value on stdout, and no message beside it."""
    repo.run("render")
    arguments = [*command, "-o", "json"]

    if command == ["catalog"]:
        assert invoke(*arguments)[0].startswith("[\n")
    else:
        assert isinstance(repo.run(*arguments).json, dict | list)


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--strct", " Did you mean '--strict'?"),
        ("--exc", " Did you mean '--exclude'?"),
        ("--baseline", ""),
        ("--compare", ""),
        ("--banana", ""),
    ],
)
def test_unknown_option_is_answered_where_it_is_a_typing_error(option: str, meant: str) -> None:
    """Another option that only looks a little like it would lead astray."""
    _, said = invoke("validate", option, code=2)

    assert f"Error: No such option '{option}'.{meant}" == said.splitlines()[-1]
