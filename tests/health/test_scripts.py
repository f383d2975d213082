"""Every health check on every recorded object, in a Lua that has less than Argo CD's."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.conftest import PROJECT
from tests.health import lua, page
from tests.health.fixtures import expected, recorded
from tests.health.variants import changed

from slicewright.kubernetes.types import Object

RECORDED = recorded()
OBJECTS = {**RECORDED, **changed(RECORDED)}
EXPECTED = {state: said for states in expected().values() for state, said in states.items()}
KEYS = sorted(lua.scripts())


@pytest.mark.parametrize("state", sorted(OBJECTS))
def test_state(state: str) -> None:
    """An object as the real controllers leave it has the status and the message of `expected.yaml`."""
    made = lua.health(OBJECTS[state])

    assert EXPECTED[state] == {"status": made.status, "message": made.message}


@pytest.mark.parametrize("key", KEYS)
def test_every_health_of_a_kind_is_there(key: str) -> None:
    """Each health that objects of a kind have on the controllers is that of an object here."""
    kind = key.partition("/")[2]

    def healths(states: Iterable[str]) -> set[str]:
        return {EXPECTED[state]["status"] for state in states if _kind(state) == kind}

    assert healths(EXPECTED) == healths(OBJECTS)


def test_page() -> None:
    """The table of docs/reference/health.md is what the tests expect."""
    assert page.table() == page.held()


@pytest.mark.parametrize("key", KEYS)
def test_every_branch_is_reached(key: str) -> None:
    """Every line of every branch runs for some object, so none is there by guess."""
    ran: set[int] = set()
    for item in OBJECTS.values():
        if lua.key_of(item) == key:
            lua.returned(item, ran)

    lines = enumerate(lua.scripts()[key].splitlines(), 1)
    no_code = ("--", "end", "else", "..")  # comments, ends of blocks, and lines that go on
    missed = {line for number, line in lines if line.startswith(" ") and number not in ran}
    assert set() == {line for line in missed if not line.strip().startswith(no_code)}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"metadata": {}},
        {"metadata": {}, "spec": {}},
        {"status": {}},
        {"spec": {}, "status": {"conditions": []}},
        {"spec": {}, "status": {"conditions": [{}]}},
        {"spec": None, "status": None},
    ],
)
def test_empty_object(key: str, rest: Object) -> None:
    """An object that nobody has seen yet is neither an error nor healthy nor failed."""
    group, _, kind = key.partition("/")

    made = lua.returned({"apiVersion": f"{group}/v1", "kind": kind, **rest})

    assert made["status"] in {"Progressing", "Suspended"}
    assert isinstance(made["message"], str)


@pytest.mark.parametrize("state", sorted(OBJECTS))
def test_any_field_may_lack(state: str) -> None:
    """Whatever field is taken away, the answer is a status that Argo CD knows, with a message."""
    wrong = [
        path
        for path, item in _without_each_field(OBJECTS[state])
        if not _is_answer(
            lua.returned({**item, "apiVersion": OBJECTS[state]["apiVersion"], "kind": _kind(state)})
        )
    ]

    assert wrong == []


@pytest.mark.parametrize(
    "state",
    [
        *("Job/completed", "Job/failed", "JobSet/completed", "JobSet/failed-after-restarts"),
        *("Workload/finished", "Workload/failed"),
    ],
)
def test_end_wins(state: str) -> None:
    """A run that is over stays so, whatever is suspended, evicted or deactivated later."""
    item = copy.deepcopy(OBJECTS[state])
    item["spec"].update(suspend=True, active=False)
    for kind in ("Suspended", "Evicted", "RestartingJobSet", "FailureTarget", "SuccessCriteriaMet"):
        late = {"type": kind, "status": "True", "reason": "Late", "message": "late"}
        item["status"]["conditions"].append(late)

    assert lua.health(OBJECTS[state]) == lua.health(item)


def _kind(state: str) -> str:
    return state.partition("/")[0]


def _is_answer(made: dict[str, Any]) -> bool:
    return (
        made.keys() == {"status", "message"}
        and made["status"] in lua.STATUSES
        and isinstance(made["message"], str)
        and made["message"] != ""
    )


def _without_each_field(item: Object) -> Iterator[tuple[str, Object]]:
    for path in _paths(item):
        made = copy.deepcopy(item)
        holder = made
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        yield "/".join(map(str, path)), made


def _paths(item: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field, but for those of templates, which no health is in."""
    entries = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for step, value in entries:
        yield (*at, step)
        if step not in {"template", "podSets"}:
            yield from _paths(value, (*at, step))


@pytest.mark.parametrize("key", KEYS)
def test_script_is_for_a_kind_that_is_checked(key: str) -> None:
    """A script's file name is a group and a kind of the vendored schemas, as Argo CD's key wants them."""
    group, _, kind = key.partition("/")

    assert list((PROJECT / "schemas" / "kinds" / group).glob(f"{kind.lower()}_v*.json")) != []


@pytest.mark.parametrize("key", KEYS)
def test_script_says_what_it_is(key: str) -> None:
    """A script begins with a comment: people meet it in a ConfigMap, without anything around it."""
    assert lua.scripts()[key].startswith("-- Health of ")


@pytest.mark.parametrize("line", ["string.format('x')", "os.time()", "('x'):upper()", "print('x')"])
def test_sandbox_has_no_libraries(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a script could not call in Argo CD fails here too."""
    monkeypatch.setattr(lua, "scripts", lambda: {"example.com/Thing": f"return {line}"})

    with pytest.raises(lua.LuaError):
        lua.returned({"apiVersion": "example.com/v1", "kind": "Thing"})
