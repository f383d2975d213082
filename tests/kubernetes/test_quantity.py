"""Quantities in the form that Kubernetes keeps them in."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.quantity import UNLIMITED, amount, canonical, is_limited, plain, whole
from slicewright.programs.find import find

TABLE = {
    "0": "0",
    "-0": "0",
    "0Ki": "0",
    "0.0m": "0",
    "1": "1",
    "-1": "-1",
    "4": "4",
    "1023": "1023",
    "1000": "1k",
    "100000": "100k",
    "123456789": "123456789",
    "32000000000": "32G",
    "1k": "1k",
    "100G": "100G",
    "1000m": "1",
    "1500m": "1500m",
    "500m": "500m",
    "1m": "1m",
    "1000u": "1m",
    "1000000n": "1m",
    "10E": "10E",
    "0.5": "500m",
    ".5": "500m",
    "1.5": "1500m",
    "-0.5": "-500m",
    "0.0001": "100u",
    "2.0": "2",
    "1.50": "1500m",
    "0.1n": "1n",
    "-0.1n": "-1n",
    "0.1234567891": "123456790n",
    "1e-10": "1e-9",
    "1e-11": "1e-9",
    "1024Ki": "1Mi",
    "1Mi": "1Mi",
    "1.5Gi": "1536Mi",
    "0.5Gi": "512Mi",
    "3.0Gi": "3Gi",
    "1025Ki": "1025Ki",
    "0.5Ki": "512",
    "0.3Ki": "307200m",
    "1.1Ki": "1126400m",
    "0.9765625Ki": "1k",
    "-1024Ki": "-1Mi",
    "1Ki": "1Ki",
    "7Ei": "7Ei",
    "8Ei": "9223372036854775807",
    "-8Ei": "-9223372036854775807",
    "1048576Ki": "1Gi",
    "1e3": "1e3",
    "32e9": "32e9",
    "12e6": "12e6",
    "1e0": "1",
    "10e2": "1e3",
    "1e4": "10e3",
    "1e30": "1e30",
    "100e-3": "100e-3",
    "1000e-3": "1",
    "1500e-3": "1500e-3",
    "2e+3": "2e3",
}


@pytest.mark.parametrize("text", TABLE)
def test_table(text: str) -> None:
    """No fraction is left, the suffix is as large as can be, and the family of the suffix stays."""
    assert TABLE[text] == canonical(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4, "4"),
        (1000, "1k"),
        (0.5, "500m"),
        (1e-7, "100e-9"),
        (-2, "-2"),
        ("+1", "1"),
        ("1.", "1"),
        ("1E3", "1e3"),
    ],
)
def test_numbers_and_other_spellings(value: float | str, expected: str) -> None:
    """A YAML number is a quantity as well; signs, points and capitals that say nothing are dropped."""
    assert expected == canonical(value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "1 Gi",
            " 1",
            "1\n",
            "Gi",
            ".",
            "-",
            "+",
            "1K",
            "1ki",
            "1gi",
            "16GB",
            "1Mib",
            "1mi",
            "1.2.3",
        ),
        *(
            "--1",
            "1e",
            "1e1.5",
            "0x10",
            "1_000",
            "1,5",
            "many",
            "1e1000",
            "9" * 65,
            "٣",
            True,
            None,
            float("inf"),
        ),
    ],
)
def test_no_quantities(value: str | float) -> None:
    """What Kubernetes refuses is refused, with examples of what it takes."""
    with pytest.raises(
        ValueError, match=r"is not a valid quantity; write for example 500m, 4, 1\.5Gi or 2e9$"
    ) as raised:
        canonical(value)
    assert str(raised.value).startswith(f"'{value}' ")


def _as_kubernetes_keeps(texts: list[str]) -> list[str]:
    """Return quantities as they come out of Kubernetes' own code, through the typed pod of kubectl."""
    limits = {f"example.com/r{index}": text for index, text in enumerate(texts)}
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    program = find("kubectl")
    assert not isinstance(program, Problem), program.text()
    command: list[str | Path] = [program, "set", "env", "--local", "-f", "-", "-o", "json", "A=B"]
    answer = subprocess.run(command, input=json.dumps(pod).encode(), capture_output=True, check=True)
    found = json.loads(answer.stdout)["spec"]["containers"][0]["resources"]["limits"]
    return [found[name] for name in limits]


@pytest.mark.tools
def test_table_is_right() -> None:
    """Kubernetes itself makes the same of each line of the table, and leaves our form as it is."""
    made = _as_kubernetes_keeps(list(TABLE))

    assert {key: value for key, value in TABLE.items() if "e" not in key} == {
        key: value for key, value in zip(TABLE, made, strict=True) if "e" not in key
    }
    assert list(TABLE.values()) == _as_kubernetes_keeps(list(TABLE.values()))


numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,2}|\.[0-9]{4,5})?", fullmatch=True)
"""Without three digits behind the point: Kubernetes keeps `1.001` as it is, and reads 1001m as the same."""
suffixes = st.sampled_from(["", *"numkMGTP", "Ki", "Mi", "Gi", "Ti", "Pi"])


@pytest.mark.tools
@settings(derandomize=True, max_examples=share(20))
@given(st.lists(st.builds(str.__add__, numbers, suffixes), min_size=1, max_size=40))
def test_any_quantity_is_what_kubernetes_keeps(texts: list[str]) -> None:
    """Any number with any suffix gets the form that Kubernetes gives it."""
    assert _as_kubernetes_keeps(texts) == [canonical(text) for text in texts]


@pytest.mark.slow
@given(
    numbers,
    st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-3", "e12", "E+1"]),
)
def test_canonical_is_final(number: str, suffix: str) -> None:
    """The canonical form of a canonical form is itself."""
    once = canonical(number + suffix)

    assert once == canonical(once)


@pytest.mark.parametrize("text", ["1e99", "1e999", "9" * 60 + "e999", "-1e999", "1e-999", "3" * 60 + "Ei"])
def test_quantities_of_any_size_are_exact(text: str) -> None:
    """No size is rounded, and none raises; one number serves sums, text and the canonical form."""
    number = amount(text)

    assert number is not None
    assert (number + 1, whole(text)) == (1 + number, -(-number // 1))
    assert amount(plain(number)) in (number, 0, None)
    assert canonical(text)


def test_limit_that_is_not_known_is_beyond_all_others() -> None:
    """It stays so when the largest quantity is added or taken away, as often as a cluster has queues."""
    largest = amount("9" * 59 + "e999") or UNLIMITED

    assert not is_limited(UNLIMITED - largest * 10_000)
    assert is_limited(largest * 10_000)
